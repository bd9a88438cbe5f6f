package website

import (
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testingclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

func TestTable(t *testing.T) {
	now := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	convertor := NewTableConvertor(testingclock.NewFakePassiveClock(now))
	created := func(age time.Duration) func(*website.Website) {
		return func(w *website.Website) { w.CreationTimestamp = metav1.NewTime(now.Add(-age)) }
	}

	cells := func(ready, url, commit, age, ref string) []any {
		return []any{"kubia", ready, url, commit, "<none>", "<none>", age, "https://example.com/site.git", ref,
			"kubia-website", "<none>"}
	}
	status := func(tweak func(*v1beta1.WebsiteStatus)) func(*website.Website) {
		return func(w *website.Website) { tweak(&w.Status) }
	}
	commit := strings.Repeat("0123456789", 4)

	tests := map[string]struct {
		website *website.Website
		want    []any
	}{
		"ready": {website: newWebsite(created(3 * time.Hour)), want: cells("2/2", "<none>", "<none>", "3h", "HEAD")},
		"coming up": {
			website: newWebsite(created(5*time.Second), status(func(s *v1beta1.WebsiteStatus) { s.AvailableReplicas = 0 })),
			want:    cells("0/2", "<none>", "<none>", "5s", "HEAD"),
		},
		"taken down": {
			website: newWebsite(created(48*time.Hour),
				func(w *website.Website) { w.Spec.Replicas = ptr.To[int32](0); w.Status.AvailableReplicas = 0 }),
			want: cells("0/0", "<none>", "<none>", "2d", "HEAD"),
		},
		"suspended: its pods keep running": {
			website: newWebsite(created(time.Minute), func(w *website.Website) { w.Spec.Suspend = new(true) }),
			want:    cells("2/2", "<none>", "<none>", "60s", "HEAD"),
		},
		"not yet kept": {website: newWebsite(), want: cells("2/2", "<none>", "<none>", "<unknown>", "HEAD")},
		"on a node port": {
			website: newWebsite(status(func(s *v1beta1.WebsiteStatus) { s.NodePort = 30080 })),
			want:    cells("2/2", ":30080", "<none>", "<unknown>", "HEAD"),
		},
		"at its addresses": {
			website: newWebsite(status(func(s *v1beta1.WebsiteStatus) {
				s.NodePort, s.URLs = 30080, []string{"http://192.0.2.1:30080", "http://192.0.2.2:30080"}
			})),
			want: cells("2/2", "http://192.0.2.1:30080", "<none>", "<unknown>", "HEAD"),
		},
		"of one commit": {website: newWebsite(status(func(s *v1beta1.WebsiteStatus) { s.Commit = commit })),
			want: cells("2/2", "<none>", "0123456", "<unknown>", "HEAD")},
		"that is rolled out": {
			website: newWebsite(status(func(s *v1beta1.WebsiteStatus) {
				s.Conditions = []metav1.Condition{{Type: "Ready", Reason: "Serving"},
					{Type: "Progressing", Reason: "RolloutPending"}}
			})),
			want: append(cells("2/2", "<none>", "<none>", "<unknown>", "HEAD")[:10], "RolloutPending"),
		},
		"of no choice": {website: newWebsite(ref(v1beta1.GitReference{})),
			want: cells("2/2", "<none>", "<none>", "<unknown>", "HEAD")},
		"of a branch": {website: newWebsite(ref(v1beta1.GitReference{Branch: "live"})),
			want: cells("2/2", "<none>", "<none>", "<unknown>", "live")},
		"of a tag": {website: newWebsite(ref(v1beta1.GitReference{Tag: "v1"})),
			want: cells("2/2", "<none>", "<none>", "<unknown>", "v1")},
		"of a commit": {website: newWebsite(ref(v1beta1.GitReference{Commit: commit})),
			want: cells("2/2", "<none>", "<none>", "<unknown>", "0123456")},
		"of a full name": {website: newWebsite(ref(v1beta1.GitReference{Name: "refs/pull/1/head"})),
			want: cells("2/2", "<none>", "<none>", "<unknown>", "refs/pull/1/head")},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			table, err := convertor.ConvertToTable(t.Context(), test.website, nil)
			if err != nil {
				t.Fatal(err)
			}
			if len(table.Rows) != 1 || !slices.Equal(table.Rows[0].Cells, test.want) {
				t.Errorf("rows = %v, want %v", table.Rows, test.want)
			}
		})
	}
}

