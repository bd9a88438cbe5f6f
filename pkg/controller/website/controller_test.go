package website

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/klog/v2/ktesting"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

const patience = 30 * time.Second

// running is a controller with running informers and workers.
type running struct {
	*fixture
	drain chan struct{}
	abort context.CancelCauseFunc
	done  chan error
}

func start(t *testing.T, f *fixture, workers int) *running {
	t.Helper()
	_, ctx := ktesting.NewTestContext(t)
	informerCtx, stopInformers := context.WithCancel(ctx)
	f.websiteInformers.StartWithContext(informerCtx)
	f.childInformers.StartWithContext(informerCtx)
	ctx, abort := context.WithCancelCause(ctx)
	r := &running{fixture: f, drain: make(chan struct{}), abort: abort, done: make(chan error, 1)}
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		r.done <- f.controller.Run(ctx, r.drain, workers)
	}()
	t.Cleanup(func() {
		abort(nil)
		<-finished
		stopInformers()
		f.websiteInformers.Shutdown()
		f.childInformers.Shutdown()
	})
	return r
}

// eventually waits for a condition; it fails the test on a timeout.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 5*time.Millisecond, patience, true,
		func(context.Context) (bool, error) { return condition(), nil })
	if err != nil {
		t.Fatalf("waiting until %s: %v", what, err)
	}
}

func (f *fixture) complete() bool {
	_, deployment := live[*appsv1.Deployment](f, testDeployment)
	_, service := live[*corev1.Service](f, testDeployment+"-npsvc")
	_, configMap := live[*corev1.ConfigMap](f, testConfigMap)
	return deployment && service && configMap
}

