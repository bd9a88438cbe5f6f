package validation

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/branches"
)

func TestValidatePreviews(t *testing.T) {
	path := field.NewPath("spec", "previews")
	for name, test := range map[string]struct {
		patterns []string
		want     string
	}{
		"patterns":        {[]string{"feature/*", "next", "*"}, ""},
		"an empty one":    {[]string{"a", ""}, "spec.previews.branches[1]: Required value"},
		"white space":     {[]string{"a b"}, "spec.previews.branches[0]: Invalid value"},
		"twice":           {[]string{"a", "b", "a"}, "spec.previews.branches[2]: Duplicate value"},
		"letters":         {[]string{"zweig/ä-*", "日本"}, ""},
		"bidirectional":   {[]string{"a\u202eb"}, "spec.previews.branches[0]: Invalid value"},
		"other wildcards": {[]string{"a?"}, "spec.previews.branches[0]: Invalid value"},
	} {
		errs := validatePreviews(&v1beta1.WebsitePreviews{Branches: test.patterns}, path)
		if got := errs.ToAggregate(); (got == nil) != (test.want == "") ||
			got != nil && (len(errs) != 1 || errs[0].Field+": "+errs[0].Type.String() != test.want) {
			t.Errorf("%s: %v, want %q", name, got, test.want)
		}
	}
}

// TestValidateDomain: the domain has the same rules for labels as hosts.
func TestValidateDomain(t *testing.T) {
	path := field.NewPath("spec", "previews")
	for domain, want := range map[string]int{"": 0, "preview.example.com": 0,
		strings.Repeat("a", 64) + ".example.com": 1} {
		errs := validatePreviews(&v1beta1.WebsitePreviews{Branches: []string{"*"}, Domain: domain}, path)
		if len(errs) != want || want == 1 && errs[0].Field != "spec.previews.domain" {
			t.Errorf("%q: %v, want %d errors", domain, errs, want)
		}
	}
}

// TestNoPreviewsOfPreviews: a preview has no previews, whichever client sets the owner.
func TestNoPreviewsOfPreviews(t *testing.T) {
	owner := metav1.OwnerReference{APIVersion: "mycontroller.nevermosby.io/v1alpha1", Kind: "Website", Name: "shop",
		UID: "u", Controller: ptr.To(true)}
	for name, test := range map[string]struct {
		change func(*metav1.OwnerReference)
		want   int
	}{
		"a preview":              {func(*metav1.OwnerReference) {}, 1},
		"owned, not controlled":  {func(o *metav1.OwnerReference) { o.Controller = nil }, 0},
		"controlled by an other": {func(o *metav1.OwnerReference) { o.APIVersion = "example.com/v1" }, 0},
	} {
		w := &website.Website{Spec: v1beta1.WebsiteSpec{Previews: &v1beta1.WebsitePreviews{}}}
		reference := owner
		test.change(&reference)
		w.OwnerReferences = []metav1.OwnerReference{reference}
		if errs := validateNoPreviews(w, field.NewPath("spec", "previews")); len(errs) != test.want {
			t.Errorf("%s: %v, want %d errors", name, errs, test.want)
		}
	}
}

func TestValidatePreviewStatuses(t *testing.T) {
	errs := validatePreviewStatuses([]v1beta1.WebsitePreviewStatus{{Branch: "ä"}, {Branch: "a\x1b", Commit: "b"}},
		field.NewPath("status", "previews"))
	if len(errs) != 3 || errs[0].Field != "status.previews[1].branch" || errs[1].Field != "status.previews[1].commit" ||
		errs[2].Field != "status.previews[1].lastCommitTime" {
		t.Errorf("errors %v", errs)
	}
}

// FuzzBranches: a Website may follow every branch that may have a preview.
func FuzzBranches(f *testing.F) {
	for _, seed := range []string{"main", "feature/a", "-a", "a..b", "a.lock/b", "@", "a/", "ä", "a.", ".a", "a//b", "日本",
		"a b", "a\u202eb", "a\xff"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, branch string) {
		valid := branch != "" && len(branch) <= branches.MaxLength && len(validateRefName(branch, nil)) == 0
		if got := branches.IsValid(branch); got != valid {
			t.Errorf("%q may have a preview: %t, may be followed: %t", branch, got, valid)
		}
	})
}
