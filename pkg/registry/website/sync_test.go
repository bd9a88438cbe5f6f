package website

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/install"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

var commitA, commitB = strings.Repeat("0a", 20), strings.Repeat("0b", 20)

// sync returns request 10 of second 10 for a commit, after these were started and completed.
func sync(commit string, started, completed int64) *v1beta1.WebsiteSyncStatus {
	s := &v1beta1.WebsiteSyncStatus{LastRequest: v1beta1.WebsiteSyncRecord{ID: 10, Time: metav1.Unix(10, 0), By: "first",
		Commit: commit}, StartedID: started}
	if completed != 0 {
		s.LastCompleted = &v1beta1.WebsiteSyncCompletion{ID: completed, Result: v1beta1.SyncSucceeded}
	}
	return s
}

func TestRecordSync(t *testing.T) {
	tests := map[string]struct {
		stored *v1beta1.WebsiteSyncStatus
		commit string
		// now defaults to 20.
		now int64
		// wantID is the id of the recorded request; the id of the stored one if it is joined.
		wantID     int64
		wantCommit string
	}{
		"first":                   {wantID: 1},
		"pending":                 {stored: sync("", 0, 0), wantID: 10},
		"commit joins the newest": {stored: sync("", 0, 0), commit: commitA, wantID: 10},
		"pending for a minute":    {stored: sync("", 0, 0), now: 70, wantID: 11},
		"same commit":             {stored: sync(commitA, 0, 0), commit: commitA, wantID: 10, wantCommit: commitA},
		"same commit for a minute": {stored: sync(commitA, 0, 0), commit: commitA, now: 70, wantID: 11,
			wantCommit: commitA},
		"newest widens a commit":      {stored: sync(commitA, 0, 0), wantID: 11},
		"another commit widens":       {stored: sync(commitA, 0, 0), commit: commitB, wantID: 11},
		"started, so its fetch may":   {stored: sync("", 10, 0), wantID: 11},
		"an earlier one was started":  {stored: sync("", 9, 9), wantID: 10},
		"completed":                   {stored: sync("", 10, 10), commit: commitA, wantID: 11, wantCommit: commitA},
		"completed and never started": {stored: sync("", 9, 10), wantID: 11},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			status := v1beta1.WebsiteStatus{Sync: test.stored.DeepCopy()}
			now := cmp.Or(test.now, 20)
			RecordSync(&status, test.commit, "second", time.Unix(now, 123))
			want := v1beta1.WebsiteSyncRecord{ID: test.wantID, Time: metav1.Unix(now, 0), By: "second", Commit: test.wantCommit}
			if test.wantID == 10 {
				want.Time, want.By = metav1.Unix(10, 0), "first"
			}
			got := status.Sync
			if !apiequality.Semantic.DeepEqual(got.LastRequest, want) {
				t.Errorf("recorded %+v, want %+v", got.LastRequest, want)
			}
			if test.stored != nil && (got.StartedID != test.stored.StartedID ||
				!apiequality.Semantic.DeepEqual(got.LastCompleted, test.stored.LastCompleted)) {
				t.Errorf("progress = %+v, want the progress of %+v", got, test.stored)
			}
		})
	}
	t.Run("long name", func(t *testing.T) {
		var status v1beta1.WebsiteStatus
		RecordSync(&status, "", strings.Repeat("é", 2000), time.Unix(1, 0))
		if status.Sync.LastRequest.By != strings.Repeat("é", 1024) {
			t.Errorf("by has %d bytes, want 1024 characters", len(status.Sync.LastRequest.By))
		}
	})
}

func TestSyncState(t *testing.T) {
	failed := sync("", 10, 10)
	failed.LastCompleted.Result = v1beta1.SyncFailed
	tests := map[v1beta1.SyncState]*v1beta1.WebsiteSyncStatus{
		v1beta1.SyncStateNone:      nil,
		v1beta1.SyncStatePending:   sync("", 9, 9),
		v1beta1.SyncStateRunning:   sync("", 10, 9),
		v1beta1.SyncStateSucceeded: sync("", 10, 10),
		v1beta1.SyncStateFailed:    failed,
	}
	for want, stored := range tests {
		if got := SyncStateOf(stored, 10); got != want {
			t.Errorf("state of %+v = %s, want %s", stored, got, want)
		}
	}
	if got := SyncStateOf(sync("", 9, 9), 9); got != v1beta1.SyncStateSucceeded {
		t.Errorf("state of an earlier request = %s", got)
	}
	if got := SyncStateOf(sync("", 10, 10), 11); got != v1beta1.SyncStatePending {
		t.Errorf("state of a request that was lost = %s, want one that is not completed", got)
	}
}

