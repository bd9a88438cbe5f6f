package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubesites/website-apiserver/test/framework"
)

// TestScale scales up, to zero and back.
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
	// Without a pod, status.readyReplicas is unset.
	s.kubectl(t, "scale", "website", s.name, "--replicas=0")
	framework.WaitFor(t, "no pod serves the site", func(ctx context.Context) error {
		pods, err := s.pods(ctx, framework.Admin(t).Kubernetes)
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

// TestRollingChange changes the pod template of a site under load.
func TestRollingChange(t *testing.T) {
	t.Parallel()
	for name, replicas := range map[string]int32{"one replica": 1, "two replicas": 2} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, framework.WithReplicas(replicas))
			visitors := startTraffic(t, s)
			s.patch(t, `{"spec":{"serving":{"headers":[{"path":"/*","name":"X-Robots-Tag","value":"noindex"}]}}}`)
			framework.WaitFor(t, "all pods send the header", func(ctx context.Context) error {
				return s.everyPod(ctx, t, func(a answer) error {
					if got := a.header.Get("X-Robots-Tag"); a.status != http.StatusOK || got != "noindex" {
						return fmt.Errorf("X-Robots-Tag %q: %v", got, a)
					}
					return nil
				})
			})
			s.kubectl(t, "rollout", "status", "deployment/"+s.deployment, kubectlTimeout)
			framework.WaitFor(t, "the pods that were replaced have ended", func(ctx context.Context) error {
				list, err := framework.Admin(t).Kubernetes.CoreV1().Pods(s.namespace).List(ctx, metav1.ListOptions{})
				if err == nil && len(list.Items) != int(replicas) {
					err = fmt.Errorf("there are %d pods", len(list.Items))
				}
				return err
			})
			visitors.finish(t)
		})
	}
}

// TestBadChange changes a served site to a missing image or volume: the site stays online,
// and recovers when the change is reverted, also if nginx of the old pod was killed
// meanwhile, or the old pod was deleted.
func TestBadChange(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change string
		// restarted and deleted select the fate of the old pod before the change
		// is reverted.
		restarted, deleted bool
	}{
		"repository": {`{"spec":{"source":{"git":{"repository":"http://127.0.0.1:9/nothing.git"}}}}`, true,
			false},
		"branch":                    {`{"spec":{"source":{"git":{"ref":{"branch":"no-such-branch"}}}}}`, true, false},
		"path":                      {`{"spec":{"source":{"path":"no/such/folder"}}}`, false, false},
		"path, and a restart":       {`{"spec":{"source":{"path":"no/such/folder"}}}`, true, false},
		"path, and the pod deleted": {`{"spec":{"source":{"path":"no/such/folder"}}}`, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			visitors, old := startTraffic(t, s), s.pod(t)
			good, revision := s.get(t).Spec.Source, old.Labels[appsv1.DefaultDeploymentUniqueLabelKey]
			s.patch(t, test.change)
			client := framework.Admin(t).Kubernetes
			framework.WaitFor(t, "a new pod has tried", func(ctx context.Context) error {
				pods, err := s.pods(ctx, client)
				if err != nil {
					return err
				}
				if len(pods) != 2 || pods[1].Status.Phase != "Running" {
					return fmt.Errorf("there are %d pods", len(pods))
				}
				// The pod runs without a release, and is unready.
				if a := adminGet(ctx, pods[1], adminPort, "/readyz"); a.status != http.StatusServiceUnavailable {
					return fmt.Errorf("/readyz of the new pod: %v", a)
				}
				return nil
			})
			if test.restarted || test.deleted {
				visitors.finish(t)
				if test.deleted {
					if err := client.CoreV1().Pods(s.namespace).Delete(t.Context(), old.Name, metav1.DeleteOptions{}); err != nil {
						t.Fatal(err)
					}
				} else {
					killContainer(t, s, old, "nginx")
				}
				framework.WaitFor(t, "visitors reach a pod of the previous revision", func(ctx context.Context) error {
					// A terminating pod answers until nodes have the endpoint of its replacement.
					if _, err := client.CoreV1().Pods(s.namespace).Get(ctx, old.Name, metav1.GetOptions{}); test.deleted &&
						!apierrors.IsNotFound(err) {
						return fmt.Errorf("pod %s is there: %w", old.Name, err)
					}
					pods, err := s.pods(ctx, client)
					if err != nil {
						return err
					}
					for _, pod := range pods {
						if pod.Labels[appsv1.DefaultDeploymentUniqueLabelKey] != revision || (pod.UID == old.UID) == test.deleted {
							continue
						}
						if nginx, _ := container(pod, "nginx"); test.restarted && nginx.RestartCount == 0 {
							return errors.New("the kubelet has not noticed the restart")
						}
						if page := get(ctx, visitor, s.url(t)); !ready(pod) || page.status != http.StatusOK {
							return fmt.Errorf("ready %t: %v", ready(pod), page)
						}
						old = pod
						return nil
					}
					return errors.New("there is none")
				})
				visitors = startTraffic(t, s)
			}
			s.repository.release(t, "release-2")
			s.patch(t, fmt.Sprintf(`{"spec":{"source":{"git":{"repository":%q,"ref":null},"path":null}}}`, good.Git.Repository))
			s.waitLive(t, s.repository.git(t, "rev-parse", "HEAD"))
			visitors.finish(t)
			if now := s.pod(t); now.UID != old.UID {
				t.Errorf("pod %s has replaced %s, although nothing has changed in the end", now.Name, old.Name)
			}
		})
	}
}

// everyPod requests the page of every pod of the site.
func (s *site) everyPod(ctx context.Context, t *testing.T, check func(answer) error) error {
	t.Helper()
	pods, err := s.pods(ctx, framework.Admin(t).Kubernetes)
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
