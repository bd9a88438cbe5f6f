package e2e

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// TestMistakes creates Websites that cannot be published as they are: nothing
// is served, nothing crashes, and once the repository is as the Website says,
// it is published without anybody touching the cluster.
func TestMistakes(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		tweak func(*v1beta1.Website)
		// prepare makes the repository before the Website is created.
		prepare func(t *testing.T, r *repository)
		// says is what /startupz of the pod answers meanwhile, and reason what
		// the Website says.
		says, reason string
		// mend makes the repository what the Website asks for, and returns the
		// commit that is to be published.
		mend func(t *testing.T, r *repository) string
	}{
		"no repository": {
			tweak: func(w *v1beta1.Website) {
				w.Spec.Source.Repository = strings.Replace(w.Spec.Source.Repository, ".git", "-2.git", 1)
			},
			prepare: func(t *testing.T, r *repository) { r.release(t, "release-1") },
			says:    "no commit\n",
			reason:  v1beta1.WebsiteReasonRepositoryNotFound,
			mend: func(t *testing.T, r *repository) string {
				r.git(t, "clone", "--quiet", "--bare", r.path, strings.Replace(r.path, ".git", "-2.git", 1))
				return r.git(t, "rev-parse", "HEAD")
			},
		},
		"empty repository": {
			prepare: func(*testing.T, *repository) {},
			says:    "no commit\n",
			reason:  v1beta1.WebsiteReasonRefNotFound,
			mend:    func(t *testing.T, r *repository) string { return r.release(t, "release-1") },
		},
		"no branch": {
			tweak:   withBranch("later"),
			prepare: func(t *testing.T, r *repository) { r.release(t, "release-1") },
			says:    "no commit\n",
			reason:  v1beta1.WebsiteReasonRefNotFound,
			mend: func(t *testing.T, r *repository) string {
				r.branch = "later"
				return r.release(t, "release-2")
			},
		},
		"no path": {
			tweak:   withPath("public"),
			prepare: func(t *testing.T, r *repository) { r.release(t, "release-1") },
			says:    "path not found\n",
			reason:  v1beta1.WebsiteReasonPathNotFound,
			mend: func(t *testing.T, r *repository) string {
				r.write(t, map[string]string{"public/index.html": "at last\n"})
				return r.push(t, "Add the folder")
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			namespace := newNamespace(t)
			r := newRepository(t, "", namespace, "main")
			test.prepare(t, r)
			w := newWebsite(namespace, r)
			if test.tweak != nil {
				test.tweak(w)
			}
			s := applySite(t, w, r)
			pod := s.pod(t)
			waitFor(t, "the pod knows that it has nothing to serve", func(ctx context.Context) error {
				if a := adminGet(ctx, pod, adminPort, "/startupz"); a.status != http.StatusServiceUnavailable || a.body != test.says {
					return fmt.Errorf("/startupz: %v", a)
				}
				return nil
			})
			if test.says != "path not found\n" {
				waitFor(t, "git-sync has tried", syncFailed(t, s))
			}
			s.waitCondition(t, v1beta1.WebsiteReady, metav1.ConditionFalse, test.reason)
			if a := get(t.Context(), visitor, s.url(t)); a.err == nil {
				t.Errorf("the NodePort answers %v, want nobody behind it", a)
			}
			commit := test.mend(t, r)
			s.waitLive(t, commit)
			s.waitReported(t, commit)
			if now := s.pod(t); now.UID != pod.UID || restarts(now) != 0 {
				t.Errorf("pod %s with %d restarts serves the site, want %s as it was", now.Name, restarts(now), pod.Name)
			}
		})
	}
}

// TestPathDeleted deletes the published folder: visitors are told so, by pods
// that go on, and see it again when it is back.
func TestPathDeleted(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	r := newRepository(t, "", namespace, "main")
	r.write(t, map[string]string{"public/index.html": "here\n", "elsewhere.txt": "not published\n"})
	first := r.push(t, "Add the folder")
	s := applySite(t, newWebsite(namespace, r, withPath("public")), r)
	s.waitLive(t, first)
	url := s.url(t)
	if a := get(t.Context(), visitor, url); a.status != http.StatusOK || a.body != "here\n" {
		t.Errorf("the page is %v", a)
	}
	if a := get(t.Context(), visitor, url+"/elsewhere.txt"); a.status != http.StatusNotFound {
		t.Errorf("a file outside of the path is %v, want 404", a)
	}

	r.write(t, map[string]string{"elsewhere.txt": "not published\n"})
	r.push(t, "Delete the folder")
	waitFor(t, "the page is gone", func(ctx context.Context) error {
		if a := get(ctx, visitor, url); a.status != http.StatusNotFound {
			return fmt.Errorf("the page is %v", a)
		}
		return nil
	})
	s.waitCondition(t, v1beta1.WebsiteReady, metav1.ConditionFalse, v1beta1.WebsiteReasonPathNotFound)
	r.write(t, map[string]string{"public/index.html": "again\n"})
	s.waitLive(t, r.push(t, "Add the folder again"))
	if pod := s.pod(t); restarts(pod) != 0 {
		t.Errorf("pod %s has restarted: %+v", pod.Name, containers(pod))
	}
}

// TestRefused types what no repository may be: the API says what is wrong with
// it, and nothing is created.
func TestRefused(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	for name, source := range map[string]string{
		"option instead of a repository": `{"repository":"--upload-pack=touch /tmp/owned"}`,
		"program instead of a URL":       `{"repository":"ext::sh -c touch% /tmp/owned"}`,
		"file of the pod":                `{"repository":"file:///git/root"}`,
		"option instead of a branch":     `{"repository":"https://127.0.0.1/x.git","ref":{"branch":"--upload-pack=x"}}`,
		"path out of the repository":     `{"repository":"https://127.0.0.1/x.git","path":"../../etc"}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			manifest := fmt.Sprintf(`{"apiVersion":%q,"kind":"Website","metadata":{"name":"refused","namespace":%q},"spec":{"source":%s}}`,
				v1beta1.SchemeGroupVersion, namespace, source)
			stderr := kubectlRefused(t, manifest, "apply", "-f", "-")
			if !strings.Contains(stderr, "spec.source.") {
				t.Errorf("kubectl printed %q, want the field", stderr)
			}
		})
	}
}

// TestPodSecurity makes sure that the namespaces of these tests refuse what
// the restricted standard forbids, so that whatever runs in them meets it.
func TestPodSecurity(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	manifest := fmt.Sprintf(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"root","namespace":%q},"spec":{"containers":[{"name":"root","image":"localhost/none:1"}]}}`, namespace)
	if stderr := kubectlRefused(t, manifest, "apply", "-f", "-"); !strings.Contains(stderr, `violates PodSecurity "restricted:latest"`) {
		t.Errorf("kubectl printed %q, want a refusal by Pod Security", stderr)
	}
	s := newSite(t)
	for _, c := range containers(s.pod(t)) {
		if c.User == nil || c.User.Linux == nil || c.User.Linux.UID == 0 {
			t.Errorf("container %s runs as %+v, want another user than root", c.Name, c.User)
		}
	}
	if events := s.kubectl(t, "get", "events", "--field-selector=type="+corev1.EventTypeWarning); strings.Contains(events, "PodSecurity") {
		t.Errorf("Pod Security has complained:\n%s", events)
	}
}
