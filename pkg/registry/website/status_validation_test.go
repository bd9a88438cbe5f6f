package website

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// statusCases has, for every field of the status, accepted values, and rejected
// ones with their messages.
var statusCases = map[string]struct {
	tweak func(*v1beta1.WebsiteStatus)
	want  []string
}{
	"generation": {tweak: func(s *v1beta1.WebsiteStatus) { s.ObservedGeneration = 4 }},
	"counters": {tweak: func(s *v1beta1.WebsiteStatus) {
		s.Replicas, s.UpdatedReplicas, s.ReadyReplicas, s.AvailableReplicas = 1, 1, 1, 1
	}},
	"preview": {
		tweak: observedBranch(v1beta1.WebsitePreviewStatus{Branch: "feature/a", WebsiteName: "kubia-feature-a",
			Commit: strings.Repeat("0a", 20), LastCommitTime: metav1.NewTime(time.Unix(1, 0))}),
	},
	"preview of no branch": {tweak: observedBranch(v1beta1.WebsitePreviewStatus{}),
		want: []string{"status.previews[0].branch: Required value"}},
	"preview of a strange name": {tweak: observedBranch(v1beta1.WebsitePreviewStatus{Branch: "a b"}),
		want: []string{`status.previews[0].branch: Invalid value: "a b": must be the name of a branch that ` +
			`spec.source.git.ref.branch may have`}},
	"preview of a short commit": {
		tweak: observedBranch(
			v1beta1.WebsitePreviewStatus{Branch: "a", Commit: "abc", LastCommitTime: metav1.NewTime(time.Unix(1, 0))},
		), want: []string{`status.previews[0].commit: Invalid value: "abc": must be the full name of a commit: 40 or 64 ` +
			`hexadecimal digits in lower case`},
	},
	"preview of no time": {
		tweak: observedBranch(v1beta1.WebsitePreviewStatus{Branch: "a", Commit: strings.Repeat("0a", 20)}),
		want:  []string{"status.previews[0].lastCommitTime: Required value"},
	},
	"preview with a long name": {
		tweak: observedBranch(v1beta1.WebsitePreviewStatus{Branch: "a", WebsiteName: strings.Repeat("a", 64)}),
		want:  []string{"status.previews[0].websiteName: Too long: may not be more than 63 characters"},
	},
	"selector": {tweak: func(s *v1beta1.WebsiteStatus) {
		s.Selector = "app=website-nginx,controller=kubia"
	}},
	"commit":    {tweak: func(s *v1beta1.WebsiteStatus) { s.Commit = strings.Repeat("0a", 20) }},
	"condition": {tweak: conditions("Ready")},
	"condition twice": {tweak: conditions("Ready", "Ready"),
		want: []string{`status.conditions[1]: Duplicate value: "Ready"`}},
	"too many conditions": {tweak: func(s *v1beta1.WebsiteStatus) {
		for i := range 33 {
			conditions(fmt.Sprintf("Of%d", i))(s)
		}
	}, want: []string{"status.conditions: Too many: 33: must have at most 32 items"}},
	"negative generation": {tweak: func(s *v1beta1.WebsiteStatus) { s.ObservedGeneration = -1 },
		want: []string{"status.observedGeneration: Invalid value: -1: must be greater than or equal to 0"}},
	"negative replicas": {tweak: func(s *v1beta1.WebsiteStatus) { s.Replicas = -1 },
		want: []string{"status.replicas: Invalid value: -1: must be greater than or equal to 0"}},
	"negative updated": {tweak: func(s *v1beta1.WebsiteStatus) { s.UpdatedReplicas = -1 },
		want: []string{"status.updatedReplicas: Invalid value: -1: must be greater than or equal to 0"}},
	"negative ready": {tweak: func(s *v1beta1.WebsiteStatus) { s.ReadyReplicas = -1 },
		want: []string{"status.readyReplicas: Invalid value: -1: must be greater than or equal to 0"}},
	"negative available": {tweak: func(s *v1beta1.WebsiteStatus) { s.AvailableReplicas = -1 },
		want: []string{"status.availableReplicas: Invalid value: -1: must be greater than or equal to 0"}},
	"selector too long": {tweak: func(s *v1beta1.WebsiteStatus) { s.Selector = "a!=b" + strings.Repeat(",a!=b", 300) },
		want: []string{"status.selector: Too long: may not be more than 1024 characters"}},
	"selector with a slip": {tweak: func(s *v1beta1.WebsiteStatus) { s.Selector = "a in b" },
		want: []string{`status.selector: Invalid value: "a in b": unable to parse requirement: found 'b' expected: '('`}},
	"abbreviated commit": {tweak: func(s *v1beta1.WebsiteStatus) { s.Commit = "abc" }, want: []string{`status.commit: ` +
		`Invalid value: "abc": must be the full name of a commit: 40 or 64 hexadecimal digits in lower case`}},
	"node port": {tweak: func(s *v1beta1.WebsiteStatus) { s.NodePort = 30080 }},
	"node port too high": {tweak: func(s *v1beta1.WebsiteStatus) { s.NodePort = 65536 },
		want: []string{"status.nodePort: Invalid value: 65536: must be less than or equal to 65535"}},
	"node port negative": {tweak: func(s *v1beta1.WebsiteStatus) { s.NodePort = -1 },
		want: []string{"status.nodePort: Invalid value: -1: must be greater than or equal to 1"}},
	"url": {tweak: urls("http://10.0.0.1:30080")},
	"url of nothing": {tweak: urls("x"),
		want: []string{`status.urls[0]: Invalid value: "x": must be an https:// or http:// URL`}},
	"url of no host": {tweak: urls("http:///a"),
		want: []string{`status.urls[0]: Invalid value: "http:///a": must name a host`}},
	"url with password": {
		tweak: urls("http://u:p@example.com"),
		want: []string{`status.urls[0]: Invalid value: "http://u:xxxxx@example.com": must not contain a user name ` +
			`or password`},
	},
	"url with space": {tweak: urls("http://example.com/a b"), want: []string{`status.urls[0]: Invalid value: ` +
		`"http://example.com/a b": must not contain white space, control characters, quotes or other characters that are ` +
		`not legal in a URL, nor '$' or ';'`}},
	"url with bad escape": {tweak: urls("http://example.com", "http://example.com/%zz"),
		want: []string{`status.urls[1]: Invalid value: "http://example.com/%zz": invalid URL escape "%zz"`}},
	"too many urls": {tweak: urls(slices.Repeat([]string{"http://example.com"}, 81)...),
		want: []string{"status.urls: Too many: 81: must have at most 80 items"}},
	"condition of no type": {tweak: func(s *v1beta1.WebsiteStatus) {
		s.Conditions = []metav1.Condition{{Status: "True", Reason: "X", LastTransitionTime: metav1.Unix(1, 0)}}
	}, want: []string{"status.conditions[0].type: Required value: is required"}},
	"condition without reason": {tweak: func(s *v1beta1.WebsiteStatus) {
		conditions("Ready")(s)
		s.Conditions[0].Reason = ""
	}, want: []string{"status.conditions[0].reason: Required value"}},
	"message at length": {tweak: messages(4<<10, "Ready")},
	"message too long": {tweak: messages(4<<10+1, "Ready"),
		want: []string{"status.conditions[0].message: Too long: may not be more than 4096 bytes: the size is 4097"}},
	"host, message too long": {
		tweak: observed(func(h *v1beta1.WebsiteHostStatus) { h.Conditions[0].Message = strings.Repeat("a", 4<<10+1) }),
		want:  []string{"status.hosts[0].conditions[0].message: Too long: may not be more than 4096 bytes: the size is 4097"},
	},
	"as large as a status may be": {tweak: manyHosts(63)},
	"larger than a status may be": {tweak: manyHosts(64), want: []string{"status.hosts: Too long: the status may not be " +
		"more than 262144 bytes as JSON: it has 264417, 264385 of them here"}},
	"sync completed": {tweak: completed(func(*v1beta1.WebsiteSyncCompletion) {})},
	"sync of later started": {tweak: func(s *v1beta1.WebsiteStatus) { s.Sync = requested(); s.Sync.StartedID = 8 },
		want: []string{"status.sync.startedID: Invalid value: 8: must not be greater than lastRequest.id"}},
	"sync of -1 started": {tweak: func(s *v1beta1.WebsiteStatus) { s.Sync = requested(); s.Sync.StartedID = -1 },
		want: []string{"status.sync.startedID: Invalid value: -1: may not decrease",
			"status.sync.startedID: Invalid value: -1: must be greater than or equal to 0"}},
	"completion of later": {tweak: completed(func(c *v1beta1.WebsiteSyncCompletion) { c.ID = 8 }),
		want: []string{"status.sync.lastCompleted.id: Invalid value: 8: must not be greater than lastRequest.id"}},
	"completion of nothing": {tweak: completed(func(c *v1beta1.WebsiteSyncCompletion) { c.ID = 0 }),
		want: []string{"status.sync.lastCompleted.id: Required value"}},
	"completion at no time": {tweak: completed(func(c *v1beta1.WebsiteSyncCompletion) { c.Time = metav1.Time{} }),
		want: []string{"status.sync.lastCompleted.time: Required value"}},
	"result of its own": {tweak: completed(func(c *v1beta1.WebsiteSyncCompletion) { c.Result = "Maybe" }),
		want: []string{`status.sync.lastCompleted.result: Unsupported value: "Maybe": supported values: "Failed", ` +
			`"Succeeded"`}},
	"no result": {tweak: completed(func(c *v1beta1.WebsiteSyncCompletion) { c.Result = "" }),
		want: []string{"status.sync.lastCompleted.result: Required value"}},
	"long reason": {
		tweak: completed(func(c *v1beta1.WebsiteSyncCompletion) { c.Reason = strings.Repeat("a", 129) }),
		want:  []string{"status.sync.lastCompleted.reason: Too long: may not be more than 128 characters"},
	},
	"long message": {
		tweak: completed(func(c *v1beta1.WebsiteSyncCompletion) { c.Message = strings.Repeat("a", 1025) }),
		want:  []string{"status.sync.lastCompleted.message: Too long: may not be more than 1024 characters"},
	},
	"completed with a branch": {tweak: completed(func(c *v1beta1.WebsiteSyncCompletion) { c.Commit = "main" }),
		want: []string{`status.sync.lastCompleted.commit: Invalid value: "main": must be the full name of a commit: 40 or ` +
			`64 hexadecimal digits in lower case`}},
	"releases": {tweak: func(s *v1beta1.WebsiteStatus) {
		released(func(*v1beta1.WebsiteRelease) {})(s)
		s.History = slices.Repeat(s.History, 10)
	}},
	"too many releases": {tweak: func(s *v1beta1.WebsiteStatus) {
		released(func(*v1beta1.WebsiteRelease) {})(s)
		s.History = slices.Repeat(s.History, 11)
	}, want: []string{"status.history: Too many: 11: must have at most 10 items"}},
	"host": {tweak: observed(func(*v1beta1.WebsiteHostStatus) {})},
	"host of no name": {tweak: observed(func(h *v1beta1.WebsiteHostStatus) { h.Name = "" }),
		want: []string{"status.hosts[0].name: Required value"}},
	"host of no time": {
		tweak: observed(func(h *v1beta1.WebsiteHostStatus) { h.CertificateExpirationTime = &metav1.Time{} }),
		want:  []string{"status.hosts[0].certificateExpirationTime: Required value"},
	},
	"host of no reason": {
		tweak: observed(func(h *v1beta1.WebsiteHostStatus) { h.Conditions[0].Reason = "" }),
		want:  []string{"status.hosts[0].conditions[0].reason: Required value"},
	},
	"host with many conditions": {
		tweak: observed(func(h *v1beta1.WebsiteHostStatus) { h.Conditions = slices.Repeat(h.Conditions, 9) }),
		want:  append(duplicates(8), "status.hosts[0].conditions: Too many: 9: must have at most 8 items"),
	},
	"as many urls as hosts": {tweak: func(s *v1beta1.WebsiteStatus) {
		s.URLs = slices.Repeat([]string{"https://a.example.com"}, 71)
	}},
	"host with two lines, as from a Gateway": {
		tweak: observed(func(h *v1beta1.WebsiteHostStatus) { h.Conditions[0].Message = "a\nb" }),
	},
	"host twice": {tweak: func(s *v1beta1.WebsiteStatus) {
		observed(func(*v1beta1.WebsiteHostStatus) {})(s)
		s.Hosts = slices.Repeat(s.Hosts, 2)
	}, want: []string{`status.hosts[1]: Duplicate value: ` +
		`{"name":"shop.example.com","conditions":[{"type":"Routed","status":"True",` +
		`"lastTransitionTime":"1970-01-01T00:00:05Z","reason":"HostRouted","message":"none"}],` +
		`"certificateExpirationTime":"1970-01-01T00:00:05Z"}`}},
	"release of a branch": {tweak: released(func(r *v1beta1.WebsiteRelease) { r.Commit = "main" }),
		want: []string{`status.history[0].commit: Invalid value: "main": must be the full name of a commit: 40 or 64 ` +
			`hexadecimal digits in lower case`}},
	"release at no time": {tweak: released(func(r *v1beta1.WebsiteRelease) { r.PublishedTime = metav1.Time{} }),
		want: []string{"status.history[0].publishedTime: Required value"}},
	"long subject": {tweak: released(func(r *v1beta1.WebsiteRelease) { r.Subject = strings.Repeat("a", 201) }),
		want: []string{"status.history[0].subject: Too long: may not be more than 200 bytes"}},
	"subject with an escape": {tweak: released(func(r *v1beta1.WebsiteRelease) { r.Subject = "a\x1b[2J" }),
		want: []string{`status.history[0].subject: Invalid value: "a\x1b[2J": must consist of printable characters`}},
	"subject of bytes": {tweak: released(func(r *v1beta1.WebsiteRelease) { r.Subject = "\xff" }),
		want: []string{"status.history[0].subject: Invalid value: must be valid UTF-8"}},
	"long author": {tweak: released(func(r *v1beta1.WebsiteRelease) { r.Author = strings.Repeat("é", 51) }),
		want: []string{"status.history[0].author: Too long: may not be more than 100 bytes"}},
	"author with a line": {tweak: released(func(r *v1beta1.WebsiteRelease) { r.Author = "a\nb" }),
		want: []string{`status.history[0].author: Invalid value: "a\nb": must consist of printable characters`}},
	"observed afterwards": {
		tweak: released(func(r *v1beta1.WebsiteRelease) { r.ObservedTime = new(metav1.Unix(6, 0)) }),
		want: []string{`status.history[0].observedTime: Invalid value: "1970-01-01T00:00:06Z": must not be after ` +
			`publishedTime`},
	},
	"observed at no time": {tweak: released(func(r *v1beta1.WebsiteRelease) { r.ObservedTime = &metav1.Time{} }),
		want: []string{"status.history[0].observedTime: Required value"}},
	"cause of its own": {tweak: released(func(r *v1beta1.WebsiteRelease) { r.Cause = "Whim" }),
		want: []string{`status.history[0].cause: Unsupported value: "Whim": supported values: "Poll", "Rollback", ` +
			`"Spec", "Sync"`}},
}

