package children

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/problem"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
)

const manager = " manager=website-controller"

func controlledBy(kind, name string) []metav1.OwnerReference {
	return []metav1.OwnerReference{{APIVersion: "mycontroller.nevermosby.io/v1beta1", Kind: kind, Name: name,
		UID: "uid-of-another", Controller: ptr.To(true)}}
}

func TestEnsure(t *testing.T) {
	website := newWebsite("kubia")
	created := `apply uid="" resourceVersion="1" force=false` + manager
	updated := `apply uid="created-at-11" resourceVersion="" force=true` + manager
	deleting := metav1.Now()
	for name, test := range map[string]struct {
		// exists starts with the child of the Website in the cache.
		exists bool
		// given changes the stored objects, before the cache is synced.
		given func(f *fixture)
		// content is the desired content, where "a" exists.
		content       string
		want          Operation
		wantProblem   problem.Result
		wantMessage   string
		wantCalls     []string
		wantUntouched bool
	}{
		"created":        {content: "a", want: Created, wantCalls: []string{"get", created}},
		"there already":  {exists: true, content: "a", want: Unchanged},
		"something else": {exists: true, content: "b", want: Updated, wantCalls: []string{updated}},
		"deleted by hand": {exists: true, given: func(f *fixture) { f.stored = nil }, content: "a", want: Created,
			wantCalls: []string{"get", created}},
		"being deleted": {exists: true, given: func(f *fixture) {
			f.edit(func(c *corev1.ConfigMap) { c.DeletionTimestamp = &deleting })
		}, content: "a", want: Unchanged, wantUntouched: true},
		"being deleted, something else": {exists: true,
			given:   func(f *fixture) { f.edit(func(c *corev1.ConfigMap) { c.DeletionTimestamp = &deleting }) },
			content: "b", want: Unchanged, wantProblem: problem.Taken, wantMessage: `ConfigMap "kubia-website-nginx" is being ` +
				`deleted; it is created again when it is gone`, wantUntouched: true},
		"an orphan is adopted": {exists: true, given: func(f *fixture) {
			f.edit(func(c *corev1.ConfigMap) { c.OwnerReferences = nil })
			f.applied[f.stored.ResourceVersion] = &corev1ac.ConfigMapApplyConfiguration{}
		}, content: "a", want: Adopted, wantCalls: []string{"get", updated}},
		"an orphan of another Website": {exists: true, given: func(f *fixture) {
			f.edit(func(c *corev1.ConfigMap) { c.OwnerReferences, c.Labels[resources.LabelController] = nil, "other" })
		}, content: "a", want: Unchanged, wantProblem: problem.Taken, wantMessage: "has no owner", wantCalls: []string{"get"},
			wantUntouched: true},
		"the labels of an orphan on what another client made": {exists: true, given: func(f *fixture) {
			f.edit(func(c *corev1.ConfigMap) { c.OwnerReferences, c.ManagedFields[0].Manager = nil, "kubectl" })
		}, content: "a", want: Unchanged, wantProblem: problem.Taken, wantMessage: "has no owner", wantCalls: []string{"get"},
			wantUntouched: true},
		"an orphan of a Website that is gone": {exists: true, given: func(f *fixture) {
			f.edit(func(c *corev1.ConfigMap) { c.OwnerReferences = nil })
			delete(f.websites, "kubia")
		}, content: "a", want: Unchanged, wantProblem: problem.Conflict, wantMessage: "gone", wantCalls: []string{"get"},
			wantUntouched: true},
		"of something else": {exists: true, given: func(f *fixture) {
			f.edit(func(c *corev1.ConfigMap) { c.OwnerReferences = controlledBy("Shop", "corner") })
		}, content: "a", want: Unchanged, wantProblem: problem.Taken, wantMessage: `belongs to Shop "corner"`,
			wantCalls: []string{"get"}, wantUntouched: true},
		"of a Website of before": {exists: true, given: func(f *fixture) {
			f.edit(func(c *corev1.ConfigMap) { c.OwnerReferences = controlledBy("Website", "kubia") })
		}, content: "a", want: Unchanged, wantProblem: problem.Taken, wantMessage: "as soon as garbage collection has " +
			"removed the old one", wantCalls: []string{"get"}, wantUntouched: true},
		"replaced between read and write": {exists: true, given: func(f *fixture) {
			f.meanwhile = func() { f.stored = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{UID: "another"}} }
		}, content: "b", want: Unchanged, wantProblem: problem.Conflict, wantCalls: []string{updated, "get"}},
		"deleted between read and write": {exists: true, given: func(f *fixture) {
			f.meanwhile = func() { f.stored = nil }
		}, content: "b", want: Unchanged, wantProblem: problem.Conflict, wantCalls: []string{updated, "get"}},
		"created between read and write": {given: func(f *fixture) {
			f.meanwhile = func() { f.stored = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{UID: "another"}} }
		}, content: "a", want: Unchanged, wantProblem: problem.Taken, wantMessage: "has no owner",
			wantCalls: []string{"get", created, "get"}},
		"refused": {exists: true, given: func(f *fixture) {
			f.err = apierrors.NewForbidden(corev1.Resource("configmaps"), childName, errors.New("exceeded quota"))
		},
			content: "b", want: Unchanged, wantProblem: problem.Failure, wantMessage: `updating ConfigMap "kubia-website-nginx"`,
			wantCalls: []string{updated, "get"}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, website)
			if test.exists {
				if _, _, p := f.Ensure(t.Context(), website, wanted(website, "a")); p != nil {
					t.Fatal(p)
				}
			}
			if test.given != nil {
				test.given(f)
			}
			f.syncStore()
			f.called()
			before := f.stored

			child, done, p := f.Ensure(t.Context(), website, wanted(website, test.content))
			if done != test.want || problem.ResultOf(p) != test.wantProblem {
				t.Errorf("%s, problem %v, want %s and a problem of kind %s", done, p, test.want, test.wantProblem)
			}
			if p != nil && !strings.Contains(p.Message, test.wantMessage) {
				t.Errorf("message %q, want %q in it", p.Message, test.wantMessage)
			}
			if got := f.called(); !slices.Equal(got, test.wantCalls) {
				t.Errorf("calls\n%q, want\n%q", got, test.wantCalls)
			}
			if test.wantUntouched && f.stored != before {
				t.Errorf("it was written: %+v", f.stored)
			}
			if p == nil && (child == nil || done != Unchanged && child.ResourceVersion != f.stored.ResourceVersion) {
				t.Errorf("returned %+v, stored is %+v", child, f.stored)
			}
		})
	}
}

