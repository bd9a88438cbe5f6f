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

	tests := map[string]struct {
		website *website.Website
		want    []any
	}{
		"ready":        {website: newWebsite(created(3 * time.Hour)), want: []any{"kubia", "2/2", "https://example.com/site.git", "3h", "kubia-website"}},
		"coming up":    {website: newWebsite(created(5*time.Second), func(w *website.Website) { w.Status.AvailableReplicas = 0 }), want: []any{"kubia", "0/2", "https://example.com/site.git", "5s", "kubia-website"}},
		"taken down":   {website: newWebsite(created(48*time.Hour), func(w *website.Website) { w.Spec.Replicas = ptr.To[int32](0); w.Status.AvailableReplicas = 0 }), want: []any{"kubia", "0/0", "https://example.com/site.git", "2d", "kubia-website"}},
		"not yet kept": {website: newWebsite(), want: []any{"kubia", "2/2", "https://example.com/site.git", "<unknown>", "kubia-website"}},
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
	if want := []string{"Name", "Ready", "Repo", "Age"}; !slices.Equal(shown, want) {
		t.Errorf("columns = %v, want %v", shown, want)
	}
	if want := []string{"Name", "Ready", "Repo", "Age", "Deployment"}; !slices.Equal(wide, want) {
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
