package e2e

import (
	"context"
	"errors"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/test/framework"
)

// TestSuspend holds a site on the commit that it serves, pods that start later
// included, and lets it go on.
func TestSuspend(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	first := s.repository.git(t, "rev-parse", "HEAD")
	s.waitReported(t, first)
	visitors := startTraffic(t, s)

	s.patch(t, `{"spec":{"suspend":true}}`)
	s.waitCondition(t, v1beta1.WebsiteSynced, metav1.ConditionUnknown, v1beta1.WebsiteReasonSuspended)
	s.kubectl(t, "rollout", "status", "deployment/"+s.deployment, kubectlTimeout)
	second := s.repository.release(t, "release-2")
	s.kubectl(t, "scale", "website", s.name, "--replicas=3")
	// The new pods have the choice, and what runs has not fetched the branch.
	s.waitLive(t, first)
	deployment := s.kubectl(t, "get", "deployment", s.deployment, "--output=yaml")
	if !strings.Contains(deployment, "--ref="+first) {
		t.Errorf("a pod of the suspended site could follow a branch:\n%s", deployment)
	}
	// An edit of the Deployment does not move the site either.
	s.kubectl(t, "patch", "deployment", s.deployment, "--type=strategic", "--patch", `{"spec":{"template":{"spec":{"initContainers":[{"name":"git-sync","args":["--ref=`+second+`"]}]}}}}`)
	framework.WaitFor(t, "the edit is repaired", func(context.Context) error {
		if deployment := s.kubectl(t, "get", "deployment", s.deployment, "--output=yaml"); !strings.Contains(deployment, "--ref="+first) {
			return errors.New(deployment)
		}
		return nil
	})
	s.waitLive(t, first)

	s.patch(t, `{"spec":{"suspend":false}}`)
	s.waitLive(t, second)
	s.waitReported(t, second)
	visitors.finish(t)
}
