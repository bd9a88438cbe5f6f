package status

import (
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// TestStatusWithoutStatus: a backup may restore a Website and its children without a status.
// Observable values are reported again, and docs/backup.md states this for each field.
func TestStatusWithoutStatus(t *testing.T) {
	in := newInput(func(in *Input) {
		in.Website.Status = v1beta1.WebsiteStatus{}
		in.PodSelector = map[string]string{"a": "b"}
	})
	got := Compute(in)
	if got.ObservedGeneration != 2 || len(got.Conditions) == 0 || got.Selector != "a=b" ||
		got.Replicas != 2 || got.UpdatedReplicas != 2 || got.ReadyReplicas != 2 || got.AvailableReplicas != 2 {
		t.Errorf("the status is %+v", got)
	}
	if got.Commit != commitA || got.NodePort != 30080 || len(got.URLs) == 0 {
		t.Errorf("the commit is %q, the node port %d, and the URLs are %q", got.Commit, got.NodePort, got.URLs)
	}
	if len(got.History) != 1 || got.History[0].Commit != commitA || got.Sync != nil {
		t.Errorf("the history is %+v, and sync %+v", got.History, got.Sync)
	}

	page, err := os.ReadFile("../../../../docs/backup.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## What becomes of the status\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var documented []string
	for line := range strings.Lines(section) {
		if cells := strings.Split(line, "|"); len(cells) > 1 {
			documented = append(documented, strings.Split(strings.Trim(cells[1], " "), ", ")...)
		}
	}
	fields := reflect.TypeFor[v1beta1.WebsiteStatus]()
	for i := range fields.NumField() {
		name, _, _ := strings.Cut(fields.Field(i).Tag.Get("json"), ",")
		if !slices.Contains(documented, "`"+name+"`") {
			t.Errorf("docs/backup.md has no entry for status.%s", name)
		}
	}
}
