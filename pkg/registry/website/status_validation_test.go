package website

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
)

// statusCases has, for every field of the status, what is accepted and what is
// refused with which words.
var statusCases = map[string]struct {
	tweak func(*website.WebsiteStatus)
	want  []string
}{
	"generation": {tweak: func(s *website.WebsiteStatus) { s.ObservedGeneration = 4 }},
	"what is counted": {tweak: func(s *website.WebsiteStatus) {
		s.Replicas, s.UpdatedReplicas, s.ReadyReplicas, s.AvailableReplicas = 1, 1, 1, 1
	}},
	"selector":        {tweak: func(s *website.WebsiteStatus) { s.Selector = "app=website-nginx,controller=kubia" }},
	"commit":          {tweak: func(s *website.WebsiteStatus) { s.Commit = strings.Repeat("0a", 20) }},
	"condition":       {tweak: conditions("Ready")},
	"condition twice": {tweak: conditions("Ready", "Ready"), want: []string{`status.conditions[1]: Duplicate value: "Ready"`}},
	"too many conditions": {tweak: func(s *website.WebsiteStatus) {
		for i := range 33 {
			conditions(fmt.Sprintf("Of%d", i))(s)
		}
	}, want: []string{"status.conditions: Too many: 33: must have at most 32 items"}},
	"negative generation":  {tweak: func(s *website.WebsiteStatus) { s.ObservedGeneration = -1 }, want: []string{"status.observedGeneration: Invalid value: -1: must be greater than or equal to 0"}},
	"negative replicas":    {tweak: func(s *website.WebsiteStatus) { s.Replicas = -1 }, want: []string{"status.replicas: Invalid value: -1: must be greater than or equal to 0"}},
	"negative updated":     {tweak: func(s *website.WebsiteStatus) { s.UpdatedReplicas = -1 }, want: []string{"status.updatedReplicas: Invalid value: -1: must be greater than or equal to 0"}},
	"negative ready":       {tweak: func(s *website.WebsiteStatus) { s.ReadyReplicas = -1 }, want: []string{"status.readyReplicas: Invalid value: -1: must be greater than or equal to 0"}},
	"negative available":   {tweak: func(s *website.WebsiteStatus) { s.AvailableReplicas = -1 }, want: []string{"status.availableReplicas: Invalid value: -1: must be greater than or equal to 0"}},
	"selector too long":    {tweak: func(s *website.WebsiteStatus) { s.Selector = "a!=b" + strings.Repeat(",a!=b", 300) }, want: []string{"status.selector: Too long: may not be more than 1024 characters"}},
	"selector with a slip": {tweak: func(s *website.WebsiteStatus) { s.Selector = "a in b" }, want: []string{`status.selector: Invalid value: "a in b": unable to parse requirement: found 'b' expected: '('`}},
	"abbreviated commit":   {tweak: func(s *website.WebsiteStatus) { s.Commit = "abc" }, want: []string{`status.commit: Invalid value: "abc": must be the full name of a commit: 40 or 64 hexadecimal digits in lower case`}},
	"node port":            {tweak: func(s *website.WebsiteStatus) { s.NodePort = 30080 }},
	"node port too high":   {tweak: func(s *website.WebsiteStatus) { s.NodePort = 65536 }, want: []string{"status.nodePort: Invalid value: 65536: must be less than or equal to 65535"}},
	"node port negative":   {tweak: func(s *website.WebsiteStatus) { s.NodePort = -1 }, want: []string{"status.nodePort: Invalid value: -1: must be greater than or equal to 1"}},
	"url":                  {tweak: urls("http://10.0.0.1:30080")},
	"url of nothing":       {tweak: urls("x"), want: []string{`status.urls[0]: Invalid value: "x": must be an https:// or http:// URL`}},
	"url of no host":       {tweak: urls("http:///a"), want: []string{`status.urls[0]: Invalid value: "http:///a": must name a host`}},
	"url with password":    {tweak: urls("http://u:p@example.com"), want: []string{`status.urls[0]: Invalid value: "http://u:xxxxx@example.com": must not contain a user name or password`}},
	"url with space":       {tweak: urls("http://example.com/a b"), want: []string{`status.urls[0]: Invalid value: "http://example.com/a b": must not contain white space, control characters, quotes or other characters that are not legal in a URL, nor '$' or ';'`}},
	"url with bad escape":  {tweak: urls("http://example.com", "http://example.com/%zz"), want: []string{`status.urls[1]: Invalid value: "http://example.com/%zz": invalid URL escape "%zz"`}},
	"too many urls":        {tweak: urls(slices.Repeat([]string{"http://example.com"}, 17)...), want: []string{"status.urls: Too many: 17: must have at most 16 items"}},
	"condition of no type": {tweak: func(s *website.WebsiteStatus) {
		s.Conditions = []metav1.Condition{{Status: "True", Reason: "X", LastTransitionTime: metav1.Unix(1, 0)}}
	}, want: []string{"status.conditions[0].type: Required value: is required"}},
	"condition without reason": {tweak: func(s *website.WebsiteStatus) {
		conditions("Ready")(s)
		s.Conditions[0].Reason = ""
	}, want: []string{"status.conditions[0].reason: Required value"}},
}

// conditions adds conditions of the types given.
func conditions(types ...string) func(*website.WebsiteStatus) {
	return func(s *website.WebsiteStatus) {
		for _, typ := range types {
			s.Conditions = append(s.Conditions, metav1.Condition{Type: typ, Status: metav1.ConditionTrue, Reason: "Tested", LastTransitionTime: metav1.Unix(1, 0)})
		}
	}
}

func urls(urls ...string) func(*website.WebsiteStatus) {
	return func(s *website.WebsiteStatus) { s.Urls = urls }
}

func TestStatuses(t *testing.T) {
	strategy := NewStatusStrategy(newStrategy(t))
	for name, test := range statusCases {
		t.Run(name, func(t *testing.T) {
			updated := newWebsite(func(w *website.Website) { test.tweak(&w.Status) })
			checkCauses(t, rest.BeforeUpdate(strategy, requestContext("v1beta1", "status"), updated, newWebsite()), test.want)
			again := newWebsite(func(w *website.Website) { test.tweak(&w.Status); w.Status.UpdatedReplicas = 2 })
			if !strings.HasPrefix(name, "negative updated") {
				checkCauses(t, rest.BeforeUpdate(strategy, requestContext("v1beta1", "status"), again, updated), nil)
			}
		})
	}
}
