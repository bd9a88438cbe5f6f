package website

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2/ktesting"
	"k8s.io/utils/ptr"

	api "github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/cached"
	"github.com/kubesites/website-apiserver/pkg/controller/website/problem"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
	"github.com/kubesites/website-apiserver/pkg/controller/website/status"
	"github.com/kubesites/website-apiserver/pkg/controller/website/workload"
)

func withPreviews(w *v1beta1.Website) {
	w.Spec.Source.Git.Ref = &v1beta1.GitReference{Branch: "main"}
	w.Spec.Previews = &v1beta1.WebsitePreviews{Branches: []string{"*"}, MaxCount: 3, Domain: "previews.example.com"}
}

// preview reconciles the previews of these branches, or of unknown ones, and returns the condition.
func (f *fixture) preview(branches []string) (*metav1.Condition, *problem.Problem) {
	f.Helper()
	return f.previewAt(testNow, branches)
}

// previewAt reconciles the previews at a given time.
func (f *fixture) previewAt(now time.Time, branches []string) (*metav1.Condition, *problem.Problem) {
	f.Helper()
	f.refreshWebsites()
	_, ctx := ktesting.NewTestContext(f.T)
	website := f.controller.reconciler.website(testKey)
	observed := workload.Observation{Reachable: true, Commit: commitA}
	if branches != nil && website.Spec.Previews != nil {
		observed.Branches = &workload.Branches{ID: resources.BranchesID(website), Since: testNow}
		for _, branch := range branches {
			observed.Branches.List = append(observed.Branches.List, workload.Branch{Name: branch, Commit: commitA})
		}
	}
	input := &status.Input{Website: website, Probing: true, Now: now,
		Pods: []status.Pod{{Pod: cached.OfPod(newPod()), Ready: true, Observed: true, Observation: observed}}}
	problems := f.controller.reconcileOthers(ctx, f.reconciliation(input))
	computed := status.Compute(input)
	current := f.website(testName).DeepCopy()
	current.Status.Previews, current.Status.Conditions = computed.Previews, computed.Conditions
	if err := f.websites.Tracker().Update(resourceOf(current), current, testNamespace); err != nil {
		f.Fatal(err)
	}
	f.refreshWebsites()
	var p *problem.Problem
	if len(problems) > 0 {
		p = problems[0]
	}
	return meta.FindStatusCondition(computed.Conditions, v1beta1.WebsitePreviewsReady), p
}

// websiteNames returns the names of the other Websites, and removes deleted ones from the cache.
func (f *fixture) websiteNames() string {
	f.Helper()
	list, err := f.websites.WebsiteV1beta1().Websites(testNamespace).List(f.Context(), metav1.ListOptions{})
	if err != nil {
		f.Fatal(err)
	}
	var names []string
	for _, website := range list.Items {
		if website.Name != testName {
			names = append(names, website.Name)
		}
	}
	for _, obj := range f.websiteInformers.Website().V1beta1().Websites().Informer().GetIndexer().List() {
		if website := obj.(*v1beta1.Website); website.Name != testName && !slices.Contains(names, website.Name) {
			f.uncacheWebsite(website)
		}
	}
	return strings.Join(names, " ")
}

func (f *fixture) writesOfWebsites() (writes []string) {
	for _, action := range f.websites.Actions() {
		if verb := action.GetVerb(); action.GetSubresource() == "" &&
			(verb == "patch" || verb == "delete" || verb == "create" || verb == "update") {
			writes = append(writes, verb)
		}
	}
	f.websites.ClearActions()
	return writes
}

