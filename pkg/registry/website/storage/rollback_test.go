package storage

import (
	"context"
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/generic"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// TestRollback: a user with permission to roll back cannot make pods fetch other commits with credentials
// that the user cannot read, and can set preconditions.
func TestRollback(t *testing.T) {
	served, before, other := strings.Repeat("a", 40), strings.Repeat("b", 40), strings.Repeat("c", 40)
	p := &policy{allowed: []string{"rich/key"}}
	storage := newStorageWithPolicy(t, p, generic.UndecoratedStorage)
	to := func(commit string) func(*website.Website, *website.WebsiteRollback) {
		return func(_ *website.Website, r *website.WebsiteRollback) { r.Commit = &commit }
	}
	for name, test := range map[string]struct {
		user  string
		tweak func(*website.Website, *website.WebsiteRollback)
		deny  bool
		// pin is the resulting pin, or empty for an error that matches.
		pin     string
		matches func(error) bool
	}{
		"the release before":  {user: poor, pin: before},
		"one of the history":  {user: poor, tweak: to(before), pin: before},
		"another commit":      {user: poor, tweak: to(other), matches: apierrors.IsInvalid},
		"with the permission": {user: rich, tweak: to(other), pin: other},
		"this very Website": {user: poor, pin: before, tweak: func(w *website.Website, r *website.WebsiteRollback) {
			r.Name, r.UID, r.ResourceVersion = w.Name, w.UID, w.ResourceVersion
		}},
		"another UID": {user: poor, tweak: func(_ *website.Website, r *website.WebsiteRollback) { r.UID = "other" },
			matches: apierrors.IsConflict},
		"a former version": {
			user: poor, tweak: func(_ *website.Website, r *website.WebsiteRollback) { r.ResourceVersion = "1" },
			matches: apierrors.IsConflict,
		},
		"another name": {user: poor, tweak: func(_ *website.Website, r *website.WebsiteRollback) { r.Name = "other" },
			matches: apierrors.IsBadRequest},
		"an unset variable": {user: rich, tweak: to(""), matches: apierrors.IsInvalid},
		"denied":            {user: rich, tweak: to(other), deny: true, matches: apierrors.IsForbidden},
	} {
		t.Run(name, func(t *testing.T) {
			t.Cleanup(func() { deleteAll(t, storage) })
			ctx := requestContext("v1beta1", "")
			if _, err := storage.Website.Create(as(ctx, rich), newWebsite(withSecret("key")), nil,
				&metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			obj, _, err := storage.Status.Update(ctx, "kubia", changed(func(w *website.Website) {
				w.Status.Commit = served
				for _, commit := range []string{served, before} {
					w.Status.History = append(w.Status.History, v1beta1.WebsiteRelease{Commit: commit, PublishedTime: metav1.Now(),
						Cause: v1beta1.ReleaseCausePoll})
				}
			}), nil, nil, false, &metav1.UpdateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			rollback := &website.WebsiteRollback{}
			if test.tweak != nil {
				test.tweak(obj.(*website.Website), rollback)
			}
			admission := func(_ context.Context, obj runtime.Object) error {
				if asked := obj.(*website.WebsiteRollback); test.deny && *asked.Commit == other {
					return apierrors.NewForbidden(website.Resource("websites/rollback"), "kubia", errors.New("not this one"))
				}
				return nil
			}
			_, err = storage.Rollback.Create(as(ctx, test.user), "kubia", rollback, admission, &metav1.CreateOptions{})
			if test.matches == nil && err != nil || test.matches != nil && !test.matches(err) {
				t.Errorf("error %v", err)
			}
			stored, err := storage.Website.Get(ctx, "kubia", &metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if got := stored.(*website.Website).Spec.PinnedCommit(); got != test.pin {
				t.Errorf("%q is pinned, want %q", got, test.pin)
			}
		})
	}
}