// duplicates returns the errors for a condition with n duplicates.
func duplicates(n int) []string {
	var errs []string
	for i := range n {
		errs = append(errs, fmt.Sprintf(`status.hosts[0].conditions[%d]: Duplicate value: "Routed"`, i+1))
	}
	return errs
}

// observed adds a host to a status, changed by tweak.
func observed(tweak func(*v1beta1.WebsiteHostStatus)) func(*v1beta1.WebsiteStatus) {
	return func(s *v1beta1.WebsiteStatus) {
		s.Hosts = []v1beta1.WebsiteHostStatus{{
			Name: "shop.example.com",
			Conditions: []metav1.Condition{{Type: "Routed", Status: metav1.ConditionTrue, Reason: "HostRouted",
				Message: "none", LastTransitionTime: metav1.Unix(5, 0)}},
			CertificateExpirationTime: new(metav1.Unix(5, 0)),
		}}
		tweak(&s.Hosts[0])
	}
}

// messages adds conditions with messages of a length.
func messages(length int, types ...string) func(*v1beta1.WebsiteStatus) {
	return func(s *v1beta1.WebsiteStatus) {
		conditions(types...)(s)
		for i := range s.Conditions {
			s.Conditions[i].Message = strings.Repeat("a", length)
		}
	}
}

