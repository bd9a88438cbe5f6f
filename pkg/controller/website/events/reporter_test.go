package events

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clientevents "k8s.io/client-go/tools/events"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/children"
	"github.com/kubesites/website-apiserver/pkg/controller/website/problem"
)

func newWebsite(tweaks ...func(*v1beta1.Website)) *v1beta1.Website {
	website := &v1beta1.Website{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1beta1.SchemeGroupVersion.String(), Kind: "Website"},
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "kubia", UID: "uid-of-kubia"},
	}
	for _, tweak := range tweaks {
		tweak(website)
	}
	return website
}

func withName(name string) func(*v1beta1.Website) {
	return func(website *v1beta1.Website) { website.Name, website.UID = name, types.UID("uid-of-"+name) }
}

// kind is the kind of a child, as events show it.
type kind string

func (k kind) String() string { return string(k) }

// remembering returns a store of reports by the UIDs of Websites.
func remembering() func(*v1beta1.Website) *Reported {
	websites := map[types.UID]*Reported{}
	return func(website *v1beta1.Website) *Reported {
		if websites[website.UID] == nil {
			websites[website.UID] = &Reported{}
		}
		return websites[website.UID]
	}
}

func TestWriteEventsAreBounded(t *testing.T) {
	recorder := clientevents.NewFakeRecorder(1000)
	reporter := NewReporter(recorder, remembering())
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "s"}}
	for range 10 * writeEventBurst {
		reporter.ChildWritten(newWebsite(), service, kind("Service"), children.Updated)
	}
	if got := len(recorder.Events); got != writeEventBurst {
		t.Errorf("%d events about one fight, want %d", got, writeEventBurst)
	}
	reporter.ChildWritten(newWebsite(withName("other")), service, kind("Service"), children.Updated)
	if got := len(recorder.Events); got != writeEventBurst+1 {
		t.Error("one Website's fight silences another's events")
	}
}

// TestPublishEventsAreBounded: pods that report another commit, or another failure, all the time do
// not fill the event store.
func TestPublishEventsAreBounded(t *testing.T) {
	serving := func(name, commit string) *v1beta1.Website {
		return newWebsite(withName(name), func(website *v1beta1.Website) {
			website.Status.History = []v1beta1.WebsiteRelease{{Commit: commit, Cause: v1beta1.ReleaseCausePoll}}
		})
	}
	failing := func(name, reason string) *v1beta1.Website {
		return newWebsite(withName(name), func(website *v1beta1.Website) {
			website.Status.Conditions = []metav1.Condition{{Type: v1beta1.WebsiteSynced, Status: metav1.ConditionFalse,
				Reason: reason}}
		})
	}
	for name, test := range map[string]func(name string) (one, other *v1beta1.Website){
		"commits": func(name string) (one, other *v1beta1.Website) {
			return serving(name, commitA), serving(name, commitB)
		},
		"failures": func(name string) (one, other *v1beta1.Website) {
			return failing(name, v1beta1.WebsiteReasonRefNotFound), failing(name, v1beta1.WebsiteReasonRepositoryUnreachable)
		},
	} {
		t.Run(name, func(t *testing.T) {
			recorder := clientevents.NewFakeRecorder(1000)
			reporter := NewReporter(recorder, remembering())
			for range 5 * publishEventBurst {
				one, other := test("kubia")
				reporter.Published(one, other, time.Time{})
				reporter.Published(other, one, time.Time{})
			}
			if got := len(recorder.Events); got != publishEventBurst {
				t.Errorf("%d events, want %d", got, publishEventBurst)
			}
			before, after := test("another")
			reporter.Published(before, after, time.Time{})
			if got := len(recorder.Events); got != publishEventBurst+1 {
				t.Error("one Website's pods silence another's events")
			}
			rolledBack := serving("kubia", commitB)
			rolledBack.Status.History[0].Cause = v1beta1.ReleaseCauseRollback
			reporter.Published(serving("kubia", commitA), rolledBack, time.Time{})
			if got := len(recorder.Events); got != publishEventBurst+2 {
				t.Error("pods silence the event of a rollback")
			}
		})
	}
}

// TestLeftBehind: children that another controller has left behind are reported once, also across a
// restart.
func TestLeftBehind(t *testing.T) {
	left := problem.LeftBehind(newWebsite(), []string{"deployment/former", "service/former-npsvc"})
	const want = `"kubectl delete -n default deployment/former service/former-npsvc"`
	if !strings.Contains(left.Message, want) {
		t.Errorf("the message is %q, want it to have %s", left.Message, want)
	}
	recorder := clientevents.NewFakeRecorder(10)
	for _, website := range []*v1beta1.Website{newWebsite(), newWebsite(func(website *v1beta1.Website) {
		website.Status.Conditions = []metav1.Condition{
			{Type: v1beta1.WebsiteReady, Message: "the website is served; " + left.Message},
		}
	})} {
		reporter := NewReporter(recorder, remembering())
		reporter.Report(website, []*problem.Problem{left})
		reporter.Report(website, []*problem.Problem{left})
	}
	if got := len(recorder.Events); got != 1 {
		t.Errorf("there are %d events, want 1", got)
	}
}

// TestLeftBehindIsBounded: the command is never cut within a name, since a part of it could be the
// name of another object.
func TestLeftBehindIsBounded(t *testing.T) {
	objects := slices.Repeat([]string{"deployment/" + strings.Repeat("x", 200)}, 20)
	message := problem.LeftBehind(newWebsite(), objects).Message
	command := message[strings.Index(message, "kubectl delete -n default ")+len("kubectl delete -n default "):]
	for _, object := range strings.Fields(strings.TrimSuffix(command, `"`)) {
		if object != objects[0] {
			t.Errorf("the command names %q", object)
		}
	}
}
