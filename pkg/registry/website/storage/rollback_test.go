package storage

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/registry/generic"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
)

// TestRollback: whoever may roll back may not have other commits fetched with credentials that they cannot
// read, and may say which Website they mean.
func TestRollback(t *testing.T) {
	served, before, other := strings.Repeat("a", 40), strings.Repeat("b", 40), strings.Repeat("c", 40)
	p := &policy{allowed: []string{"rich/key"}}
	storage := newStorageWithPolicy(t, p, generic.UndecoratedStorage)
	body := func(commit string) func(*website.Website) string {
		return func(*website.Website) string { return `{"commit":"` + commit + `"}` }
	}
	metadata := func(members func(*website.Website) string) func(*website.Website) string {
		return func(w *website.Website) string { return `{"metadata":{` + members(w) + `}}` }
	}
	for name, test := range map[string]struct {
		user string
		body func(*website.Website) string
		// pin is what is pinned afterwards, or empty for an error that matches.
		pin     string
		matches func(error) bool
	}{
		"the release before":  {user: poor, body: func(*website.Website) string { return "" }, pin: before},
		"one of the history":  {user: poor, body: body(before), pin: before},
		"another commit":      {user: poor, body: body(other), matches: apierrors.IsInvalid},
		"with the permission": {user: rich, body: body(other), pin: other},
		"this very Website": {user: poor, pin: before, body: metadata(func(w *website.Website) string {
			return `"namespace":"default","name":"kubia","uid":"` + string(w.UID) + `","resourceVersion":"` + w.ResourceVersion + `"`
		})},
		"another UID":       {user: poor, body: metadata(func(*website.Website) string { return `"uid":"other"` }), matches: apierrors.IsConflict},
		"a former version":  {user: poor, body: metadata(func(*website.Website) string { return `"resourceVersion":"1"` }), matches: apierrors.IsConflict},
		"another namespace": {user: poor, body: metadata(func(*website.Website) string { return `"namespace":"other"` }), matches: apierrors.IsBadRequest},
		"null":              {user: poor, body: func(*website.Website) string { return "null" }, matches: apierrors.IsBadRequest},
		"no commit":         {user: poor, body: func(*website.Website) string { return `{"commit":null}` }, matches: apierrors.IsBadRequest},
		"a number":          {user: poor, body: func(*website.Website) string { return `{"commit":1}` }, matches: apierrors.IsBadRequest},
		"more than a value": {user: rich, body: func(*website.Website) string { return `{"commit":"` + other + `"}}` }, matches: apierrors.IsBadRequest},
		"another name":      {user: poor, body: metadata(func(*website.Website) string { return `"name":"other"` }), matches: apierrors.IsBadRequest},
	} {
		t.Run(name, func(t *testing.T) {
			t.Cleanup(func() { deleteAll(t, storage) })
			ctx := requestContext("v1beta1", "")
			if _, err := storage.Website.Create(as(ctx, rich), newWebsite(withSecret("key")), nil, &metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			obj, _, err := storage.Status.Update(ctx, "kubia", changed(func(w *website.Website) {
				w.Status.Commit = served
				for _, commit := range []string{served, before} {
					w.Status.History = append(w.Status.History, website.WebsiteRelease{Commit: commit, PublishedTime: metav1.Now(), Cause: website.ReleaseCausePoll})
				}
			}), nil, nil, false, &metav1.UpdateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			request := httptest.NewRequestWithContext(context.Background(), http.MethodPost, "/", strings.NewReader(test.body(obj.(*website.Website))))
			_, err = storage.Rollback.serve(as(ctx, test.user), "kubia", &website.WebsiteRollbackOptions{}, request)
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
