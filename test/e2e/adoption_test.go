package e2e

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/cached"
	"github.com/kubesites/website-apiserver/pkg/controller/website/workload"
	"github.com/kubesites/website-apiserver/test/framework"
)

// newOriginalSite makes a site as the original controller does, except that its Website does not own the
// Deployment and the Service yet.
func newOriginalSite(t *testing.T, replicas int32) (s *site, commit string) {
	t.Helper()
	namespace := framework.NewNamespace(t)
	t.Cleanup(func() {
		if t.Failed() {
			keepNamespace(t, namespace)
		}
	})
	r := newRepository(t, "", namespace, "main")
	commit = r.release(t, "release-1")
	website := newWebsite(namespace, r, framework.WithReplicas(replicas))
	framework.OriginalSite{Website: website, Deployment: website.Name, Replicas: replicas, Repository: r.url,
		Commit: commit}.Create(t)
	s = applySite(t, website, r)
	s.waitCondition(t, v1beta1.WebsiteReady, metav1.ConditionFalse, v1beta1.WebsiteReasonNameTaken)
	client := framework.Admin(t).Kubernetes
	framework.WaitFor(t, "every pod of the original controller serves", func(ctx context.Context) error {
		pods, err := s.pods(ctx, client)
		if err == nil && len(pods) != int(replicas) {
			err = fmt.Errorf("there are %d pods", len(pods))
		}
		for _, pod := range pods {
			if page := adminGet(ctx, pod, 80, "/"); page.status != http.StatusOK || !ready(pod) {
				return fmt.Errorf("pod %s: %v", pod.Name, page)
			}
		}
		return err
	})
	// The node gets the endpoints a little later than the Service.
	url := s.url(t)
	framework.WaitFor(t, "the node sends requests to the pods", func(ctx context.Context) error {
		for range 20 {
			if page := get(ctx, visitor, url); page.status != http.StatusOK {
				return fmt.Errorf("the page: %v", page)
			}
		}
		return nil
	})
	return s, commit
}

// takeOver makes the Website the owner of the original controller's objects.
func (s *site) takeOver(t *testing.T) {
	t.Helper()
	owner := fmt.Sprintf(`{"metadata":{"ownerReferences":[{"apiVersion":"mycontroller.nevermosby.io/v1alpha1",`+
		`"kind":"Website","name":%q,"uid":%q,"controller":true}]}}`,
		s.name, s.get(t).UID)
	for _, child := range []string{"service/" + s.deployment + "-npsvc", "deployment/" + s.deployment} {
		s.kubectl(t, "patch", child, "--type=merge", "-p", owner)
	}
	s.kubectl(t, "annotate", "website/"+s.name, "example.com/reconcile=now")
}

// TestTakeover makes the controller take over the children of the original one while
// the sites have visitors.
func TestTakeover(t *testing.T) {
	t.Parallel()
	type taken struct {
		*site
		commit, before string
		visitors       *traffic
	}
	var sites []taken
	for _, replicas := range []int32{1, 1, 2} {
		s, commit := newOriginalSite(t, replicas)
		sites = append(sites, taken{s, commit, s.url(t), startTraffic(t, s)})
	}
	for _, s := range sites {
		s.takeOver(t)
	}
	for _, s := range sites {
		s.waitLive(t, s.commit)
		framework.WaitFor(t, "the Deployment is taken over", func(ctx context.Context) error {
			deployment, err := framework.Admin(t).Kubernetes.AppsV1().Deployments(s.namespace).Get(ctx, s.deployment,
				metav1.GetOptions{})
			if err == nil && (deployment.Spec.MinReadySeconds != 0 ||
				!workload.AvailabilityOf(cached.OfDeployment(deployment)).RolledOut) {
				err = fmt.Errorf("minReadySeconds %d, status %+v", deployment.Spec.MinReadySeconds, deployment.Status)
			}
			return err
		})
	}
	for _, s := range sites {
		s.visitors.finish(t)
		if now := s.url(t); now != s.before {
			t.Errorf("the site was at %s, is at %s", s.before, now)
		}
	}
}
