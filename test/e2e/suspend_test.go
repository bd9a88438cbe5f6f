package e2e

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// TestSuspend keeps a site at its current commit, also in new pods, and
// resumes it.
func TestSuspend(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	first := s.repository.git(t, "rev-parse", "HEAD")
	s.waitReported(t, first)
	visitors := startTraffic(t, s)

	s.patch(t, `{"spec":{"suspend":true}}`)
	s.waitCondition(t, v1beta1.WebsiteSynced, metav1.ConditionUnknown, v1beta1.WebsiteReasonSuspended)
	pin := `{"cause":"Suspend","commit":"` + first + `"}`
	if got := s.kubectl(t, "get", "website", s.name, "--output=jsonpath={.spec.pin}"); got != pin {
		t.Errorf("the pin is %s, want %s", got, pin)
	}
	second := s.repository.release(t, "release-2")
	// New pods could fetch the later commit.
	s.kubectl(t, "scale", "website", s.name, "--replicas=3")
	s.waitLive(t, first)
	s.waitCondition(t, v1beta1.WebsiteReady, metav1.ConditionTrue, v1beta1.WebsiteReasonServing)
	s.waitLive(t, first)

	s.patch(t, `{"spec":{"suspend":false}}`)
	s.waitLive(t, second)
	s.waitReported(t, second)
	visitors.finish(t)
}
