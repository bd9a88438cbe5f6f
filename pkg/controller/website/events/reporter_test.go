package events

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clientevents "k8s.io/client-go/tools/events"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/children"
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

// kind is a kind of children, as it is shown in events.
type kind string

func (k kind) String() string { return string(k) }

func TestWriteEventsAreBounded(t *testing.T) {
	recorder := clientevents.NewFakeRecorder(1000)
	reporter := NewReporter(recorder)
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
