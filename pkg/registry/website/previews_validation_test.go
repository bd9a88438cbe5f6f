package website

import (
	"strings"

	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// previewing enables previews of branches.
func previewing(changes ...func(*v1beta1.WebsitePreviews)) func(*website.Website) {
	return func(w *website.Website) {
		w.Spec.Previews = &v1beta1.WebsitePreviews{Branches: []string{"feature/*", "next"}, MaxCount: 5}
		for _, change := range changes {
			change(w.Spec.Previews)
		}
	}
}

func ofBranches(patterns ...string) func(*v1beta1.WebsitePreviews) {
	return func(p *v1beta1.WebsitePreviews) { p.Branches = patterns }
}

func inDomain(domain string) func(*v1beta1.WebsitePreviews) {
	return func(p *v1beta1.WebsitePreviews) { p.Domain = domain }
}

func atMost(count int32) func(*v1beta1.WebsitePreviews) {
	return func(p *v1beta1.WebsitePreviews) { p.MaxCount = count }
}

func forSeconds(ttl int32) func(*v1beta1.WebsitePreviews) {
	return func(p *v1beta1.WebsitePreviews) { p.TTLSeconds = ptr.To(ttl) }
}

func protectedBy(secret string) func(*v1beta1.WebsitePreviews) {
	return func(p *v1beta1.WebsitePreviews) { p.Access = usersOf(secret) }
}

// previewCases cover previews.
var previewCases = map[string]specCase{
	"previews": {tweak: previewing(inDomain("previews.example.com"), atMost(50), forSeconds(3600),
		protectedBy("users"))},
	"previews of no branch": {tweak: previewing(ofBranches()), want: []string{"spec.previews.branches: Required value"}},
	"previews of nothing": {tweak: previewing(ofBranches("")),
		want: []string{`spec.previews.branches[0]: Required value: a pattern, such as "feature/*"`}},
	"previews by expression": {tweak: previewing(ofBranches("a|b")), want: []string{`spec.previews.branches[0]: ` +
		`Invalid value: "a|b": must consist of letters and digits of any script, and the characters . _ / @ + # = - *`}},
	"previews with letters": {tweak: previewing(ofBranches("zweig/ä-*", strings.Repeat("日", 85)))},
	"previews twice": {tweak: previewing(ofBranches("a", "a")),
		want: []string{`spec.previews.branches[1]: Duplicate value: "a"`}},
	"previews of long names": {tweak: previewing(ofBranches(strings.Repeat("a", 256))),
		want: []string{"spec.previews.branches[0]: Too long: may not be more than 255 bytes"}},
	"previews without room": {tweak: previewing(atMost(-1)),
		want: []string{"spec.previews.maxCount: Invalid value: -1: must be greater than or equal to 1"}},
	"too many previews": {tweak: previewing(atMost(51)),
		want: []string{"spec.previews.maxCount: Invalid value: 51: must be less than or equal to 50"}},
	"previews for no time": {tweak: previewing(forSeconds(60)),
		want: []string{"spec.previews.ttlSeconds: Invalid value: 60: must be greater than or equal to 3600"}},
	"previews for ever": {tweak: previewing(forSeconds(31536001)),
		want: []string{"spec.previews.ttlSeconds: Invalid value: 31536001: must be less than or equal to 31536000"}},
	"previews of no domain": {tweak: previewing(inDomain("a_b")),
		want: []string{`spec.previews.domain: Invalid value: "a_b": ` + mustBeName}},
	"previews in long domain": {tweak: previewing(inDomain(strings.Repeat("a.", 50) + "a")),
		want: []string{"spec.previews.domain: Too long: may not be more than 100 characters"}},
	"previews for no users": {tweak: previewing(protectedBy("A_b")),
		want: []string{`spec.previews.access.basicAuth.secretRef.name: Invalid value: "A_b": ` + mustBeName}},
}

func observedBranch(entry v1beta1.WebsitePreviewStatus) func(*v1beta1.WebsiteStatus) {
	return func(s *v1beta1.WebsiteStatus) { s.Previews = []v1beta1.WebsitePreviewStatus{entry} }
}