func TestSyncOutcome(t *testing.T) {
	completedWith := func(result v1beta1.SyncResult, commit string) *v1beta1.WebsiteSyncStatus {
		s := sync("", 10, 10)
		s.LastCompleted.Result, s.LastCompleted.Commit, s.LastCompleted.Reason, s.LastCompleted.Message = result, commit,
			"RefNotFound", "no branch main"
		return s
	}
	publishedAt := func(second int64) []v1beta1.WebsiteRelease {
		return []v1beta1.WebsiteRelease{{Commit: commitB, PublishedTime: metav1.Unix(12, 0)},
			{Commit: commitA, PublishedTime: metav1.Unix(second, 0)}}
	}
	tests := map[string]struct {
		sync      *v1beta1.WebsiteSyncStatus
		history   []v1beta1.WebsiteRelease
		requested int64
		commit    string
		completed bool
		want      string
	}{
		"none":              {requested: 10},
		"pending":           {sync: sync("", 9, 9), requested: 10},
		"running":           {sync: sync("", 10, 9), requested: 10},
		"lost by a restore": {sync: completedWith(v1beta1.SyncSucceeded, commitB), requested: 11},
		"an earlier one":    {sync: sync("", 9, 9), requested: 8, completed: true},
		"newest":            {sync: completedWith(v1beta1.SyncSucceeded, commitB), requested: 10, completed: true},
		"commit served": {sync: completedWith(v1beta1.SyncSucceeded, commitB), requested: 10, commit: commitB,
			completed: true},
		"commit served in between": {sync: completedWith(v1beta1.SyncSucceeded, commitB), history: publishedAt(9),
			requested: 9, commit: commitA, completed: true},
		"commit served long before": {sync: completedWith(v1beta1.SyncSucceeded, commitB), history: publishedAt(8),
			requested: 9, commit: commitA, completed: true, want: "CommitNotPublished all pods serve " + commitB},
		"commit was left out": {sync: completedWith(v1beta1.SyncSucceeded, commitB), requested: 9, commit: commitA,
			completed: true, want: "CommitNotPublished all pods serve " + commitB},
		"the controller knows best": {sync: func() *v1beta1.WebsiteSyncStatus {
			s := sync(commitA, 10, 10)
			s.LastCompleted.Commit = commitB
			return s
		}(), requested: 10, commit: commitA, completed: true},
		"failed": {sync: completedWith(v1beta1.SyncFailed, ""), requested: 10, completed: true,
			want: "RefNotFound no branch main"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWebsite(func(w *website.Website) { w.Status.Sync, w.Status.History = test.sync, test.history })
			completed, err := SyncOutcome(w, v1beta1.WebsiteSyncRecord{ID: test.requested, Time: metav1.Unix(test.requested, 0)},
				test.commit)
			if completed != test.completed || (err == nil) != (test.want == "") {
				t.Fatalf("completed = %t (%v), want %t %q", completed, err, test.completed, test.want)
			}
			if err == nil {
				return
			}
			status := err.(apierrors.APIStatus).Status()
			reason, message, _ := strings.Cut(test.want, " ")
			if status.Code != http.StatusUnprocessableEntity || apierrors.IsConflict(err) ||
				!apierrors.HasStatusCause(err, metav1.CauseType(reason)) || !strings.HasSuffix(status.Message, message) {
				t.Errorf("status = %+v, want 422 with cause %s and %q", status, reason, message)
			}
		})
	}
}

// TestSyncStrategyChangesTheRequestOnly: a user with permission to request a sync can change
// nothing else.
func TestSyncStrategyChangesTheRequestOnly(t *testing.T) {
	old := newWebsite(withRequest)
	updated := newWebsite(func(w *website.Website) {
		w.Spec.Suspend, w.Labels, w.Status.ReadyReplicas, w.ResourceVersion = new(true), nil, 9, "8"
		w.Status.Sync = sync(commitA, 0, 0)
	})
	NewSyncStrategy(newStrategy(t)).PrepareForUpdate(requestContext("v1beta1", "sync"), updated, old)
	want := old.DeepCopy()
	want.Status.Sync, want.ResourceVersion = sync(commitA, 0, 0), "8"
	if !apiequality.Semantic.DeepEqual(want, updated) {
		t.Errorf("updated = %+v, want %+v", updated, want)
	}
}

func TestRollBack(t *testing.T) {
	releases := func(commits ...string) []v1beta1.WebsiteRelease {
		var history []v1beta1.WebsiteRelease
		for _, commit := range commits {
			history = append(history, v1beta1.WebsiteRelease{Commit: commit})
		}
		return history
	}
	tests := map[string]struct {
		served  string
		unready bool
		history []v1beta1.WebsiteRelease
		pin     string
		commit  string
		want    string
	}{
		"repeated while some pods serve it": {served: "", history: releases(commitB, commitA), pin: commitA, want: commitA},
		"pinned to a commit that was never served": {served: "", history: releases(commitB, commitA),
			pin: strings.Repeat("c", 40), want: commitB},
		"repeated when all pods serve it": {served: commitA, history: releases(commitA, commitB, commitA),
			pin: commitA, want: commitB},
		"the release before":           {served: commitB, history: releases(commitB, commitA), want: commitA},
		"published twice":              {served: commitB, history: releases(commitB, commitB, commitA), want: commitA},
		"forward again":                {served: commitA, history: releases(commitA, commitB, commitA), want: commitB},
		"while a new one is published": {served: "", history: releases(commitB, commitA), want: commitB},
		"a commit":                     {served: commitB, history: releases(commitB), commit: commitA, want: commitA},
		"nothing before":               {served: commitB, history: releases(commitB)},
		"nothing at all":               {},
		"no pod is ready":              {unready: true, history: releases(commitB, commitA), want: commitA},
		"no pod of the pin is ready": {unready: true, history: releases(commitB, commitA),
			pin: commitB, want: commitA},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWebsite(func(w *website.Website) {
				w.Spec.Pin, w.Status.Commit, w.Status.History = pinTo(test.pin), test.served, test.history
				if !test.unready {
					w.Status.ReadyReplicas = 1
				}
			})
			err := RollBack(w, test.commit)
			if w.Spec.PinnedCommit() != test.want || (test.want == "") != apierrors.HasStatusCause(err, "NoOtherRelease") {
				t.Errorf("pin = %q (%v), want %q", w.Spec.PinnedCommit(), err, test.want)
			}
		})
	}
}

