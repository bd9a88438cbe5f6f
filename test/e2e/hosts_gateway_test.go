package e2e

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/test/framework"
)

// TestGatewayIsDown stops the Gateway: the condition Routed and the URLs say so, and nothing else
// changes. It is not parallel: the Gateway is that of all tests.
func TestGatewayIsDown(t *testing.T) {
	s := newSite(t)
	host := s.host()
	s.patch(t, fmt.Sprintf(`{"spec":{"hosts":[%q]}}`, host))
	s.waitRouted(t, "https://"+host)
	gateway := framework.Cluster.Process("traefik")
	t.Cleanup(func() {
		if err := gateway.Start(context.Background()); err != nil {
			t.Error(err)
		}
	})
	from := framework.AuditLength(t, "kube-apiserver")
	if err := gateway.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	condition := framework.WaitCondition(t, s.namespace, s.name, v1beta1.WebsiteRouted, metav1.ConditionFalse, v1beta1.WebsiteReasonHostUnreachable)
	if !strings.Contains(condition.Message, host) {
		t.Errorf("the condition says %q, want the host in it", condition.Message)
	}
	framework.WaitCondition(t, s.namespace, s.name, v1beta1.WebsiteReady, metav1.ConditionTrue, v1beta1.WebsiteReasonServing)
	if urls := s.get(t).Status.Urls; len(urls) == 0 || strings.HasPrefix(urls[0], "https://") {
		t.Errorf("the URLs are %v, want that of the node port first", urls)
	}
	if a := get(t.Context(), visitor, s.url(t)); a.err != nil || a.status != http.StatusOK {
		t.Errorf("the node port is %v", a)
	}
	var writes []string
	for _, event := range framework.AuditEvents(t, "kube-apiserver", from) {
		if event.User.Username == framework.ControllerUser && event.ObjectRef != nil && event.ObjectRef.Namespace == s.namespace && event.Verb != "watch" {
			writes = append(writes, event.Verb+" "+event.RequestURI)
		}
	}
	// The status, by the aggregation layer, and an event of it.
	if len(writes) == 0 || len(writes) > 6 {
		t.Errorf("website-controller made %d requests about the site meanwhile, want 1 to 6: %q", len(writes), writes)
	}
	if err := gateway.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := gateway.WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.waitRouted(t, "https://"+host)
}
