package e2e

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestScale goes up, to nothing and back.
func TestScale(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	commit := s.repository.git(t, "rev-parse", "HEAD")
	scale := func(n int) {
		t.Helper()
		s.kubectl(t, "scale", "website", s.name, "--replicas="+strconv.Itoa(n))
		s.kubectl(t, "wait", "--for=jsonpath={.status.readyReplicas}="+strconv.Itoa(n), "website/"+s.name, kubectlTimeout)
	}
	scale(3)
	s.waitLive(t, commit)
	// With nobody to serve it, status.readyReplicas is not there at all.
	s.kubectl(t, "scale", "website", s.name, "--replicas=0")
	waitFor(t, "nobody serves the site", func(ctx context.Context) error {
		pods, err := s.pods(ctx, kubernetesClient(t))
		if err != nil {
			return err
		}
		if w := s.get(t); len(pods) > 0 || w.Status.ReadyReplicas != 0 || w.Status.AvailableReplicas != 0 {
			return fmt.Errorf("%d pods, status %+v", len(pods), w.Status)
		}
		if page := get(ctx, visitor, s.url(t)); page.err == nil {
			return fmt.Errorf("the NodePort answers: %v", page)
		}
		return nil
	})
	scale(1)
	s.waitLive(t, commit)
}

// TestRollingChange changes what the pods of a site under load are made of.
func TestRollingChange(t *testing.T) {
	t.Parallel()
	for name, replicas := range map[string]int32{"one replica": 1, "two replicas": 2} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, withReplicas(replicas))
			visitors := startTraffic(t, s)
			s.patch(t, `{"spec":{"serving":{"headers":[{"name":"X-Robots-Tag","value":"noindex"}]}}}`)
			waitFor(t, "all pods send the header", func(ctx context.Context) error {
				return s.everyPod(ctx, t, func(a answer) error {
					if got := a.header.Get("X-Robots-Tag"); a.status != http.StatusOK || got != "noindex" {
						return fmt.Errorf("X-Robots-Tag %q: %v", got, a)
					}
					return nil
				})
			})
			s.kubectl(t, "rollout", "status", "deployment/"+s.deployment, kubectlTimeout)
			waitFor(t, "the pods that were replaced have ended", func(ctx context.Context) error {
				list, err := kubernetesClient(t).CoreV1().Pods(s.namespace).List(ctx, metav1.ListOptions{})
				if err == nil && len(list.Items) != int(replicas) {
					err = fmt.Errorf("there are %d pods", len(list.Items))
				}
				return err
			})
			visitors.finish(t)
		})
	}
}

// TestBadChange asks for what does not exist, of a site that is served: what
// is served stays, and the site recovers when the change is taken back.
func TestBadChange(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]string{
		"repository": `{"spec":{"source":{"repository":"http://127.0.0.1:9/nothing.git"}}}`,
		"branch":     `{"spec":{"source":{"ref":{"branch":"no-such-branch"}}}}`,
		"path":       `{"spec":{"source":{"path":"no/such/folder"}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			visitors, old := startTraffic(t, s), s.pod(t)
			good := s.get(t).Spec.Source
			s.patch(t, change)
			client := kubernetesClient(t)
			waitFor(t, "a new pod has tried", func(ctx context.Context) error {
				pods, err := s.pods(ctx, client)
				if err != nil {
					return err
				}
				if len(pods) != 2 || pods[1].Status.Phase != "Running" {
					return fmt.Errorf("there are %d pods", len(pods))
				}
				// It runs, and knows that it has nothing to serve.
				if a := adminGet(ctx, pods[1], adminPort, "/startupz"); a.status != http.StatusServiceUnavailable {
					return fmt.Errorf("/startupz of the new pod: %v", a)
				}
				return nil
			})
			s.repository.release(t, "release-2")
			s.patch(t, fmt.Sprintf(`{"spec":{"source":{"repository":%q,"path":null,"ref":null}}}`, good.Repository))
			s.waitLive(t, s.repository.git(t, "rev-parse", "HEAD"))
			visitors.finish(t)
			if now := s.pod(t); now.UID != old.UID {
				t.Errorf("pod %s has replaced %s, although nothing has changed in the end", now.Name, old.Name)
			}
		})
	}
}

// everyPod asks every pod of the site for its page.
func (s *site) everyPod(ctx context.Context, t *testing.T, check func(answer) error) error {
	t.Helper()
	pods, err := s.pods(ctx, kubernetesClient(t))
	if err != nil {
		return err
	}
	for _, pod := range pods {
		if err := check(adminGet(ctx, pod, httpPort, "/")); err != nil {
			return fmt.Errorf("pod %s: %w", pod.Name, err)
		}
	}
	return nil
}
