package website

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	clienttesting "k8s.io/client-go/testing"
	testingclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/problem"
)

// TestNodePortOfDeletedService: the Service is created with the node port in the status, and without
// it if the API server still rejects that after some seconds.
func TestNodePortOfDeletedService(t *testing.T) {
	for name, test := range map[string]struct {
		service v1beta1.WebsiteService
		// rejected is the API server's message about the node port.
		rejected string
		// want are the node ports in the applies of the Service, in order.
		want      []string
		wantEvent bool
	}{
		"the port is free": {v1beta1.WebsiteService{Type: v1beta1.ServiceTypeNodePort}, "",
			[]string{"32535", ""}, false},
		"of a load balancer": {v1beta1.WebsiteService{Type: v1beta1.ServiceTypeLoadBalancer}, "",
			[]string{"32535", ""}, false},
		"the port is taken": {v1beta1.WebsiteService{Type: v1beta1.ServiceTypeNodePort},
			"provided port is already allocated", []string{"32535", "32535", "32535", "32535", ""}, true},
		"the port is out of range": {v1beta1.WebsiteService{Type: v1beta1.ServiceTypeNodePort},
			"provided port is not in the valid range", []string{"32535", ""}, true},
		"the Website names one": {v1beta1.WebsiteService{Type: v1beta1.ServiceTypeNodePort, NodePort: 30080}, "",
			[]string{"30080"}, false},
		"within the cluster only": {v1beta1.WebsiteService{Type: v1beta1.ServiceTypeClusterIP}, "", []string{""}, false},
		"the Website's own is taken": {v1beta1.WebsiteService{Type: v1beta1.ServiceTypeNodePort, NodePort: 30080},
			"provided port is already allocated", []string{"30080"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			clock := testingclock.NewFakeClock(testNow)
			f := newFixtureAt(t, clock, newWebsite(func(website *v1beta1.Website) {
				website.Spec.Service, website.Status.NodePort = test.service, 32535
			}))
			var applied []string
			f.kube.PrependReactor("patch", "services", func(action clienttesting.Action) (bool, runtime.Object, error) {
				patch := string(action.(clienttesting.PatchAction).GetPatch())
				port := ""
				if _, after, found := strings.Cut(patch, `"nodePort":`); found {
					port = after[:5]
				}
				applied = append(applied, port)
				if port == "" || test.rejected == "" {
					return false, nil, nil
				}
				return true, nil, apierrors.NewInvalid(schema.GroupKind{Kind: "Service"}, testDeployment+"-npsvc", field.ErrorList{
					field.Invalid(field.NewPath("spec", "ports").Index(0).Child("nodePort"), port, test.rejected)})
			})
			for range 10 {
				f.work(testKey)
				if f.controller.queue.NumRequeues(testKey) == 0 {
					break
				}
				clock.Step(time.Second)
			}
			if !slices.Equal(applied, test.want) {
				t.Errorf("applied with the node ports %q, want %q", applied, test.want)
			}
			warned := slices.ContainsFunc(f.events(), func(event string) bool {
				return strings.HasPrefix(event, fmt.Sprintf("%s %s", corev1.EventTypeWarning, v1beta1.WebsiteReasonNodePortTaken))
			})
			if warned != test.wantEvent {
				t.Errorf("an event about the node port: %t, want %t", warned, test.wantEvent)
			}
		})
	}
}

// refusePort makes the API server report node ports as taken, until the returned function is called.
func refusePort(f *fixture) (release func()) {
	isFree := false
	f.kube.PrependReactor("patch", "services", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if patch := action.(clienttesting.PatchAction).GetPatch(); isFree || !strings.Contains(string(patch), `"nodePort":`) {
			return false, nil, nil
		}
		return true, nil, apierrors.NewInvalid(schema.GroupKind{Kind: "Service"}, testDeployment+"-npsvc", field.ErrorList{
			field.Invalid(field.NewPath("spec", "ports").Index(0).Child("nodePort"), 32535,
				"provided port is already allocated")})
	})
	return func() { isFree = true }
}

// TestNodePortIsReleasedLate: a node port that is rejected at first is tried again soon, with any
// backoff of the Website, and nothing is reported meanwhile.
func TestNodePortIsReleasedLate(t *testing.T) {
	clock := testingclock.NewFakeClock(testNow)
	f := newFixtureAt(t, clock, newWebsite(func(website *v1beta1.Website) { website.Status.NodePort = 32535 }))
	alarm := &alarm{TypedRateLimitingInterface: f.controller.queue.TypedRateLimitingInterface, clock: clock}
	f.controller.queue.TypedRateLimitingInterface = alarm
	for range 20 { // Of failures that have made the backoff long.
		f.controller.queue.AddRateLimited(testKey)
	}
	release := refusePort(f)
	for _, want := range []time.Duration{100, 200, 400} {
		alarm.at = time.Time{}
		if got := f.work(testKey); got != problem.Taken {
			t.Fatalf("result %v", got)
		}
		if got := alarm.at.Sub(clock.Now()); got != want*time.Millisecond {
			t.Errorf("the next try is in %v, want %v", got, want*time.Millisecond)
		}
		clock.SetTime(alarm.at)
	}
	if slices.ContainsFunc(f.writes(), isStatusWrite) {
		t.Error("a port that is free soon is reported as taken")
	}
	release()
	f.work(testKey)
	f.service()
	for _, event := range f.events() {
		if strings.Contains(event, v1beta1.WebsiteReasonNodePortTaken) {
			t.Errorf("event %q", event)
		}
	}
	checkNoPortRefused(t, f)
}

// TestRefusedNodePortIsForgotten: a Website leaves no state, and its next Service gets the same time.
func TestRefusedNodePortIsForgotten(t *testing.T) {
	for name, end := range map[string]func(*fixture, *v1beta1.Website){
		"the Website is gone": func(f *fixture, website *v1beta1.Website) { f.uncacheWebsite(website) },
		"the Website is being deleted": func(f *fixture, website *v1beta1.Website) {
			website.DeletionTimestamp = ptr.To(metav1.NewTime(testNow))
			f.cacheWebsite(website)
		},
		"the Website needs none": func(f *fixture, website *v1beta1.Website) {
			website.Spec.Service.Type = v1beta1.ServiceTypeClusterIP
			f.cacheWebsite(website)
		},
	} {
		t.Run(name, func(t *testing.T) {
			website := newWebsite(func(website *v1beta1.Website) { website.Status.NodePort = 32535 })
			f := newFixture(t, website)
			refusePort(f)
			f.reconcile(testKey)
			if f.controller.reconciler.memory.of(website).portRefused.IsZero() {
				t.Fatal("nothing is remembered of a port that is refused")
			}
			end(f, website.DeepCopy())
			f.reconcile(testKey)
			checkNoPortRefused(t, f)
		})
	}
}

func checkNoPortRefused(t *testing.T, f *fixture) {
	t.Helper()
	for key, known := range f.controller.reconciler.memory.websites {
		if !known.portRefused.IsZero() {
			t.Errorf("the port of %v is refused since %v", key, known.portRefused)
		}
	}
}