// TestRollBackOfASuspendedWebsite: the pin is the user's, and stays when the Website is resumed.
func TestRollBackOfASuspendedWebsite(t *testing.T) {
	for _, commit := range []string{commitA, commitB, ""} {
		w := newWebsite(func(w *website.Website) {
			w.Spec.Suspend, w.Status.Commit, w.Status.ReadyReplicas = new(true), commitB, 1
			w.Spec.Pin = &v1beta1.WebsitePin{Commit: commitB, Cause: v1beta1.PinCauseSuspend}
			w.Status.History = []v1beta1.WebsiteRelease{{Commit: commitB}, {Commit: commitA}}
		})
		want := v1beta1.WebsitePin{Commit: cmp.Or(commit, commitA)}
		if err := RollBack(w, commit); err != nil || *w.Spec.Pin != want {
			t.Errorf("rolled back to %q: pin = %+v (%v), want %+v", commit, *w.Spec.Pin, err, want)
		}
	}
}

// TestRollBackTakesThePinOver: the former manager of the pin gets a conflict, and keeps
// its other fields.
func TestRollBackTakesThePinOver(t *testing.T) {
	entry := func(manager string, operation metav1.ManagedFieldsOperationType, subresource,
		fields string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: manager, Operation: operation, Subresource: subresource,
			APIVersion: "mycontroller.nevermosby.io/v1beta1", FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields)}
	}
	w := newWebsite(func(w *website.Website) {
		w.ManagedFields = []metav1.ManagedFieldsEntry{
			entry("gitops", metav1.ManagedFieldsOperationApply, "",
				`{"f:spec":{"f:pin":{"f:commit":{}},"f:source":{"f:git":{"f:repository":{}}}}}`),
			entry("kubectl-patch", metav1.ManagedFieldsOperationUpdate, "", `{"f:spec":{"f:pin":{".":{},"f:commit":{}}}}`),
			entry("desk", metav1.ManagedFieldsOperationUpdate, "rollback", `{"f:spec":{"f:pin":{"f:commit":{}}}}`),
			entry("website-controller", metav1.ManagedFieldsOperationUpdate, "status", `{"f:status":{"f:commit":{}}}`),
		}
	})
	scheme := runtime.NewScheme()
	if err := install.Install(scheme); err != nil {
		t.Fatal(err)
	}
	pins, err := NewPinManager(scheme)
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct{ commit, manager, want string }{
		"the manager of a request": {commit: commitA, manager: "desk",
			want: `desk Update rollback {"f:spec":{"f:pin":{".":{},"f:commit":{}}}}
gitops Apply  {"f:spec":{"f:source":{"f:git":{"f:repository":{}}}}}
website-controller Update status {"f:status":{"f:commit":{}}}`},
		"no manager": {commit: commitA, want: `gitops Apply  {"f:spec":{"f:source":{"f:git":{"f:repository":{}}}}}
website-apiserver Update rollback {"f:spec":{"f:pin":{".":{},"f:commit":{}}}}
website-controller Update status {"f:status":{"f:commit":{}}}`},
		"nothing changes": {manager: "desk", want: `desk Update rollback {"f:spec":{"f:pin":{"f:commit":{}}}}
gitops Apply  {"f:spec":{"f:pin":{"f:commit":{}},"f:source":{"f:git":{"f:repository":{}}}}}
kubectl-patch Update  {"f:spec":{"f:pin":{".":{},"f:commit":{}}}}
website-controller Update status {"f:status":{"f:commit":{}}}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			updated := w.DeepCopy()
			if test.commit != "" {
				if err := RollBack(updated, test.commit); err != nil {
					t.Fatal(err)
				}
			}
			var got []string
			for _, e := range pins.Record(w.DeepCopy(), updated, test.manager).(*website.Website).ManagedFields {
				got = append(got, e.Manager+" "+string(e.Operation)+" "+e.Subresource+" "+e.FieldsV1.GetRawString())
			}
			slices.Sort(got)
			want := strings.Split(test.want, "\n")
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Errorf("managed fields:\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		})
	}
}

// pinTo returns a pin; nil without a commit.
func pinTo(commit string) *v1beta1.WebsitePin {
	if commit == "" {
		return nil
	}
	return &v1beta1.WebsitePin{Commit: commit}
}