// TestSyncColumns: the column shows the state of a request that runs or has failed, else the age of the last sync.
func TestSyncColumns(t *testing.T) {
	now := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	ago := func(age time.Duration) metav1.Time { return metav1.NewTime(now.Add(-age)) }
	request := func(started, completed bool, result v1beta1.SyncResult) *v1beta1.WebsiteSyncStatus {
		s := &v1beta1.WebsiteSyncStatus{LastRequest: v1beta1.WebsiteSyncRecord{ID: 1, Time: ago(time.Minute)}}
		if started {
			s.StartedID = 1
		}
		if completed {
			s.LastCompleted = &v1beta1.WebsiteSyncCompletion{ID: 1, Time: ago(50 * time.Second), Result: result}
		}
		return s
	}
	released := func(age time.Duration) []v1beta1.WebsiteRelease {
		return []v1beta1.WebsiteRelease{{PublishedTime: metav1.NewTime(now.Add(-age))},
			{PublishedTime: metav1.NewTime(now.Add(-24 * time.Hour))}}
	}
	tests := map[string]struct {
		sync    *v1beta1.WebsiteSyncStatus
		history []v1beta1.WebsiteRelease
		pin     string
		want    []any
	}{
		"nothing":   {want: []any{"<none>", "<none>"}},
		"published": {history: released(3 * time.Hour), want: []any{"3h", "<none>"}},
		"nothing new to publish": {history: released(3 * time.Hour), sync: request(true, true, v1beta1.SyncSucceeded),
			want: []any{"50s", "<none>"}},
		"published since": {history: released(9 * time.Second), sync: request(true, true, v1beta1.SyncSucceeded),
			want: []any{"9s", "<none>"}},
		"pending": {history: released(time.Hour), sync: request(false, false, ""),
			want: []any{"Pending", "<none>"}},
		"running": {sync: request(true, false, ""), want: []any{"Running", "<none>"}},
		"failed, published since": {history: released(0), sync: request(true, true, v1beta1.SyncFailed),
			want: []any{"0s", "<none>"}},
		"failed": {history: released(time.Hour), sync: request(true, true, v1beta1.SyncFailed),
			want: []any{"Failed", "<none>"}},
		"pinned, published by it": {history: released(2 * time.Second), pin: strings.Repeat("0123456789", 4),
			want: []any{"2s", "0123456"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWebsite(func(w *website.Website) {
				w.Status.Sync, w.Status.History, w.Spec.Pin = test.sync, test.history, pinTo(test.pin)
			})
			table, err := NewTableConvertor(testingclock.NewFakePassiveClock(now)).ConvertToTable(t.Context(), w, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := table.Rows[0].Cells[4:6]; !slices.Equal(got, test.want) {
				t.Errorf("columns Sync and Pinned = %v, want %v", got, test.want)
			}
		})
	}
}

func TestTableOfAList(t *testing.T) {
	convertor := NewTableConvertor(testingclock.NewFakePassiveClock(time.Now()))
	list := &website.WebsiteList{
		ListMeta: metav1.ListMeta{ResourceVersion: "12", Continue: "more", RemainingItemCount: ptr.To[int64](5)},
		Items:    []website.Website{*newWebsite(), *newWebsite(func(w *website.Website) { w.Name = "second" })},
	}
	table, err := convertor.ConvertToTable(t.Context(), list, &metav1.TableOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if table.ResourceVersion != "12" || table.Continue != "more" || ptr.Deref(table.RemainingItemCount, 0) != 5 {
		t.Errorf("list metadata = %+v: paging is lost", table.ListMeta)
	}
	if len(table.Rows) != 2 || table.Rows[1].Cells[0] != "second" {
		t.Errorf("rows = %v, want kubia and second", table.Rows)
	}
	var shown, wide []string
	for _, column := range table.ColumnDefinitions {
		if column.Priority == 0 {
			shown = append(shown, column.Name)
		}
		wide = append(wide, column.Name)
	}
	if want := []string{"Name", "Ready", "URL", "Commit", "Sync", "Pinned", "Age"}; !slices.Equal(shown, want) {
		t.Errorf("columns = %v, want %v", shown, want)
	}
	if want := []string{"Name", "Ready", "URL", "Commit", "Sync", "Pinned", "Age", "Repo", "Ref", "Deployment",
		"Rollout"}; !slices.Equal(wide, want) {
		t.Errorf("wide columns = %v, want %v", wide, want)
	}

	table, err = convertor.ConvertToTable(t.Context(), list, &metav1.TableOptions{NoHeaders: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(table.ColumnDefinitions) != 0 {
		t.Errorf("NoHeaders left %d headers", len(table.ColumnDefinitions))
	}
}

// TestObjectsOfRows: a client that requests whole Websites gets them, others their metadata
// without managed fields.
func TestObjectsOfRows(t *testing.T) {
	w := newWebsite(func(w *website.Website) {
		w.Labels = map[string]string{"team": "a"}
		w.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}
	})
	tests := map[string]struct {
		include metav1.IncludeObjectPolicy
		whole   bool
	}{
		"by default": {},
		"metadata":   {include: metav1.IncludeMetadata},
		"whole":      {include: metav1.IncludeObject, whole: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			table, err := NewTableConvertor(testingclock.NewFakePassiveClock(time.Now())).ConvertToTable(t.Context(), w,
				&metav1.TableOptions{IncludeObject: test.include})
			if err != nil {
				t.Fatal(err)
			}
			object, err := meta.Accessor(table.Rows[0].Object.Object)
			if err != nil {
				t.Fatal(err)
			}
			if _, whole := object.(*website.Website); whole != test.whole || (len(object.GetManagedFields()) > 0) != test.whole {
				t.Errorf("the row has a %T with %d managed fields", object, len(object.GetManagedFields()))
			}
			if object.GetName() != w.Name || object.GetLabels()["team"] != "a" || len(w.ManagedFields) != 1 {
				t.Errorf("the row has %+v of %+v", object, w)
			}
		})
	}
}

func TestTableOfSomethingElse(t *testing.T) {
	convertor := NewTableConvertor(testingclock.NewFakePassiveClock(time.Now()))
	if _, err := convertor.ConvertToTable(t.Context(), &metav1.Status{}, nil); err == nil {
		t.Error("a Status was shown as a Website")
	}
}