func TestPreviews(t *testing.T) {
	f := newFixture(t, newWebsite(withPreviews))
	condition, p := f.preview([]string{"feature-a", "main", "next"})
	if got, want := f.websiteNames(), "kubia-feature-a kubia-next"; got != want || p != nil {
		t.Fatalf("the previews are %q, %v, want %q", got, p, want)
	}
	if condition == nil || condition.Status != metav1.ConditionTrue ||
		condition.Reason != v1beta1.WebsiteReasonPreviewsCurrent {
		t.Errorf("the condition is %+v", condition)
	}
	if events := strings.Join(f.events(), "\n"); !strings.Contains(events, `Created Website "kubia-next"`) {
		t.Errorf("the events are %s", events)
	}
	reported := f.website(testName).Status.Previews
	if len(reported) != 2 || reported[0].WebsiteName != "kubia-feature-a" || reported[1].Branch != "next" ||
		reported[1].Commit != commitA || !reported[1].LastCommitTime.Time.Equal(testNow) {
		t.Errorf("reported %+v", reported)
	}
	preview := f.website("kubia-next")
	owner := api.PreviewOwner(preview)
	if owner == nil || owner.UID != "uid-of-kubia" || preview.Labels[api.LabelPreviewOf] != testName {
		t.Errorf("the preview belongs to %+v, labels %v", owner, preview.Labels)
	}
	// Branches of unknown state are kept; the preview of a deleted branch is removed.
	condition, _ = f.preview(nil)
	if got := f.websiteNames(); got != "kubia-feature-a kubia-next" ||
		condition.Reason != v1beta1.WebsiteReasonBranchesUnknown {
		t.Errorf("while no pod reports branches there are %q, %+v", got, condition)
	}
	f.preview([]string{"next"})
	if got := f.websiteNames(); got != "kubia-next" {
		t.Errorf("after a branch was deleted there are %q", got)
	}
	if events := strings.Join(f.events(), "\n"); !strings.Contains(events,
		`Deleted Website "kubia-feature-a": its branch is gone`) {
		t.Errorf("the events are %s", events)
	}
	f.changeWebsite(newWebsite(withPreviews, func(w *v1beta1.Website) { w.Spec.Suspend = new(true) }))
	condition, _ = f.preview([]string{"feature-a"})
	if got := f.websiteNames(); got != "kubia-next" || condition.Reason != v1beta1.WebsiteReasonSuspended ||
		len(f.website(testName).Status.Previews) != 1 {
		t.Errorf("while the Website is suspended there are %q, %+v", got, condition)
	}
	f.changeWebsite(newWebsite())
	condition, _ = f.preview(nil)
	if got := f.websiteNames(); got != "" || condition != nil || f.website(testName).Status.Previews != nil {
		t.Errorf("without spec.previews there are %q, %+v", got, condition)
	}
}

// TestEditsOfPreviews: the controller owns all fields except those that rollback and sync write.
func TestEditsOfPreviews(t *testing.T) {
	f := newFixture(t, newWebsite(withPreviews))
	f.preview([]string{"next"})
	preview := f.website("kubia-next").DeepCopy()
	preview.Spec.Replicas, preview.Spec.Source.Path, preview.Spec.Pin = ptr.To[int32](7), "private", pinTo(commitB)
	f.store(preview)
	f.preview([]string{"next"})
	if got := f.website("kubia-next").Spec; *got.Replicas != 1 || got.PinnedCommit() != commitB {
		t.Errorf("after an edit there are %d replicas, pin %q", *got.Replicas, got.PinnedCommit())
	}
	f.changeWebsite(newWebsite(withPreviews, func(w *v1beta1.Website) { w.Spec.Source.Path = "public" }))
	f.preview(nil)
	if got := f.website("kubia-next").Spec.Source.Path; got != "public" {
		t.Errorf("after a change of the Website the path of the preview is %q", got)
	}
	// The status has the branch that the spec does not have any more, also while no pod reports branches.
	preview = f.website("kubia-next").DeepCopy()
	preview.Spec.Source.Git.Ref = &v1beta1.GitReference{Branch: "other"}
	f.store(preview)
	f.preview(nil)
	if got := f.website("kubia-next").Spec.Source.Git.Ref; got == nil || got.Branch != "next" {
		t.Errorf("after an edit of its branch the preview is of %v, want next", got)
	}
}