func TestRunCreatesAndRepairs(t *testing.T) {
	f := newFixture(t, newWebsite())
	start(t, f, 4)
	eventually(t, "the children of the first list exist", f.complete)

	f.remove(f.service())
	eventually(t, "a deleted child is back", f.complete)

	edit(f, testDeployment, func(deployment *appsv1.Deployment) { deployment.Labels["app"] = "mine" })
	eventually(t, "an edited child is repaired", func() bool { return f.deployment().Labels["app"] == "website-nginx" })

	edit(f, testDeployment, func(deployment *appsv1.Deployment) { deployment.Status.AvailableReplicas = 1 })
	eventually(t, "the status follows", func() bool {
		website, err := f.websites.WebsiteV1beta1().Websites(testNamespace).Get(t.Context(), testName, metav1.GetOptions{})
		return err == nil && website.Status.AvailableReplicas == 1
	})

	website, err := f.websites.WebsiteV1beta1().Websites(testNamespace).Get(t.Context(), testName, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	withReplicas(5)(website)
	if _, err := f.websites.WebsiteV1beta1().Websites(testNamespace).Update(t.Context(), website,
		metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a changed spec arrives", func() bool { return *f.deployment().Spec.Replicas == 5 })
}

func TestRunTakesOverAFreedName(t *testing.T) {
	first, second := newWebsite(withName("first")), newWebsite(withName("second"))
	f := newFixture(t, first, second)
	r := start(t, f, 4)
	eventually(t, "one of the two owns the name", f.complete)

	owner, other := first, second
	if metav1.IsControlledBy(f.deployment(), second) {
		owner, other = second, first
	}
	for _, child := range []metav1.Object{f.service(), f.configMap()} {
		if !metav1.IsControlledBy(child, owner) {
			t.Fatalf("%s belongs to the other Website", child.GetName())
		}
	}

	if err := f.websites.WebsiteV1beta1().Websites(testNamespace).Delete(t.Context(), owner.Name,
		metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the deletion has arrived", func() bool {
		_, err := r.controller.lister.Websites(testNamespace).Get(owner.Name)
		return err != nil
	})
	eventually(t, "the other one owns all three", func() bool {
		// Garbage collection runs all the time: a reconciliation that began before the deletion may
		// have created a child again.
		collect[*corev1.Service](f, testDeployment+"-npsvc", owner)
		collect[*corev1.ConfigMap](f, testConfigMap, owner)
		collect[*appsv1.Deployment](f, testDeployment, owner)
		if !f.complete() {
			return false
		}
		return metav1.IsControlledBy(f.deployment(), other) && metav1.IsControlledBy(f.service(), other) &&
			metav1.IsControlledBy(f.configMap(), other)
	})
}

// collect removes a child whose Website is gone, like garbage collection.
func collect[T object](f *fixture, name string, gone *v1beta1.Website) {
	f.Helper()
	if child, ok := live[T](f, name); ok && metav1.IsControlledBy(child, gone) {
		f.remove(child)
	}
}

func TestStandbyDoesNothing(t *testing.T) {
	f := newFixture(t, newWebsite())
	_, ctx := ktesting.NewTestContext(t)
	ctx, cancel := context.WithCancel(ctx)
	f.websiteInformers.StartWithContext(ctx)
	f.childInformers.StartWithContext(ctx)
	t.Cleanup(func() {
		cancel()
		f.websiteInformers.Shutdown()
		f.childInformers.Shutdown()
	})
	eventually(t, "the informers are synced", f.controller.HasSynced)
	if got := f.controller.queue.Len(); got != 0 {
		t.Errorf("%d keys are queued on a standby", got)
	}
	if got := f.writes(); len(got) > 0 {
		t.Errorf("a standby wrote: %q", got)
	}
}

func TestDrainFinishesWorkInFlight(t *testing.T) {
	var websites []*v1beta1.Website
	for i := range 10 {
		name := fmt.Sprintf("site-%d", i)
		websites = append(
			websites, newWebsite(withName(name), func(website *v1beta1.Website) { website.Spec.DeploymentName = name }),
		)
	}
	f := newFixture(t, websites...)
	entered, proceed := make(chan struct{}), make(chan struct{})
	enter := sync.OnceFunc(func() { close(entered) })
	f.kube.PrependReactor("patch", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
		enter()
		<-proceed
		return false, nil, nil
	})
	r := start(t, f, 1)
	release := sync.OnceFunc(func() { close(proceed) })
	t.Cleanup(release)
	<-entered
	close(r.drain)
	eventually(t, "the queue takes nothing any more", r.controller.queue.ShuttingDown)
	select {
	case err := <-r.done:
		t.Fatalf("Run returned with work in flight: %v", err)
	default:
	}
	release()
	if err := <-r.done; err != nil {
		t.Errorf("Run: %v", err)
	}
	// The reconciliation in flight is complete, the nine queued Websites are left to the next leader.
	want := []string{"create ConfigMap", "create Deployment", "create Service", "status "}
	got := f.writes()
	if !slices.EqualFunc(got, want, strings.HasPrefix) {
		t.Errorf("writes: %q, want %q", got, want)
	}
}

func TestAbortReturnsTheCause(t *testing.T) {
	f := newFixture(t, newWebsite())
	r := start(t, f, 4)
	eventually(t, "it works", f.complete)
	lost := errors.New("the lease was lost")
	r.abort(lost)
	if err := <-r.done; !errors.Is(err, lost) {
		t.Errorf("Run: %v", err)
	}
}

func TestStopBeforeTheCachesAreSynced(t *testing.T) {
	f := newFixture(t)
	_, ctx := ktesting.NewTestContext(t)
	drain := make(chan struct{})
	close(drain)
	if err := f.controller.Run(ctx, drain, 1); err != nil {
		t.Errorf("drained: %v", err)
	}

	f = newFixture(t)
	lost := errors.New("the lease was lost")
	ctx, abort := context.WithCancelCause(ctx)
	abort(lost)
	if err := f.controller.Run(ctx, make(chan struct{}), 1); !errors.Is(err, lost) {
		t.Errorf("aborted: %v", err)
	}
}
