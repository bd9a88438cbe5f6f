package e2e

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/test/framework"
)

// previewTimeout allows for the kubelet's update of the file with the patterns, besides the
// next list of branches and the start of a pod.
const previewTimeout = 5 * time.Minute

// TestPreviews pushes branches of a private repository: each has a site of its own until it
// is deleted.
func TestPreviews(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	r := newRepository(t, "private/", namespace, "main")
	r.overTLS(t, namespace)
	commit := r.release(t, "release-1")
	user, password, err := framework.Cluster.GitCredentials()
	if err != nil {
		t.Fatal(err)
	}
	framework.Kubectl(t, "create", "secret", "generic", "credentials", "--namespace="+namespace,
		"--type=kubernetes.io/basic-auth",
		"--from-literal=username="+user, "--from-literal=password="+password)
	s := applySite(t, newWebsite(namespace, r, withBranch("main"), withSecret("credentials"), func(w *v1beta1.Website) {
		w.Spec.Previews = &v1beta1.WebsitePreviews{Branches: []string{"feature/*", "next"}, MaxCount: 5}
	}), r)
	s.waitLive(t, commit)

	r.branch = "next"
	next := r.release(t, "release-2")
	preview := &site{namespace: namespace, name: s.name + "-next", deployment: s.name + "-next", repository: r}
	framework.WaitWithin(t, previewTimeout, "the branch has a preview", func(ctx context.Context) error {
		_, err := framework.Admin(t).Websites.WebsiteV1beta1().Websites(namespace).Get(ctx, preview.name, metav1.GetOptions{})
		return err
	})
	preview.waitLiveWithin(t, previewTimeout, next)
	page := get(t.Context(), visitor, preview.url(t)+"/")
	if page.status != http.StatusOK || page.body != releaseContent("index.html", "release-2") ||
		page.header.Get("X-Robots-Tag") != "noindex" {
		t.Errorf("the page of the preview is %v, X-Robots-Tag %q", page, page.header.Get("X-Robots-Tag"))
	}
	if page := get(t.Context(), visitor, s.url(t)+"/"); page.body != releaseContent("index.html", "release-1") ||
		page.header.Get("X-Robots-Tag") != "" {
		t.Errorf("the page of the site is %v, X-Robots-Tag %q", page, page.header.Get("X-Robots-Tag"))
	}
	if reported := s.get(t).Status.Previews; len(reported) != 1 || reported[0].Branch != "next" ||
		reported[0].WebsiteName != preview.name || reported[0].Commit != next {
		t.Errorf("status.previews is %+v", reported)
	}
	again := r.release(t, "release-3")
	preview.waitLive(t, again)

	r.git(t, "push", "--quiet", "origin", ":refs/heads/next")
	framework.WaitWithin(t, previewTimeout, "the preview of a deleted branch is removed", func(ctx context.Context) error {
		_, err := framework.Admin(t).Websites.WebsiteV1beta1().Websites(namespace).Get(ctx, preview.name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("it is there: %w", err)
	})
	s.waitLive(t, commit)
}
