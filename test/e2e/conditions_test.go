package e2e

import (
	"context"
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/test/framework"
)

// waitCondition waits until a condition of the site has these values.
func (s *site) waitCondition(t *testing.T, kind string, status metav1.ConditionStatus, reason string) {
	t.Helper()
	websites := framework.Admin(t).Websites.WebsiteV1beta1().Websites(s.namespace)
	framework.WaitFor(t, fmt.Sprintf("condition %s is %s, %s", kind, status, reason), func(ctx context.Context) error {
		w, err := websites.Get(ctx, s.name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		return checkCondition(w, kind, status, reason)
	})
}

// waitReported waits until the status reports that the site is Ready and the
// commit is served.
func (s *site) waitReported(t *testing.T, commit string) {
	t.Helper()
	websites := framework.Admin(t).Websites.WebsiteV1beta1().Websites(s.namespace)
	framework.WaitFor(t, "the status says that "+commit+" is served", func(ctx context.Context) error {
		w, err := websites.Get(ctx, s.name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if w.Status.Commit != commit || w.Status.ObservedGeneration != w.Generation {
			return fmt.Errorf("status.commit is %q of generation %d, want generation %d", w.Status.Commit,
				w.Status.ObservedGeneration, w.Generation)
		}
		if err := checkCondition(w, v1beta1.WebsiteReady, metav1.ConditionTrue, v1beta1.WebsiteReasonServing); err != nil {
			return err
		}
		return checkCondition(w, v1beta1.WebsiteSynced, metav1.ConditionTrue, v1beta1.WebsiteReasonCommitPublished)
	})
}

func checkCondition(w *v1beta1.Website, kind string, status metav1.ConditionStatus, reason string) error {
	c := meta.FindStatusCondition(w.Status.Conditions, kind)
	if c == nil || c.Status != status || c.Reason != reason {
		return fmt.Errorf("condition %s is %+v, want %s, %s", kind, c, status, reason)
	}
	return nil
}
