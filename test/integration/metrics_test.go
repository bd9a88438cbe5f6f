package integration

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// secureGet asks a component's secure port for a path, with or without the
// administrator's client certificate.
func secureGet(ctx context.Context, t *testing.T, url string, authenticated bool) (int, string, error) {
	t.Helper()
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(cluster.ServingCA()) {
		t.Fatal("the serving CA is not a certificate")
	}
	config := &tls.Config{RootCAs: roots}
	if authenticated {
		admin, err := cluster.AdminConfig()
		if err != nil {
			t.Fatal(err)
		}
		certificate, err := tls.X509KeyPair(admin.CertData, admin.KeyData)
		if err != nil {
			t.Fatal(err)
		}
		config.Certificates = []tls.Certificate{certificate}
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: config}}
	defer client.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	// Headers by which the aggregator names the user: worthless without its certificate.
	request.Header.Set("X-Remote-User", "admin")
	request.Header.Set("X-Remote-Group", "system:masters")
	response, err := client.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return response.StatusCode, string(body), err
}

func controllerURL() string {
	return fmt.Sprintf("https://127.0.0.1:%d", cluster.Ports().WebsiteController)
}

// controllerIdle returns an error while the controller has Websites to handle.
func controllerIdle(ctx context.Context, t *testing.T) error {
	t.Helper()
	code, body, err := secureGet(ctx, t, controllerURL()+"/metrics", true)
	if err != nil {
		return err
	}
	if code != http.StatusOK {
		return fmt.Errorf("GET /metrics = %d %s", code, body)
	}
	for _, metric := range []string{"workqueue_depth", "workqueue_unfinished_work_seconds"} {
		value, err := metricValue(body, metric+`{name="websites"}`)
		if err != nil {
			return err
		}
		if value != 0 {
			return fmt.Errorf("%s = %v", metric, value)
		}
	}
	return nil
}

// metricValue returns the value of a series in the Prometheus text format.
func metricValue(body, series string) (float64, error) {
	for scanner := bufio.NewScanner(strings.NewReader(body)); scanner.Scan(); {
		if rest, found := strings.CutPrefix(scanner.Text(), series+" "); found {
			return strconv.ParseFloat(rest, 64)
		}
	}
	return 0, fmt.Errorf("no series %s", series)
}

func TestMetricsNeedAuthorization(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	mustCreate(t, newWebsite(namespace, "kubia"))
	waitReady(t, namespace, "kubia")
	tests := map[string]struct {
		url  string
		want []string
	}{
		"website-apiserver": {
			url:  cluster.WebsiteAPIServerURL(),
			want: []string{`(?m)^apiserver_request_total\{.*resource="websites"`, `(?m)^etcd_request_duration_seconds_count`},
		},
		"website-controller": {
			url: controllerURL(),
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
				`(?m)^website_controller_websites\{condition="Ready",status="True"\} [1-9]`,
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			for _, path := range []string{"/livez", "/readyz"} {
				if code, body, err := secureGet(t.Context(), t, test.url+path, false); err != nil || code != http.StatusOK {
					t.Errorf("GET %s without credentials = %d %s (%v), want 200", path, code, body, err)
				}
			}
			if code, body, err := secureGet(t.Context(), t, test.url+"/metrics", false); err != nil || code != http.StatusForbidden && code != http.StatusUnauthorized {
				t.Errorf("GET /metrics without credentials = %d %s (%v), want a refusal", code, body, err)
			}
			// The controller counts what it has seen, which may be a moment behind.
			waitFor(t, "the administrator gets the metrics", func(ctx context.Context) error {
				code, body, err := secureGet(ctx, t, test.url+"/metrics", true)
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

// checkProfiling asks for a profile, which only --profiling offers, and only to
// whoever is authorized.
func checkProfiling(t *testing.T, url string, want int) {
	t.Helper()
	url += "/debug/pprof/goroutine?debug=1"
	if code, _, err := secureGet(t.Context(), t, url, false); err != nil || code != http.StatusForbidden && code != http.StatusUnauthorized {
		t.Errorf("GET %s without credentials = %d (%v), want a refusal", url, code, err)
	}
	waitAnswer(t, url, want)
}

// waitAnswer waits for an answer to a user who may ask everything. A component that
// has just started takes everybody for anonymous until it has read by which
// authority the certificates of users are signed.
func waitAnswer(t *testing.T, url string, want int) {
	t.Helper()
	waitFor(t, fmt.Sprintf("GET %s = %d", url, want), func(ctx context.Context) error {
		code, body, err := secureGet(ctx, t, url, true)
		if err == nil && code != want {
			err = fmt.Errorf("%d %s", code, body)
		}
		return err
	})
}
