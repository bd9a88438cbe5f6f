package events

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	clientevents "k8s.io/client-go/tools/events"
	"k8s.io/klog/v2/ktesting"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/kubesites/website-apiserver/pkg/controller/website/cached"
)

// slowSink accepts events only once it is released.
type slowSink struct {
	clientevents.EventSink
	release <-chan struct{}
	// errs are returned one after the other, then events are accepted.
	errs []error

	mu    sync.Mutex
	tries int
	taken []*eventsv1.Event
}

func (s *slowSink) Create(ctx context.Context, event *eventsv1.Event) (*eventsv1.Event, error) {
	select {
	case <-s.release:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tries++
	if s.tries <= len(s.errs) {
		return nil, s.errs[s.tries-1]
	}
	s.taken = append(s.taken, event)
	return event, nil
}

func newTestRecorder(t *testing.T, sink *slowSink) *Recorder {
	t.Helper()
	_, ctx := ktesting.NewTestContext(t)
	recorder, err := NewRecorder(ctx, sink)
	if err != nil {
		t.Fatal(err)
	}
	return recorder
}

func TestRecorderFlushes(t *testing.T) {
	release := make(chan struct{})
	sink := &slowSink{release: release}
	recorder := newTestRecorder(t, sink)
	service := cached.OfService(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault,
		Name: "s", UID: "uid-of-s"}})
	recorder.Eventf(newWebsite(), service, corev1.EventTypeNormal, reasonCreated, actionCreate, "Created %s", "it")

	flushed := make(chan struct{})
	go func() {
		defer close(flushed)
		recorder.Shutdown(t.Context())
	}()
	select {
	case <-flushed:
		t.Fatal("Shutdown returned before the event was written")
	default:
	}
	close(release)
	<-flushed

	if len(sink.taken) != 1 {
		t.Fatalf("%d events were written", len(sink.taken))
	}
	event := sink.taken[0]
	if event.Regarding.Kind != "Website" || event.Regarding.APIVersion != "mycontroller.nevermosby.io/v1beta1" ||
		event.Regarding.UID != "uid-of-kubia" || event.Namespace != metav1.NamespaceDefault {
		t.Errorf("the event is about %v in %q", event.Regarding, event.Namespace)
	}
	if event.Related == nil || event.Related.Kind != "Service" || event.Related.UID != "uid-of-s" {
		t.Errorf("the event is related to %v", event.Related)
	}
	if event.ReportingController != "website-controller" || event.ReportingInstance == "" ||
		event.Reason != "Created" || event.Action != "Create" || event.Note != "Created it" ||
		event.Type != corev1.EventTypeNormal || event.EventTime.IsZero() {
		t.Errorf("the event is %v", event)
	}
}

// TestRecorderKnowsChildren: clients return children without their kind.
func TestRecorderKnowsChildren(t *testing.T) {
	release := make(chan struct{})
	close(release)
	sink := &slowSink{release: release}
	recorder := newTestRecorder(t, sink)
	meta := metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "s", UID: "uid-of-s"}
	want := sets.New[string]()
	for kind, child := range map[string]runtime.Object{
		"Deployment":          cached.OfDeployment(&appsv1.Deployment{ObjectMeta: meta}),
		"ConfigMap":           cached.OfConfigMap(&corev1.ConfigMap{ObjectMeta: meta}),
		"PodDisruptionBudget": cached.OfPodDisruptionBudget(&policyv1.PodDisruptionBudget{ObjectMeta: meta}),
		"Ingress":             cached.OfIngress(&networkingv1.Ingress{ObjectMeta: meta}),
		"HTTPRoute":           cached.OfHTTPRoute(&gatewayv1.HTTPRoute{ObjectMeta: meta}),
		"ListenerSet":         cached.OfListenerSet(&gatewayv1.ListenerSet{ObjectMeta: meta}),
		"Website":             newWebsite(),
	} {
		want.Insert(kind)
		recorder.Eventf(newWebsite(), child, corev1.EventTypeNormal, reasonCreated, actionCreate, "Created it")
	}
	recorder.Shutdown(t.Context())
	got := sets.New[string]()
	for _, event := range sink.taken {
		got.Insert(event.Related.Kind)
	}
	if !got.Equal(want) {
		t.Errorf("events are about %v, want %v", sets.List(got), sets.List(want))
	}
}

func TestRecorderGivesUpWithItsDeadline(t *testing.T) {
	sink := &slowSink{release: make(chan struct{})}
	recorder := newTestRecorder(t, sink)
	recorder.Eventf(newWebsite(), nil, corev1.EventTypeNormal, reasonUpdated, actionApply, "never written")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	recorder.Shutdown(ctx)
	if len(sink.taken) != 0 {
		t.Errorf("events: %v", sink.taken)
	}
}

func TestRecorderRetries(t *testing.T) {
	previous := eventBackoff
	eventBackoff.Duration = time.Millisecond
	t.Cleanup(func() { eventBackoff = previous })
	open := make(chan struct{})
	close(open)
	events := schema.GroupResource{Group: "events.k8s.io", Resource: "events"}
	for name, test := range map[string]struct {
		err       error
		wantTries int
	}{
		"no connection":      {errors.New("connection refused"), 2},
		"busy server":        {apierrors.NewTooManyRequests("later", 1), 2},
		"refused":            {apierrors.NewForbidden(events, "x", errors.New("no")), 1},
		"terminating":        {apierrors.NewNotFound(events, "x"), 1},
		"written after all":  {apierrors.NewAlreadyExists(events, "x"), 1},
		"server in trouble":  {apierrors.NewInternalError(errors.New("x")), 2},
		"nothing in the way": {nil, 1},
	} {
		t.Run(name, func(t *testing.T) {
			sink := &slowSink{release: open}
			if test.err != nil {
				sink.errs = []error{test.err}
			}
			recorder := newTestRecorder(t, sink)
			recorder.Eventf(newWebsite(), nil, corev1.EventTypeNormal, reasonUpdated, actionApply, "x")
			recorder.Shutdown(t.Context())
			if sink.tries != test.wantTries {
				t.Errorf("%d tries, want %d", sink.tries, test.wantTries)
			}
		})
	}
}

func TestRecorderIsBounded(t *testing.T) {
	release := make(chan struct{})
	sink := &slowSink{release: release}
	recorder := newTestRecorder(t, sink)
	for range maxPendingEvents + 10 {
		recorder.Eventf(newWebsite(), nil, corev1.EventTypeNormal, reasonUpdated, actionApply, "x")
	}
	close(release)
	recorder.Shutdown(t.Context())
	if got := len(sink.taken); got != maxPendingEvents {
		t.Errorf("%d events were written, want %d", got, maxPendingEvents)
	}
}