// manyHosts adds n hosts with long messages.
func manyHosts(n int) func(*v1beta1.WebsiteStatus) {
	return func(s *v1beta1.WebsiteStatus) {
		var hosts []v1beta1.WebsiteHostStatus
		for i := range n {
			observed(func(h *v1beta1.WebsiteHostStatus) {
				h.Name, h.Conditions[0].Message = fmt.Sprintf("h%02d.example.com", i), strings.Repeat("a", 3925)
			})(s)
			hosts = append(hosts, s.Hosts...)
		}
		s.Hosts = hosts
	}
}

// requested returns the request in the stored status.
func requested() *v1beta1.WebsiteSyncStatus {
	return &v1beta1.WebsiteSyncStatus{LastRequest: v1beta1.WebsiteSyncRecord{ID: 7, Time: metav1.Unix(1, 0), By: "ci",
		Commit: strings.Repeat("0a", 20)}}
}

func withRequest(w *website.Website) { w.Status.Sync = requested() }

// completed adds a completion of the stored request, changed by tweak.
func completed(tweak func(*v1beta1.WebsiteSyncCompletion)) func(*v1beta1.WebsiteStatus) {
	return func(s *v1beta1.WebsiteStatus) {
		s.Sync = requested()
		s.Sync.StartedID = 7
		s.Sync.LastCompleted = &v1beta1.WebsiteSyncCompletion{
			ID: 7, Time: metav1.Unix(3, 0), Result: v1beta1.SyncFailed, Reason: "RefNotFound", Message: "no such branch",
			Commit: strings.Repeat("0b", 20),
		}
		tweak(s.Sync.LastCompleted)
	}
}

