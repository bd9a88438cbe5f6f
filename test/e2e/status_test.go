package e2e

import (
	"context"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// TestURLs reads in the status where the site is.
func TestURLs(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	want := s.url(t)
	waitFor(t, "the status has the URL", func(context.Context) error {
		if urls := s.get(t).Status.Urls; len(urls) == 0 || urls[0] != want {
			return fmt.Errorf("urls = %q, want %s first", urls, want)
		}
		return nil
	})
}

// TestStatusSaysWhatIsMissing is about mistakes that no change of the repository
// mends.
func TestStatusSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		tweak  func(*v1beta1.Website)
		reason string
	}{
		"host": {func(w *v1beta1.Website) { w.Spec.Source.Repository = "http://nowhere.invalid/site.git" },
			v1beta1.WebsiteReasonRepositoryUnreachable},
		"Secret": {withSecret("nowhere"), v1beta1.WebsiteReasonPodNotStarting},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			namespace := newNamespace(t)
			r := newRepository(t, "", namespace, "main")
			r.release(t, "release-1")
			s := applySite(t, newWebsite(namespace, r, test.tweak), r)
			s.waitCondition(t, v1beta1.WebsiteReady, metav1.ConditionFalse, test.reason)
		})
	}
}
