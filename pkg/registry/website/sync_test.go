package website

import (
	"net/http"
	"strings"
	"testing"
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
)

var commitA, commitB = strings.Repeat("0a", 20), strings.Repeat("0b", 20)

// sync returns a request of second 10 for a commit, which was started and completed as
// far as the times are not 0.
func sync(commit string, started, completed int64) *website.WebsiteSyncStatus {
	s := &website.WebsiteSyncStatus{RequestedTime: at(10), RequestedBy: "first", Commit: commit}
	if started != 0 {
		s.StartedTime = new(at(started))
	}
	if completed != 0 {
		s.Completed = &website.WebsiteSyncCompletion{RequestedTime: at(completed), Result: website.SyncSucceeded}
	}
	return s
}

func TestRecordSync(t *testing.T) {
	tests := map[string]struct {
		stored *website.WebsiteSyncStatus
		commit string
		now    int64
		// want is the recorded request; the stored one if it is joined.
		joined     bool
		wantCommit string
		wantTime   time.Time
	}{
		"first":                           {now: 20, wantTime: at(20).Time},
		"pending":                         {stored: sync("", 0, 0), now: 20, joined: true},
		"commit joins the newest":         {stored: sync("", 0, 0), commit: commitA, now: 20, joined: true},
		"same commit":                     {stored: sync(commitA, 0, 0), commit: commitA, now: 20, joined: true, wantCommit: commitA},
		"newest widens a commit":          {stored: sync(commitA, 0, 0), now: 20, wantTime: at(20).Time},
		"another commit widens":           {stored: sync(commitA, 0, 0), commit: commitB, now: 20, wantTime: at(20).Time},
		"started, so what it fetches may": {stored: sync("", 10, 0), now: 20, wantTime: at(20).Time},
		"an earlier one was started":      {stored: sync("", 9, 9), now: 20, joined: true},
		"completed":                       {stored: sync("", 10, 10), commit: commitA, now: 20, wantCommit: commitA, wantTime: at(20).Time},
		"clock of another replica":        {stored: sync("", 10, 0), now: 5, wantTime: at(10).Add(time.Microsecond)},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			status := website.WebsiteStatus{Sync: test.stored.DeepCopy()}
			RecordSync(&status, test.commit, "second", time.Unix(test.now, 123))
			by, requested := "second", test.wantTime
			if test.joined {
				by, requested = "first", at(10).Time
			}
			got := status.Sync
			if got.RequestedBy != by || got.Commit != test.wantCommit || !got.RequestedTime.Time.Equal(requested) {
				t.Errorf("recorded %+v, want a request by %s at %s for %q", got, by, requested, test.wantCommit)
			}
			if test.stored != nil && (got.StartedTime == nil) != (test.stored.StartedTime == nil) {
				t.Errorf("started = %v, want %v", got.StartedTime, test.stored.StartedTime)
			}
		})
	}
	t.Run("long name", func(t *testing.T) {
		var status website.WebsiteStatus
		RecordSync(&status, "", strings.Repeat("é", 2000), time.Unix(1, 0))
		if status.Sync.RequestedBy != strings.Repeat("é", 1024) {
			t.Errorf("requestedBy has %d bytes, want 1024 characters", len(status.Sync.RequestedBy))
		}
	})
}

func TestSyncState(t *testing.T) {
	failed := sync("", 10, 10)
	failed.Completed.Result = website.SyncFailed
	tests := map[website.SyncState]*website.WebsiteSyncStatus{
		website.SyncStateNone:      nil,
		website.SyncStatePending:   sync("", 9, 9),
		website.SyncStateRunning:   sync("", 10, 9),
		website.SyncStateSucceeded: sync("", 10, 10),
		website.SyncStateFailed:    failed,
	}
	for want, stored := range tests {
		if got := SyncStateOf(stored); got != want {
			t.Errorf("state of %+v = %s, want %s", stored, got, want)
		}
	}
}