// released adds a history of one release, changed by tweak.
func released(tweak func(*v1beta1.WebsiteRelease)) func(*v1beta1.WebsiteStatus) {
	return func(s *v1beta1.WebsiteStatus) {
		s.History = []v1beta1.WebsiteRelease{{
			Commit: strings.Repeat("0a", 20), Subject: "Add a page — with pictures", Author: "Zoë",
			PublishedTime: metav1.Unix(5, 0),
			ObservedTime:  new(metav1.Unix(4, 0)), Cause: v1beta1.ReleaseCauseSync,
		}}
		tweak(&s.History[0])
	}
}

// conditions adds conditions of the types given.
func conditions(types ...string) func(*v1beta1.WebsiteStatus) {
	return func(s *v1beta1.WebsiteStatus) {
		for _, typ := range types {
			s.Conditions = append(s.Conditions, metav1.Condition{Type: typ, Status: metav1.ConditionTrue, Reason: "Tested",
				LastTransitionTime: metav1.Unix(1, 0)})
		}
	}
}

func urls(urls ...string) func(*v1beta1.WebsiteStatus) {
	return func(s *v1beta1.WebsiteStatus) { s.URLs = urls }
}

func TestStatuses(t *testing.T) {
	strategy := NewStatusStrategy(newStrategy(t))
	for name, test := range statusCases {
		t.Run(name, func(t *testing.T) {
			updated := newWebsite(withRequest, func(w *website.Website) { test.tweak(&w.Status) })
			checkCauses(t, rest.BeforeUpdate(strategy, requestContext("v1beta1", "status"), updated, newWebsite(withRequest)),
				test.want)
			again := newWebsite(withRequest, func(w *website.Website) { test.tweak(&w.Status); w.Status.UpdatedReplicas = 2 })
			if !strings.HasPrefix(name, "negative updated") {
				checkCauses(t, rest.BeforeUpdate(strategy, requestContext("v1beta1", "status"), again, updated), nil)
			}
		})
	}
}
