package e2e

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// waitCondition waits until the status says something about the current
// generation, as "True/Serving".
func (s *site) waitCondition(t *testing.T, kind, want string) {
	t.Helper()
	websites := websiteClient(t)
	waitFor(t, fmt.Sprintf("%s is %s", kind, want), func(ctx context.Context) error {
		w, err := websites.WebsiteV1beta1().Websites(s.namespace).Get(ctx, s.name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		c := meta.FindStatusCondition(w.Status.Conditions, kind)
		if c == nil || string(c.Status)+"/"+c.Reason != want || c.ObservedGeneration != w.Generation {
			return fmt.Errorf("generation %d, %+v", w.Generation, w.Status.Conditions)
		}
		return nil
	})
}

func (s *site) waitCommit(t *testing.T, commit string) {
	t.Helper()
	websites := websiteClient(t)
	waitFor(t, "the status names commit "+commit, func(ctx context.Context) error {
		w, err := websites.WebsiteV1beta1().Websites(s.namespace).Get(ctx, s.name, metav1.GetOptions{})
		if err == nil && w.Status.Commit != commit {
			err = fmt.Errorf("it names %q: %+v", w.Status.Commit, w.Status.Conditions)
		}
		return err
	})
}

// TestStatusFollowsTheSite reads in the status what the pods do: the commit that
// they serve, the loss of the repository, and that a suspended site stays.
func TestStatusFollowsTheSite(t *testing.T) {
	t.Parallel()
	s := newSite(t, withReplicas(2))
	first := s.repository.git(t, "rev-parse", "HEAD")
	s.waitCommit(t, first)
	s.waitCondition(t, v1beta1.WebsiteReady, "True/Serving")
	s.waitCondition(t, v1beta1.WebsiteSynced, "True/CommitPublished")
	if urls := s.get(t).Status.Urls; len(urls) == 0 || urls[0] != s.url(t) {
		t.Errorf("urls = %q, want %s first", urls, s.url(t))
	}

	second := s.repository.release(t, "release-2")
	s.waitLive(t, second)
	s.waitCommit(t, second)

	s.patch(t, `{"spec":{"suspend":true}}`)
	s.waitCondition(t, v1beta1.WebsiteSynced, "Unknown/Suspended")
	s.waitCondition(t, v1beta1.WebsiteReady, "True/Serving")
	third := s.repository.release(t, "release-3")
	s.kubectl(t, "scale", "website", s.name, "--replicas=3")
	s.waitLive(t, second)
	s.waitCommit(t, second)
	s.patch(t, `{"spec":{"suspend":false}}`)
	s.waitLive(t, third)
	s.waitCondition(t, v1beta1.WebsiteSynced, "True/CommitPublished")
	s.waitCommit(t, third)

	away := s.repository.path + ".away"
	if err := os.Rename(s.repository.path, away); err != nil {
		t.Fatal(err)
	}
	s.waitCondition(t, v1beta1.WebsiteSynced, "False/RepositoryNotFound")
	s.waitCondition(t, v1beta1.WebsiteReady, "True/Serving")
	s.waitCommit(t, third)
	if err := os.Rename(away, s.repository.path); err != nil {
		t.Fatal(err)
	}
	s.waitCondition(t, v1beta1.WebsiteSynced, "True/CommitPublished")
}

// TestStatusSaysWhatIsWrong makes the mistakes that a status should name.
func TestStatusSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		tweak  func(*v1beta1.Website)
		reason string
		// synced is false where no container runs that could fetch.
		synced bool
	}{
		"no repository": {func(w *v1beta1.Website) {
			w.Spec.Source.Repository = strings.Replace(w.Spec.Source.Repository, ".git", "-2.git", 1)
		}, v1beta1.WebsiteReasonRepositoryNotFound, true},
		"no branch": {withBranch("nowhere"), v1beta1.WebsiteReasonRefNotFound, true},
		"no path":   {withPath("nowhere"), v1beta1.WebsiteReasonPathNotFound, true},
		"no host": {func(w *v1beta1.Website) { w.Spec.Source.Repository = "http://nowhere.invalid/site.git" },
			v1beta1.WebsiteReasonRepositoryUnreachable, true},
		"no Secret": {withSecret("nowhere"), v1beta1.WebsiteReasonPodNotStarting, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			namespace := newNamespace(t)
			r := newRepository(t, "", namespace, "main")
			r.release(t, "release-1")
			s := applySite(t, newWebsite(namespace, r, test.tweak), r)
			s.waitCondition(t, v1beta1.WebsiteReady, "False/"+test.reason)
			if test.synced {
				s.waitCondition(t, v1beta1.WebsiteSynced, "False/"+test.reason)
			}
		})
	}
}