func TestSyncOutcome(t *testing.T) {
	completedWith := func(result website.SyncResult, commit string) *website.WebsiteSyncStatus {
		s := sync("", 10, 10)
		s.Completed.Result, s.Completed.Commit, s.Completed.Reason, s.Completed.Message = result, commit, "RefNotFound", "no branch main"
		return s
	}
	publishedAt := func(second int64) []website.WebsiteRelease {
		return []website.WebsiteRelease{{Commit: commitB, PublishedTime: metav1.Unix(12, 0)}, {Commit: commitA, PublishedTime: metav1.Unix(second, 0)}}
	}
	tests := map[string]struct {
		sync      *website.WebsiteSyncStatus
		history   []website.WebsiteRelease
		requested int64
		commit    string
		completed bool
		want      string
	}{
		"none":                      {requested: 10},
		"pending":                   {sync: sync("", 9, 9), requested: 10},
		"running":                   {sync: sync("", 10, 9), requested: 10},
		"an earlier one":            {sync: sync("", 9, 9), requested: 8, completed: true},
		"newest":                    {sync: completedWith(website.SyncSucceeded, commitB), requested: 10, completed: true},
		"commit served":             {sync: completedWith(website.SyncSucceeded, commitB), requested: 10, commit: commitB, completed: true},
		"commit served in between":  {sync: completedWith(website.SyncSucceeded, commitB), history: publishedAt(9), requested: 9, commit: commitA, completed: true},
		"commit served long before": {sync: completedWith(website.SyncSucceeded, commitB), history: publishedAt(8), requested: 9, commit: commitA, completed: true, want: "CommitNotPublished all pods serve " + commitB},
		"commit was left out":       {sync: completedWith(website.SyncSucceeded, commitB), requested: 9, commit: commitA, completed: true, want: "CommitNotPublished all pods serve " + commitB},
		"the controller knows best": {sync: func() *website.WebsiteSyncStatus { s := sync(commitA, 10, 10); s.Completed.Commit = commitB; return s }(), requested: 10, commit: commitA, completed: true},
		"failed":                    {sync: completedWith(website.SyncFailed, ""), requested: 10, completed: true, want: "RefNotFound no branch main"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWebsite(func(w *website.Website) { w.Status.Sync, w.Status.History = test.sync, test.history })
			completed, err := SyncOutcome(w, at(test.requested), test.commit)
			if completed != test.completed || (err == nil) != (test.want == "") {
				t.Fatalf("completed = %t (%v), want %t %q", completed, err, test.completed, test.want)
			}
			if err == nil {
				return
			}
			status := err.(apierrors.APIStatus).Status()
			reason, message, _ := strings.Cut(test.want, " ")
			if status.Code != http.StatusConflict || string(status.Reason) != reason || !strings.HasSuffix(status.Message, message) {
				t.Errorf("status = %+v, want 409 %s with %q", status, reason, message)
			}
		})
	}
}

// TestSyncStrategyChangesTheRequestOnly: whoever may request a sync may do nothing else.
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

func TestFieldManager(t *testing.T) {
	tests := map[string]struct{ manager, agent, want string }{
		"named":                                {manager: "desk", agent: "curl/8", want: "desk"},
		"curl":                                 {agent: "curl/8.1", want: "curl"},
		"no agent":                             {want: "unknown"},
		"escapes":                              {agent: "a\x1b\nb/1", want: "ab"},
		"long":                                 {agent: strings.Repeat("a", 200), want: strings.Repeat("a", 128)},
		"long, with characters of three bytes": {agent: strings.Repeat("\u7f51", 50), want: strings.Repeat("\u7f51", 42)},
	}
	for name, test := range tests {
		if got := FieldManager(test.manager, test.agent); got != test.want {
			t.Errorf("%s: manager = %q, want %q", name, got, test.want)
		}
	}
}

