package api

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	typed "github.com/kubesites/website-apiserver/pkg/generated/clientset/versioned/typed/website/v1beta1"
	"github.com/kubesites/website-apiserver/test/framework"
)

// mustPublish creates a Website whose history has two releases.
func mustPublish(t *testing.T, namespace string) {
	t.Helper()
	framework.MustCreate(t, framework.NewWebsite(namespace, "kubia"))
	release := func(commit string, day int) v1beta1.WebsiteRelease {
		return v1beta1.WebsiteRelease{Commit: commit, Cause: v1beta1.ReleaseCausePoll,
			PublishedTime: metav1.Date(2026, 1, day, 0, 0, 0, 0, time.UTC)}
	}
	patchStatus(t.Context(), t, namespace, map[string]any{"commit": newCommit,
		"history": []v1beta1.WebsiteRelease{release(newCommit, 2), release(oldCommit, 1)}})
}

// TestRequestsOfTypedClients requests a sync and rolls back with the clientset, in every encoding
// that it supports.
func TestRequestsOfTypedClients(t *testing.T) {
	t.Parallel()
	for _, contentType := range []string{"", runtime.ContentTypeJSON, runtime.ContentTypeProtobuf} {
		t.Run("content type "+contentType, func(t *testing.T) {
			ctx, namespace := t.Context(), framework.NewNamespace(t)
			mustPublish(t, namespace)
			config := framework.AdminConfig(t)
			config.ContentType, config.AcceptContentTypes = contentType, contentType
			websites := framework.NewClients(t, config).Websites.WebsiteV1beta1().Websites(namespace)

			dryRun, err := websites.Sync(ctx, "kubia", &v1beta1.WebsiteSyncRequest{Commit: ptr.To(oldCommit)},
				metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			if err != nil || dryRun.ID != 1 || dryRun.State != v1beta1.SyncStatePending ||
				dryRun.Sync.LastRequest.Commit != oldCommit {
				t.Errorf("a dry run of a request for a commit answered %+v (%v)", dryRun, err)
			}
			if shown, err := websites.GetSync(ctx, "kubia", metav1.GetOptions{}); err != nil ||
				shown.State != v1beta1.SyncStateNone {
				t.Errorf("after a dry run: %+v (%v)", shown, err)
			}
			recorded, err := websites.Sync(ctx, "kubia", &v1beta1.WebsiteSyncRequest{}, metav1.CreateOptions{})
			if err != nil || recorded.ID != 1 || recorded.Sync.LastRequest.Commit != "" {
				t.Errorf("a request for the newest commit answered %+v (%v)", recorded, err)
			}
			if shown, err := websites.GetSync(ctx, "kubia", metav1.GetOptions{}); err != nil || shown.ID != 1 ||
				shown.UID != recorded.UID {
				t.Errorf("after a request: %+v (%v)", shown, err)
			}
			if _, err := websites.Sync(ctx, "kubia", &v1beta1.WebsiteSyncRequest{Commit: ptr.To("main")},
				metav1.CreateOptions{}); !apierrors.IsInvalid(err) {
				t.Errorf("a request for a branch: %v", err)
			}
			testTypedRollback(t, websites, recorded)
		})
	}
}

func testTypedRollback(t *testing.T, websites typed.WebsiteInterface, request *v1beta1.WebsiteSyncRequest) {
	t.Helper()
	ctx := t.Context()
	if _, err := websites.Rollback(ctx, "kubia", &v1beta1.WebsiteRollback{ObjectMeta: metav1.ObjectMeta{UID: "another"}},
		metav1.CreateOptions{}); !apierrors.IsConflict(err) {
		t.Errorf("a rollback of another Website: %v, want a conflict", err)
	}
	// The controller of the cluster observes no commits, so the replaced commit depends on its
	// last report.
	rolledBack, err := websites.Rollback(
		ctx, "kubia", &v1beta1.WebsiteRollback{ObjectMeta: metav1.ObjectMeta{UID: request.UID}, Commit: ptr.To(oldCommit)},
		metav1.CreateOptions{FieldManager: "desk"},
	)
	if err != nil || ptr.Deref(rolledBack.Commit, "") != oldCommit || rolledBack.Generation != request.Generation+1 {
		t.Fatalf("a rollback answered %+v (%v), want that commit", rolledBack, err)
	}
	w, err := websites.Get(ctx, "kubia", metav1.GetOptions{})
	if err != nil || w.Spec.PinnedCommit() != oldCommit {
		t.Errorf("the pin is %q (%v)", w.Spec.PinnedCommit(), err)
	}
	if !strings.Contains(fmt.Sprint(w.ManagedFields), "desk") {
		t.Errorf("managed fields = %v, want one of desk", w.ManagedFields)
	}

	if _, err := websites.Patch(ctx, "kubia", "application/merge-patch+json", []byte(`{"spec":{"suspend":true}}`),
		metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	// The rejected request is sent once. A conflict would be retried.
	attempts := 0
	err = retry.RetryOnConflict(retry.DefaultRetry, func() error {
		attempts++
		_, err := websites.Sync(ctx, "kubia", &v1beta1.WebsiteSyncRequest{}, metav1.CreateOptions{})
		return err
	})
	if attempts != 1 || !apierrors.IsInvalid(err) || !apierrors.HasStatusCause(err, "Suspended") {
		t.Errorf("a sync of a suspended Website: %v after %d attempts, want one that names the cause", err, attempts)
	}
}

// TestPolicyOnRollback: admission policies apply to the commit of a rollback.
func TestPolicyOnRollback(t *testing.T) {
	t.Parallel()
	ctx, namespace := t.Context(), framework.NewNamespace(t)
	mustPublish(t, namespace)
	_, rule := framework.RuleFor(namespace, admissionregistrationv1.Create)
	rule.Resources = []string{"websites/rollback"}
	bind(t, newPolicy(t, rule, nil, admissionregistrationv1.Validation{
		Expression:        `!has(object.commit) || object.commit != "` + newCommit + `"`,
		MessageExpression: `"commit " + object.commit + " is vulnerable"`,
	}), namespace, nil)

	websites := framework.Websites(t, namespace)
	roll := func(ctx context.Context, commit *string) error {
		_, err := websites.Rollback(ctx, "kubia", &v1beta1.WebsiteRollback{Commit: commit},
			metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	}
	framework.WaitFor(t, "the policy refuses a commit", func(ctx context.Context) error {
		if err := roll(ctx, ptr.To(newCommit)); !apierrors.IsInvalid(err) ||
			!strings.Contains(err.Error(), "commit "+newCommit+" is vulnerable") {
			return fmt.Errorf("got %w", err)
		}
		return nil
	})
	for name, commit := range map[string]*string{"another commit": ptr.To(oldCommit), "the release before": nil} {
		if err := roll(ctx, commit); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
