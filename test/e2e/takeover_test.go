package e2e

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubesites/website-apiserver/pkg/controller/website/workload"
	"github.com/kubesites/website-apiserver/test/framework"
)

// newOriginalSite makes a site as the original controller does: its Website exists, and
// owns a Deployment and a Service.
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
	s = applySite(t, newWebsite(namespace, r, framework.WithReplicas(replicas)), r)
	framework.OriginalSite{Website: s.get(t), Deployment: s.deployment, Replicas: replicas, Repository: r.url, Commit: commit}.Create(t)
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
	// The node learns of the endpoints a little later than of the Service.
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

// TestTakeover has the controller take over the children of the original one while the
// sites have visitors. It is not parallel: it stops the controller.
func TestTakeover(t *testing.T) {
	startController := framework.StopController(t)
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
	startController()
	for _, s := range sites {
		s.waitLive(t, s.commit)
		framework.WaitFor(t, "the Deployment is taken over", func(ctx context.Context) error {
			deployment, err := framework.Admin(t).Kubernetes.AppsV1().Deployments(s.namespace).Get(ctx, s.deployment, metav1.GetOptions{})
			if err == nil && (deployment.Spec.MinReadySeconds != 0 || !workload.AvailabilityOf(deployment).RolledOut) {
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