func TestRollBack(t *testing.T) {
	releases := func(commits ...string) []website.WebsiteRelease {
		var history []website.WebsiteRelease
		for _, commit := range commits {
			history = append(history, website.WebsiteRelease{Commit: commit})
		}
		return history
	}
	tests := map[string]struct {
		served  string
		unready bool
		history []website.WebsiteRelease
		pin     string
		commit  string
		want    string
	}{
		"repeated while some pods serve it": {served: "", history: releases(commitB, commitA), pin: commitA, want: commitA},
		"pinned to what was never served":   {served: "", history: releases(commitB, commitA), pin: strings.Repeat("c", 40), want: commitB},
		"repeated when all pods serve it":   {served: commitA, history: releases(commitA, commitB, commitA), pin: commitA, want: commitB},
		"the release before":                {served: commitB, history: releases(commitB, commitA), want: commitA},
		"published twice":                   {served: commitB, history: releases(commitB, commitB, commitA), want: commitA},
		"forward again":                     {served: commitA, history: releases(commitA, commitB, commitA), want: commitB},
		"while a new one is published":      {served: "", history: releases(commitB, commitA), want: commitB},
		"a commit":                          {served: commitB, history: releases(commitB), commit: commitA, want: commitA},
		"nothing before":                    {served: commitB, history: releases(commitB)},
		"nothing at all":                    {},
		"no pod is ready":                   {unready: true, history: releases(commitB, commitA), want: commitA},
		"no pod of the pin is ready":        {unready: true, history: releases(commitB, commitA), pin: commitB, want: commitA},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWebsite(func(w *website.Website) {
				w.Spec.Pin, w.Status.Commit, w.Status.History = pinTo(test.pin), test.served, test.history
				if !test.unready {
					w.Status.ReadyReplicas = 1
				}
			})
			err := RollBack(w, test.commit, "desk", time.Unix(1, 0))
			if w.Spec.PinnedCommit() != test.want || (test.want == "") != apierrors.IsConflict(err) {
				t.Errorf("pin = %q (%v), want %q", w.Spec.PinnedCommit(), err, test.want)
			}
		})
	}
}

// TestRollBackOfASuspendedWebsite: it would change nothing that is served.
func TestRollBackOfASuspendedWebsite(t *testing.T) {
	w := newWebsite(func(w *website.Website) {
		w.Spec.Suspend, w.Status.Commit = new(true), commitB
		w.Status.History = []website.WebsiteRelease{{Commit: commitB}, {Commit: commitA}}
	})
	if err := RollBack(w, "", "desk", time.Unix(1, 0)); !apierrors.IsConflict(err) || w.Spec.Pin != nil {
		t.Errorf("pin = %q (%v), want a conflict", w.Spec.PinnedCommit(), err)
	}
}

// TestRollBackTakesThePinOver: who applied the pin before must be told of the conflict,
// and keeps its other fields.
func TestRollBackTakesThePinOver(t *testing.T) {
	entry := func(manager string, operation metav1.ManagedFieldsOperationType, subresource, fields string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: manager, Operation: operation, Subresource: subresource, APIVersion: "mycontroller.nevermosby.io/v1beta1", FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields)}
	}
	w := newWebsite(func(w *website.Website) {
		w.ManagedFields = []metav1.ManagedFieldsEntry{
			entry("gitops", metav1.ManagedFieldsOperationApply, "", `{"f:spec":{"f:pin":{"f:commit":{}},"f:source":{"f:git":{"f:repository":{}}}}}`),
			entry("kubectl-patch", metav1.ManagedFieldsOperationUpdate, "", `{"f:spec":{"f:pin":{".":{},"f:commit":{}}}}`),
			entry("desk", metav1.ManagedFieldsOperationUpdate, "rollback", `{"f:spec":{"f:pin":{"f:commit":{}}}}`),
			entry("website-controller", metav1.ManagedFieldsOperationUpdate, "status", `{"f:status":{"f:commit":{}}}`),
		}
	})
	if err := RollBack(w, commitA, "desk", time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range w.ManagedFields {
		got = append(got, e.Manager+" "+string(e.Operation)+" "+e.Subresource+" "+e.FieldsV1.GetRawString())
	}
	want := `gitops Apply  {"f:spec":{"f:source":{"f:git":{"f:repository":{}}}}}
website-controller Update status {"f:status":{"f:commit":{}}}
desk Update rollback {"f:spec":{"f:pin":{".":{},"f:commit":{}}}}`
	if strings.Join(got, "\n") != want {
		t.Errorf("managed fields:\n%s\nwant\n%s", strings.Join(got, "\n"), want)
	}
}

// pinTo returns a pin; nil without a commit.
func pinTo(commit string) *website.WebsitePin {
	if commit == "" {
		return nil
	}
	return &website.WebsitePin{Commit: commit}
}
