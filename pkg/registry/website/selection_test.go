package website

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apiserver/pkg/storage"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
)

func TestSelection(t *testing.T) {
	tests := map[string]struct {
		labels, fields string
		want           bool
	}{
		"everything":    {want: true},
		"its label":     {labels: "team=blue", want: true},
		"another label": {labels: "team=red"},
		"its name":      {fields: "metadata.name=kubia,metadata.namespace=default", want: true},
		"another name":  {fields: "metadata.name=other"},

		"its deployment":       {fields: "spec.deploymentName=kubia-website", want: true},
		"another deployment":   {fields: "spec.deploymentName=other"},
		"its repository":       {fields: "spec.source.git.repository=https://example.com/site.git", want: true},
		"another repository":   {fields: "spec.source.git.repository!=https://example.com/site.git"},
		"its readiness":        {fields: "status.ready=True", want: true},
		"another readiness":    {fields: "status.ready!=True"},
		"its commit":           {fields: "status.commit=0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a", want: true},
		"no commit":            {fields: "status.commit="},
		"deployment and label": {labels: "team=blue", fields: "spec.deploymentName=kubia-website", want: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			label, err := labels.Parse(test.labels)
			if err != nil {
				t.Fatal(err)
			}
			field, err := fields.ParseSelector(test.fields)
			if err != nil {
				t.Fatal(err)
			}
			predicate := MatchWebsite(label, field)
			got, err := predicate.Matches(
				newWebsite(conditionReady, func(w *website.Website) { w.Status.Commit = strings.Repeat("0a", 20) }),
			)
			if err != nil {
				t.Fatal(err)
			}
			if got != test.want {
				t.Errorf("selected = %t, want %t", got, test.want)
			}
		})
	}
	if _, _, err := GetAttrs(&metav1.Status{}); err == nil {
		t.Error("a Status was taken for a Website")
	}
}

// TestReadinessWithoutACondition: status.ready is Unknown for a Website without a Ready
// condition, such as an older one.
func TestReadinessWithoutACondition(t *testing.T) {
	_, selectable, err := GetAttrs(newWebsite())
	if err != nil || selectable["status.ready"] != "Unknown" {
		t.Errorf("status.ready = %q (%v), want Unknown", selectable["status.ready"], err)
	}
}

// TestIndexesMatchFields fails when an index or trigger disagrees with its
// field: lists and watches from the watch cache would then miss objects.
func TestIndexesMatchFields(t *testing.T) {
	w := newWebsite()
	_, selectable, err := GetAttrs(w)
	if err != nil {
		t.Fatal(err)
	}
	indexers, predicate := *Indexers(), MatchWebsite(labels.Everything(), fields.Everything())
	// MatchHost uses one more index: spec.hosts.
	if len(indexers) != len(predicate.IndexFields)+1 {
		t.Errorf("%d indexers for the fields %v", len(indexers), predicate.IndexFields)
	}
	for _, field := range predicate.IndexFields {
		index, ok := indexers[storage.FieldIndex(field)]
		if !ok {
			t.Fatalf("no indexer for %s", field)
		}
		values, err := index(w)
		if err != nil || !slices.Equal(values, []string{selectable[field]}) {
			t.Errorf("index of %s = %v (%v), want %q", field, values, err, selectable[field])
		}
		if _, err := index(&metav1.Status{}); err == nil {
			t.Errorf("a Status was indexed by %s", field)
		}
	}
	for field, trigger := range Triggers() {
		if got := trigger(w); got != selectable[field] {
			t.Errorf("trigger of %s = %q, want %q", field, got, selectable[field])
		}
		if got := trigger(&website.WebsiteList{}); got != "" {
			t.Errorf("trigger of %s for a list = %q, want nothing", field, got)
		}
	}
}

// TestMatchHost: the index and the predicate agree on each host of a Website.
func TestMatchHost(t *testing.T) {
	w := newWebsite(hosts("a.example.com", "*.example.com"))
	index := (*Indexers())[storage.FieldIndex("spec.hosts")]
	for host, want := range map[string]bool{"a.example.com": true, "*.example.com": true, "b.example.com": false} {
		predicate := MatchHost(host)
		if matches, err := predicate.Matches(w); err != nil || !matches {
			t.Errorf("%s: a Website in the index is not selected (%v)", host, err)
		}
		if values := predicate.MatcherIndex(t.Context()); len(values) != 1 ||
			values[0].IndexName != storage.FieldIndex("spec.hosts") || values[0].Value != host {
			t.Errorf("%s is looked up by %v, want the index of hosts", host, values)
		}
		if values, err := index(w); err != nil || slices.Contains(values, host) != want {
			t.Errorf("the index has %v (%v) for %s", values, err, host)
		}
	}
	if _, err := index(&metav1.Status{}); err == nil {
		t.Error("a Status was indexed")
	}
}