// TestStaleCache: an older state of the cache does not replace written or read objects.
func TestStaleCache(t *testing.T) {
	website := newWebsite("kubia")
	f := newFixture(t, website)
	ensure := func(content string) Operation {
		t.Helper()
		_, done, p := f.Ensure(t.Context(), website, wanted(website, content))
		if p != nil {
			t.Fatal(p)
		}
		return done
	}
	version := func() string {
		t.Helper()
		child, p := f.Find(t.Context(), website, childName)
		if p != nil || child == nil {
			t.Fatal(child, p)
		}
		return child.ResourceVersion
	}
	ensure("a")
	f.syncStore()
	if done := ensure("b"); done != Updated {
		t.Fatalf("%s, want %s", done, Updated)
	}
	// The cache has "a". It is not written again, and a change back to it is not missed.
	if done := ensure("b"); done != Unchanged {
		t.Errorf("what the cache does not show yet is %s", done)
	}
	if done := ensure("a"); done != Updated {
		t.Errorf("back to what the cache shows: %s", done)
	}
	if got := version(); got != f.stored.ResourceVersion {
		t.Errorf("version %s is found, %s was written", got, f.stored.ResourceVersion)
	}
	f.called()

	// The cache has a newer object, such as one with another status.
	f.edit(func(*corev1.ConfigMap) {})
	f.syncStore()
	if got := version(); got != f.stored.ResourceVersion {
		t.Errorf("version %s is found, the cache has %s", got, f.stored.ResourceVersion)
	}
	if got := f.called(); len(got) > 0 {
		t.Errorf("calls: %q", got)
	}

	// An object that is no longer in the cache is read, and remembered when it comes back.
	f.edit(func(*corev1.ConfigMap) {})
	older := f.stored.DeepCopy()
	f.edit(func(*corev1.ConfigMap) {})
	if err := f.store.Replace(nil, ""); err != nil {
		t.Fatal(err)
	}
	if got := version(); got != f.stored.ResourceVersion || len(f.called()) != 1 {
		t.Errorf("version %s is found, stored is %s", got, f.stored.ResourceVersion)
	}
	if err := f.store.Replace([]any{older}, ""); err != nil {
		t.Fatal(err)
	}
	if got := version(); got != f.stored.ResourceVersion {
		t.Errorf("version %s is found, %s was read before", got, f.stored.ResourceVersion)
	}
}

