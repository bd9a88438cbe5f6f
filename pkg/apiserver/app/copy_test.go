package app

import (
	"strings"
	"testing"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apiserver/backup"
	"github.com/kubesites/website-apiserver/pkg/apiserver/options"
)

// TestCopy makes a store equal to a source several times, and does not change Websites that
// are no copies.
func TestCopy(t *testing.T) {
	dataDir, _ := newStore(t)
	o, err := options.NewOptions()
	if err != nil {
		t.Fatal(err)
	}
	o.DataDir = dataDir
	completed, err := o.Complete()
	if err != nil {
		t.Fatal(err)
	}
	websites, err := storedWebsites(completed)
	if err != nil {
		t.Fatal(err)
	}
	decode := func(document string) *website.Website {
		t.Helper()
		decoded, err := websites.Decode(t.Context(), []byte(strings.TrimPrefix(document, "---\n")))
		if err != nil {
			t.Fatal(err)
		}
		return decoded
	}
	if _, err := websites.Decode(
		t.Context(), []byte(
			strings.TrimPrefix(strings.Replace(document("a", "uid-a"), "https://example.com", "file://", 1), "---\n"),
		),
	); err == nil || !strings.Contains(err.Error(), "spec.source.git.repository") {
		t.Errorf("Decode of an invalid Website = %v", err)
	}

	a, b, c := document("a", "uid-a"), document("b", "uid-b"), document("c", "uid-c")
	for _, round := range []struct {
		name      string
		documents []string
		want      backup.Copied
	}{
		{"first", []string{a, b}, backup.Copied{Created: 2}},
		{"again", []string{a, b}, backup.Copied{}},
		{"one changed, deleted and created", []string{strings.Replace(a, "replicas: 3", "replicas: 4", 1), c},
			backup.Copied{Created: 1, Updated: 1, Deleted: 1}},
		{"created again under its name", []string{strings.Replace(a, "uid-a", "uid-x", 1), c}, backup.Copied{Updated: 1}},
		{
			"without finalizers", []string{strings.Replace(a, "uid-a", "uid-x", 1),
				strings.Replace(c, "[example.com/keep]", "[]", 1)}, backup.Copied{Updated: 1},
		},
	} {
		t.Run(round.name, func(t *testing.T) {
			var objects []*website.Website
			for _, document := range round.documents {
				objects = append(objects, decode(document))
			}
			got, err := websites.Copy(t.Context(), "a source", objects)
			if err != nil || got != round.want {
				t.Errorf("Copy = %+v, %v, want %+v", got, err, round.want)
			}
		})
	}
	if export := exportFile(t, "--data-dir="+dataDir); !strings.Contains(export, "uid: uid-x") ||
		strings.Contains(export, "uid: uid-b") || !strings.Contains(export, "# end: 2 Websites") {
		t.Errorf("the store has\n%s", export)
	}

	if _, err := websites.Copy(t.Context(), "another source", nil); err == nil ||
		!strings.Contains(err.Error(), "no copies of another source") {
		t.Errorf("a copy of another source: %v", err)
	}
	if err := websites.EndCopy(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := websites.Copy(t.Context(), "a source", nil); err == nil ||
		!strings.Contains(err.Error(), "has 2 Websites already") {
		t.Errorf("a copy into a store that is served: %v", err)
	}
}
