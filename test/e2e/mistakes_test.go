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
	"github.com/kubesites/website-apiserver/test/framework"
)

// TestMistakes creates Websites that cannot be published: no page is served, no
// container crashes, and once the repository is corrected, the site is
// published without a change in the cluster.
func TestMistakes(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		tweak func(*v1beta1.Website)
		// prepare makes the repository before the Website is created.
		prepare func(t *testing.T, r *repository)
		// reason is the condition's reason meanwhile.
		reason string
		// mend corrects the repository, and returns the commit that must
		// be published.
		mend func(t *testing.T, r *repository) string
	}{
		"no repository": {
			tweak: func(w *v1beta1.Website) {
				w.Spec.Source.Git.Repository = strings.Replace(w.Spec.Source.Git.Repository, ".git", "-2.git", 1)
			},
			prepare: func(t *testing.T, r *repository) { r.release(t, "release-1") },
			reason:  v1beta1.WebsiteReasonRepositoryNotFound,
			mend: func(t *testing.T, r *repository) string {
				r.git(t, "clone", "--quiet", "--bare", r.path, strings.Replace(r.path, ".git", "-2.git", 1))
				return r.git(t, "rev-parse", "HEAD")
			},
		},
		"empty repository": {
			prepare: func(*testing.T, *repository) {},
			reason:  v1beta1.WebsiteReasonRepositoryEmpty,
			mend:    func(t *testing.T, r *repository) string { return r.release(t, "release-1") },
		},
		"no branch": {
			tweak:   withBranch("later"),
			prepare: func(t *testing.T, r *repository) { r.release(t, "release-1") },
			reason:  v1beta1.WebsiteReasonRefNotFound,
			mend: func(t *testing.T, r *repository) string {
				r.branch = "later"
				return r.release(t, "release-2")
			},
		},
		"no path": {
			tweak:   withPath("public"),
			prepare: func(t *testing.T, r *repository) { r.release(t, "release-1") },
			reason:  v1beta1.WebsiteReasonPathNotFound,
			mend: func(t *testing.T, r *repository) string {
				r.write(t, map[string]string{"public/index.html": "at last\n"})
				return r.push(t, "Add the directory")
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
			framework.WaitFor(t, "the pod knows that it has nothing to serve", func(ctx context.Context) error {
				if a := adminGet(ctx, pod, adminPort, "/readyz"); a.status != http.StatusServiceUnavailable ||
					a.body != "no commit\n" {
					return fmt.Errorf("/readyz: %v", a)
				}
				return nil
			})
			framework.WaitFor(t, "a fetch has failed", syncFailed(t, s))
			s.waitCondition(t, v1beta1.WebsiteReady, metav1.ConditionFalse, test.reason)
			if a := get(t.Context(), visitor, s.url(t)); a.err == nil {
				t.Errorf("the NodePort answers %v, want no answer", a)
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

// TestPathDeleted deletes the published directory: visitors get the previous release, also
// after a restart of nginx, the Website reports it, and a commit with the directory is
// published again. The repository has SHA-256 objects.
func TestPathDeleted(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	r := newRepository(t, "", namespace, "main")
	r.useSHA256(t)
	r.write(t, map[string]string{"public/index.html": "here\n", "elsewhere.txt": "not published\n"})
	first := r.push(t, "Add the directory")
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
	r.push(t, "Delete the directory")
	s.waitCondition(t, v1beta1.WebsiteSynced, metav1.ConditionFalse, v1beta1.WebsiteReasonPathNotFound)
	s.waitCondition(t, v1beta1.WebsiteReady, metav1.ConditionTrue, v1beta1.WebsiteReasonServing)
	s.waitLive(t, first)
	pod := s.pod(t)
	killContainer(t, s, pod, "nginx")
	framework.WaitFor(t, "nginx is restarted and serves the page", func(ctx context.Context) error {
		now := s.pod(t)
		if nginx, _ := container(now, "nginx"); nginx.RestartCount == 0 || !ready(now) {
			return fmt.Errorf("ready %t: %+v", ready(now), nginx)
		}
		if a := get(ctx, visitor, url); a.status != http.StatusOK || a.body != "here\n" {
			return fmt.Errorf("the page is %v", a)
		}
		return nil
	})
	r.write(t, map[string]string{"public/index.html": "again\n"})
	s.waitLive(t, r.push(t, "Add the directory again"))
	s.waitCondition(t, v1beta1.WebsiteSynced, metav1.ConditionTrue, v1beta1.WebsiteReasonCommitPublished)
}

// TestRefused applies Websites with invalid repositories: the API server
// rejects them with the reason.
func TestRefused(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	for name, source := range map[string]string{
		"option instead of a repository": `{"git":{"repository":"--upload-pack=touch /tmp/owned"}}`,
		"program instead of a URL":       `{"git":{"repository":"ext::sh -c touch% /tmp/owned"}}`,
		"file of the pod":                `{"git":{"repository":"file:///git/repository"}}`,
		"option instead of a branch": `{"git":{"repository":"https://127.0.0.1/x.git",` +
			`"ref":{"branch":"--upload-pack=x"}}}`,
		"path out of the repository": `{"git":{"repository":"https://127.0.0.1/x.git"},"path":"../../etc"}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			manifest := fmt.Sprintf(`{"apiVersion":%q,"kind":"Website","metadata":{"name":"refused","namespace":%q},`+
				`"spec":{"source":%s}}`,
				v1beta1.SchemeGroupVersion, namespace, source)
			stderr := framework.KubectlRefused(t, manifest, "apply", "-f", "-")
			if !strings.Contains(stderr, "spec.source.") {
				t.Errorf("kubectl printed %q, want the field", stderr)
			}
		})
	}
}

// TestPodSecurity proves that the namespaces of these tests enforce the
// restricted standard, so that all pods in them comply with it.
func TestPodSecurity(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	manifest := fmt.Sprintf(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"root","namespace":%q},`+
		`"spec":{"containers":[{"name":"root","image":"localhost/none:1"}]}}`, namespace)
	if stderr := framework.KubectlRefused(t, manifest, "apply", "-f", "-"); !strings.Contains(stderr,
		`violates PodSecurity "restricted:latest"`) {
		t.Errorf("kubectl printed %q, want a refusal by Pod Security", stderr)
	}
	s := newSite(t)
	for _, c := range containers(s.pod(t)) {
		if c.User == nil || c.User.Linux == nil || c.User.Linux.UID == 0 {
			t.Errorf("container %s runs as %+v, want another user than root", c.Name, c.User)
		}
	}
	if events := s.kubectl(t, "get", "events",
		"--field-selector=type="+corev1.EventTypeWarning); strings.Contains(events, "PodSecurity") {
		t.Errorf("Pod Security has complained:\n%s", events)
	}
}
