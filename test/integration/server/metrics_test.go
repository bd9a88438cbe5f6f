package server

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"testing"

	"github.com/kubesites/website-apiserver/test/framework"
)

func TestMetricsNeedAuthorization(t *testing.T) {
	t.Parallel()
	namespace := framework.NewNamespace(t)
	framework.MustCreate(t, framework.NewV1alpha1(namespace, "kubia"))
	framework.WaitReady(t, namespace, "kubia")
	tests := map[string]struct {
		url  string
		want []string
	}{
		"website-apiserver": {
			url: framework.Cluster.WebsiteAPIServerURL(),
			want: []string{`(?m)^apiserver_request_total\{.*resource="websites"`, `(?m)^etcd_request_duration_seconds_count`,
				`(?m)^website_apiserver_store_closed\{reason="StoreEmpty"\} 0`},
		},
		"website-controller": {
			url: framework.ControllerURL(),
			want: []string{
				`(?m)^workqueue_adds_total\{name="websites"\}`,
				`(?m)^rest_client_requests_total`,
				`(?m)^leader_election_master_status\{name="website-controller"\} 1`,
				`(?m)^website_controller_reconciles_total\{result="success"\} [1-9]`,
				`(?m)^website_controller_reconcile_duration_seconds_count\{result="success"\} [1-9]`,
				`(?m)^website_controller_reconcile_step_duration_seconds_count\{result="success",step="deployment"\} [1-9]`,
				`(?m)^website_controller_reconcile_step_duration_seconds_count\{result="success",step="status"\} [1-9]`,
				`(?m)^website_controller_child_writes_total\{kind="Deployment",operation="created"\} [1-9]`,
				`(?m)^website_controller_status_writes_total [1-9]`,
				`(?m)^website_controller_websites\{condition="Ready",reason="Serving",status="True"\} [1-9]`,
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			for _, path := range []string{"/livez", "/readyz"} {
				if code, body, err := framework.SecureGet(t.Context(), t, test.url+path, false); err != nil ||
					code != http.StatusOK {
					t.Errorf("GET %s without credentials = %d %s (%v), want 200", path, code, body, err)
				}
			}
			if code, body, err := framework.SecureGet(t.Context(), t, test.url+"/metrics", false); err != nil ||
				code != http.StatusForbidden && code != http.StatusUnauthorized {
				t.Errorf("GET /metrics without credentials = %d %s (%v), want a refusal", code, body, err)
			}
			// The controller's metric counts cached Websites, which may lag.
			framework.WaitFor(t, "the administrator gets the metrics", func(ctx context.Context) error {
				code, body, err := framework.SecureGet(ctx, t, test.url+"/metrics", true)
				if err != nil || code != http.StatusOK {
					return fmt.Errorf("GET /metrics = %d %s (%v), want 200", code, body, err)
				}
				for _, want := range test.want {
					if !regexp.MustCompile(want).MatchString(body) {
						return fmt.Errorf("they lack %s", want)
					}
				}
				return nil
			})
		})
	}
}