// TestLostAnswer: a write that took effect although its response was lost is not repeated, even if it
// is not in the cache yet.
func TestLostAnswer(t *testing.T) {
	website := newWebsite("kubia")
	f := newFixture(t, website)
	if _, _, p := f.Ensure(t.Context(), website, wanted(website, "a")); p != nil {
		t.Fatal(p)
	}
	f.syncStore()
	f.answerLost = errors.New("unexpected EOF")
	if _, done, p := f.Ensure(t.Context(), website, wanted(website, "b")); p == nil || done != Unchanged {
		t.Fatalf("%s, %v, want a problem", done, p)
	}
	f.called()
	if child, done, p := f.Ensure(t.Context(), website, wanted(website, "b")); p != nil || done != Unchanged ||
		child.ResourceVersion != f.stored.ResourceVersion {
		t.Errorf("once more: %s, %v", done, p)
	}
	if got := f.called(); len(got) > 0 {
		t.Errorf("calls: %q", got)
	}
}

// TestOneNameTwoWebsites: two Websites that are not in each other's cache create a child of one name
// at the same time. The API server accepts one of them.
func TestOneNameTwoWebsites(t *testing.T) {
	first, second := newWebsite("first"), newWebsite("second")
	f := newFixture(t, first, second)
	f.meanwhile = func() {
		if _, done, p := f.Ensure(t.Context(), second, wanted(second, "b")); p != nil || done != Created {
			t.Errorf("the second: %s, %v", done, p)
		}
	}
	if _, done, p := f.Ensure(t.Context(), first, wanted(first, "a")); p == nil ||
		p.Reason != v1beta1.WebsiteReasonNameTaken || done != Unchanged {
		t.Errorf("the first: %s, %v, want that the name is taken", done, p)
	}
	if !metav1.IsControlledBy(f.stored, second) {
		t.Errorf("the child belongs to %v", f.stored.OwnerReferences)
	}
	f.syncStore()
	if f.Held(second, childName) == nil || f.Held(first, childName) != nil {
		t.Error("the wrong one holds the child")
	}
}

func TestDelete(t *testing.T) {
	website := newWebsite("kubia")
	deletion := func(version int) []string {
		return []string{fmt.Sprintf(`delete uid="created-at-11" resourceVersion="%d"`, version)}
	}
	for name, test := range map[string]struct {
		given       func(f *fixture)
		want        Operation
		wantProblem problem.Result
		wantCalls   []string
	}{
		"ours": {func(*fixture) {}, Deleted, problem.Success, deletion(11)},
		"none": {func(f *fixture) { f.stored = nil }, Unchanged, problem.Success, nil},
		"of something else": {func(f *fixture) {
			f.edit(func(c *corev1.ConfigMap) { c.OwnerReferences = controlledBy("Shop", "corner") })
		}, Unchanged, problem.Success, nil},
		"being deleted": {
			func(f *fixture) { f.edit(func(c *corev1.ConfigMap) { c.DeletionTimestamp = ptr.To(metav1.Now()) }) }, Unchanged,
			problem.Success, nil,
		},
		"gone meanwhile": {func(f *fixture) { f.err = apierrors.NewNotFound(corev1.Resource("configmaps"), "x") },
			Unchanged, problem.Success, deletion(11)},
		"changed meanwhile": {
			func(f *fixture) { f.err = apierrors.NewConflict(corev1.Resource("configmaps"), "x", errors.New("x")) }, Unchanged,
			problem.Conflict, deletion(11),
		},
		"the API server fails": {func(f *fixture) { f.err = apierrors.NewInternalError(errors.New("x")) }, Unchanged,
			problem.Failure, deletion(11)},
		"edited before it goes": {func(f *fixture) { f.edit(func(*corev1.ConfigMap) {}) }, Deleted,
			problem.Success, deletion(12)},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, website)
			if _, _, p := f.Ensure(t.Context(), website, wanted(website, "a")); p != nil {
				t.Fatal(p)
			}
			test.given(f)
			f.syncStore()
			f.called()
			done, p := f.Delete(t.Context(), website, childName)
			if done != test.want || problem.ResultOf(p) != test.wantProblem {
				t.Errorf("%s, %v, want %s and a problem of kind %s", done, p, test.want, test.wantProblem)
			}
			if got := f.called(); !slices.Equal(got, test.wantCalls) {
				t.Errorf("calls %q, want %q", got, test.wantCalls)
			}
		})
	}
}