// TestOthersAreNoPreviews: Websites without the label of a preview are left alone, even with managed
// fields in the name of the controller, which any client can write, and do not delay the others.
func TestOthersAreNoPreviews(t *testing.T) {
	owned := newWebsite(withName("owned"), func(w *v1beta1.Website) {
		w.OwnerReferences = []metav1.OwnerReference{{APIVersion: v1beta1.SchemeGroupVersion.String(), Kind: "Website",
			Name: testName, UID: "uid-of-kubia", Controller: ptr.To(true)}}
		w.ManagedFields = []metav1.ManagedFieldsEntry{{
			Manager: cached.FieldManager, Operation: metav1.ManagedFieldsOperationApply,
			APIVersion: v1beta1.SchemeGroupVersion.String(),
			FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{}`),
		}}
	})
	f := newFixture(t, newWebsite(withPreviews), newWebsite(withName("kubia-feature-a")), owned)
	condition, p := f.preview([]string{"feature-a", "next"})
	if got, want := f.websiteNames(), "kubia-feature-a kubia-next owned"; got != want {
		t.Errorf("there are %q, want %q", got, want)
	}
	if got := f.website("kubia-feature-a"); len(got.OwnerReferences) > 0 || got.Spec.Source.Git.Ref != nil {
		t.Errorf("a Website of the name of a preview was changed: %+v", got)
	}
	if condition == nil || condition.Status != metav1.ConditionFalse ||
		condition.Reason != v1beta1.WebsiteReasonNameTaken || !strings.Contains(condition.Message, "rename the branch") {
		t.Errorf("the condition is %+v", condition)
	}
	if p == nil || p.Reason != "" || p.Retry != problem.Periodically {
		t.Errorf("the problem is %+v", p)
	}
	if reported := f.website(testName).Status.Previews; len(reported) != 1 || reported[0].Branch != "next" {
		t.Errorf("reported %+v", reported)
	}
	f.changeWebsite(newWebsite())
	f.preview(nil)
	if got, want := f.websiteNames(), "kubia-feature-a owned"; got != want {
		t.Errorf("without previews there are %q, want %q", got, want)
	}
}

// TestRestoredPreview: a backup tool creates Websites again, with their labels, but without owner
// references, managed fields and the former UIDs.
func TestRestoredPreview(t *testing.T) {
	f := newFixture(t, newWebsite(withPreviews))
	f.preview([]string{"next"})
	preview := f.website("kubia-next").DeepCopy()
	preview.OwnerReferences, preview.ManagedFields, preview.UID = nil, nil, "restored"
	f.store(preview)
	condition, p := f.preview([]string{"next"})
	if owner := api.PreviewOwner(f.website("kubia-next")); owner == nil || owner.UID != "uid-of-kubia" || p != nil {
		t.Errorf("the restored preview belongs to %+v, the condition is %+v, the problem %v", owner, condition, p)
	}
	f.preview([]string{})
	if got := f.websiteNames(); got != "" {
		t.Errorf("after its branch was deleted there are %q", got)
	}
}

// TestPreviewsOfAnotherNamespace: a Website can have an owner reference with the UID of a Website in
// another namespace.
func TestPreviewsOfAnotherNamespace(t *testing.T) {
	f := newFixture(t, newWebsite(withPreviews))
	f.preview([]string{"d"})
	made := f.website("kubia-d").DeepCopy()
	f.preview([]string{})
	f.websiteNames()
	for _, branch := range []string{"d", "e", "f"} {
		foreign := made.DeepCopy()
		foreign.Namespace, foreign.Name, foreign.UID = "other", "kubia-"+branch, types.UID(branch)
		foreign.Spec.Source.Git.Ref.Branch = branch
		f.cacheWebsite(foreign)
	}
	if _, p := f.preview([]string{"a", "b", "c", "d", "e", "f"}); p != nil {
		t.Error(p)
	}
	if got, want := f.websiteNames(), "kubia-a kubia-b kubia-c"; got != want {
		t.Errorf("there are %q, want %q", got, want)
	}
}

// TestPreviewsOfLetters: branches in other scripts have previews of their own, with names that are
// valid in Kubernetes.
func TestPreviewsOfLetters(t *testing.T) {
	f := newFixture(t, newWebsite(withPreviews))
	_, p := f.preview([]string{"zweig/ä", "zweig/ö", "日本"})
	if got, want := f.websiteNames(), "kubia-18784736 kubia-zweig-173a2f50 kubia-zweig-8afbc976"; got != want || p != nil {
		t.Fatalf("the previews are %q, %v, want %q", got, p, want)
	}
	reported := f.website(testName).Status.Previews
	if len(reported) != 3 {
		t.Errorf("reported %+v", reported)
	}
	for _, entry := range reported {
		if preview := f.website(entry.WebsiteName); preview.Spec.Source.Git.Ref.Branch != entry.Branch {
			t.Errorf("the preview of %q is of %q", entry.Branch, preview.Spec.Source.Git.Ref.Branch)
		}
	}
}

// TestPreviewThatGoes: while branches are unknown, a preview that is being deleted is not reported.
func TestPreviewThatGoes(t *testing.T) {
	f := newFixture(t, newWebsite(withPreviews))
	f.preview([]string{"next"})
	preview := f.website("kubia-next").DeepCopy()
	preview.DeletionTimestamp, preview.Finalizers = ptr.To(metav1.NewTime(testNow)),
		[]string{metav1.FinalizerDeleteDependents}
	f.store(preview)
	f.preview(nil)
	if reported := f.website(testName).Status.Previews; len(reported) != 1 || reported[0].Branch != "next" ||
		reported[0].WebsiteName != "" {
		t.Errorf("reported %+v", reported)
	}
}

// TestQuotaOfPreviews: a quota applies to all previews, so one request is enough to detect it.
func TestQuotaOfPreviews(t *testing.T) {
	f := newFixture(t, newWebsite(withPreviews))
	f.preview([]string{"a"})
	f.writesOfWebsites()
	fail(&f.websites.Fake, "patch", "websites",
		apierrors.NewForbidden(v1beta1.Resource("websites"), "x", errors.New("exceeded quota: few")))
	condition, p := f.preview([]string{"a", "b", "c"})
	if condition == nil || condition.Reason != v1beta1.WebsiteReasonQuotaExceeded || p == nil ||
		p.Retry != problem.WithBackoff {
		t.Errorf("the condition is %+v, the problem %+v", condition, p)
	}
	if writes := f.writesOfWebsites(); len(writes) > 1 || f.websiteNames() != "kubia-a" {
		t.Errorf("the writes are %q, there are %q", writes, f.websiteNames())
	}
}

func TestPreviewsBeyondTheMaximum(t *testing.T) {
	f := newFixture(t, newWebsite(withPreviews))
	condition, p := f.preview([]string{"a", "b", "c", "d", "e"})
	if got := f.websiteNames(); got != "kubia-a kubia-b kubia-c" || p != nil {
		t.Errorf("there are %q, %v", got, p)
	}
	if condition == nil || condition.Status != metav1.ConditionTrue ||
		condition.Reason != v1beta1.WebsiteReasonPreviewLimitReached ||
		!strings.HasPrefix(condition.Message, "2 more branches") {
		t.Errorf("the condition is %+v", condition)
	}
}

// TestPreviewsGetOld: previews become too old without an event.
func TestPreviewsGetOld(t *testing.T) {
	f := newFixture(t, newWebsite(withPreviews, func(w *v1beta1.Website) {
		w.Spec.Previews.TTLSeconds = ptr.To[int32](3600)
		w.Status.Previews = []v1beta1.WebsitePreviewStatus{
			{Branch: "old", Commit: commitA, LastCommitTime: metav1.NewTime(testNow.Add(-time.Hour))},
		}
	}))
	f.preview([]string{"new", "old"})
	if got := f.websiteNames(); got != "kubia-new" {
		t.Errorf("there are %q", got)
	}
	reported := f.website(testName).Status.Previews
	if len(reported) != 2 || reported[1].Branch != "old" || reported[1].WebsiteName != "" {
		t.Errorf("reported %s", fmt.Sprint(reported))
	}
}

// TestPreviewsOutliveAClockThatIsAhead: a clock that is ahead for a moment removes no preview,
// because the result of the previous reconciliation is remembered.
func TestPreviewsOutliveAClockThatIsAhead(t *testing.T) {
	f := newFixture(
		t, newWebsite(withPreviews, func(w *v1beta1.Website) { w.Spec.Previews.TTLSeconds = ptr.To[int32](3600) }),
	)
	const day = 24 * time.Hour
	for _, step := range []struct {
		after time.Duration
		want  string
	}{
		{0, "kubia-a kubia-b"},
		{day, "kubia-a kubia-b"},
		{time.Second, "kubia-a kubia-b"},
		{day + time.Minute, "kubia-a kubia-b"},
		{day + 2*time.Minute, ""},
	} {
		_, p := f.previewAt(testNow.Add(step.after), []string{"a", "b"})
		if got := f.websiteNames(); got != step.want || p != nil {
			t.Errorf("after %v there are %q, %v, want %q", step.after, got, p, step.want)
		}
	}
	if events := strings.Join(f.events(), "\n"); !strings.Contains(events, "has had no commit for 3600 seconds") {
		t.Errorf("the events are %s", events)
	}
}
