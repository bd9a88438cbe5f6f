package website

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testingclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
)

func TestTable(t *testing.T) {
	now := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	convertor := NewTableConvertor(testingclock.NewFakePassiveClock(now))
	created := func(age time.Duration) func(*website.Website) {
		return func(w *website.Website) { w.CreationTimestamp = metav1.NewTime(now.Add(-age)) }
	}

	const commit = "0123456789abcdef0123456789abcdef01234567"
	repo := "https://example.com/site.git"
	ref := func(ref website.GitReference) func(*website.Website) {
		return func(w *website.Website) { w.Spec.Source.Ref = &ref }
	}

	tests := map[string]struct {
		website *website.Website
		want    []any
	}{
		"not yet kept": {website: newWebsite(), want: []any{"kubia", "2/2", "<none>", "<none>", "<unknown>", repo, "HEAD", "kubia-website"}},
		"ready": {
			website: newWebsite(created(3*time.Hour), func(w *website.Website) {
				w.Status.Urls, w.Status.NodePort, w.Status.Commit = []string{"http://10.0.0.1:30080", "http://10.0.0.2:30080"}, 30080, commit
			}),
			want: []any{"kubia", "2/2", "http://10.0.0.1:30080", "0123456", "3h", repo, "HEAD", "kubia-website"},
		},
		"without a URL": {
			website: newWebsite(created(time.Minute), func(w *website.Website) { w.Status.NodePort = 30080 }),
			want:    []any{"kubia", "2/2", ":30080", "<none>", "60s", repo, "HEAD", "kubia-website"},
		},
		"coming up": {
			website: newWebsite(created(5*time.Second), func(w *website.Website) { w.Status.AvailableReplicas = 0 }),
			want:    []any{"kubia", "0/2", "<none>", "<none>", "5s", repo, "HEAD", "kubia-website"},
		},
		"taken down": {
			website: newWebsite(created(48*time.Hour), func(w *website.Website) { w.Spec.Replicas = ptr.To[int32](0); w.Status.AvailableReplicas = 0 }),
			want:    []any{"kubia", "0/0", "<none>", "<none>", "2d", repo, "HEAD", "kubia-website"},
		},
		"suspended": {
			website: newWebsite(created(48*time.Hour), func(w *website.Website) { w.Spec.Suspend = true; w.Status.AvailableReplicas = 0 }),
			want:    []any{"kubia", "0/0", "<none>", "<none>", "2d", repo, "HEAD", "kubia-website"},
		},
		"a branch":        {website: newWebsite(created(0), ref(website.GitReference{Branch: "main"})), want: []any{"kubia", "2/2", "<none>", "<none>", "0s", repo, "main", "kubia-website"}},
		"a tag":           {website: newWebsite(created(0), ref(website.GitReference{Tag: "v1"})), want: []any{"kubia", "2/2", "<none>", "<none>", "0s", repo, "v1", "kubia-website"}},
		"a commit":        {website: newWebsite(created(0), ref(website.GitReference{Commit: commit})), want: []any{"kubia", "2/2", "<none>", "<none>", "0s", repo, "0123456", "kubia-website"}},
		"another ref":     {website: newWebsite(created(0), ref(website.GitReference{Name: "refs/pull/1/head"})), want: []any{"kubia", "2/2", "<none>", "<none>", "0s", repo, "refs/pull/1/head", "kubia-website"}},
		"an empty choice": {website: newWebsite(created(0), ref(website.GitReference{})), want: []any{"kubia", "2/2", "<none>", "<none>", "0s", repo, "HEAD", "kubia-website"}},
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
			if table.Rows[0].Object.Object != test.website {
				t.Error("the row does not carry its Website")
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
	if want := []string{"Name", "Ready", "URL", "Commit", "Age"}; !slices.Equal(shown, want) {
		t.Errorf("columns = %v, want %v", shown, want)
	}
	if want := []string{"Name", "Ready", "URL", "Commit", "Age", "Repo", "Ref", "Deployment"}; !slices.Equal(wide, want) {
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

func TestTableOfSomethingElse(t *testing.T) {
	convertor := NewTableConvertor(testingclock.NewFakePassiveClock(time.Now()))
	if _, err := convertor.ConvertToTable(t.Context(), &metav1.Status{}, nil); err == nil {
		t.Error("a Status was shown as a Website")
	}
}
