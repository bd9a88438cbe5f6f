package faults

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const watchedWebsites = "websites.mycontroller.nevermosby.io"

// watchedChildren returns the resources that the controller watches besides Websites, in the form
// of site.resource.
func watchedChildren(t *testing.T) []string {
	t.Helper()
	allowed, err := rules()
	if err != nil {
		t.Fatal(err)
	}
	var resources []string
	for rule := range allowed {
		var resource string
		if n, _ := fmt.Sscanf(rule, "watch %s", &resource); n == 1 && resource != watchedWebsites {
			resources = append(resources, resource)
		}
	}
	if len(resources) < 3 {
		t.Fatalf("the controller watches only %v", resources)
	}
	return resources
}

// gated starts a controller whose watches go through gates, over a Website that
// is served.
func gated(t *testing.T) (world, *controller, func(string) *gate) {
	t.Helper()
	w := newWorld(t)
	wire := newWire(w)
	for _, resource := range append(watchedChildren(t), watchedWebsites) {
		wire.gateOf(resource)
	}
	c := start(t, wire, w)
	if err := servedKubia(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	wire.arm(w, nil, call{})
	return w, c, wire.gateOf
}

// touch makes the controller reconcile a Website n times.
func touch(t *testing.T, w world, c *controller, name string, n int) {
	t.Helper()
	for i := range n {
		before, _ := c.reconciles.Of(w.key(name))
		if err := w.patch(t.Context(), name, fmt.Sprintf(`{"metadata":{"annotations":{"example.com/touched":"%d"}}}`,
			i)); err != nil {
			t.Fatal(err)
		}
		if err := c.reconciles.Await(t.Context(), w.key(name), before+1); err != nil {
			t.Fatal(err)
		}
	}
}

// childWrites counts the writes to children.
func (w *wire) childWrites(in world) int {
	sum := 0
	for site, n := range w.writes(in) {
		if site.verb == "patch" || site.verb == "delete" {
			sum += n
		}
	}
	return sum
}

func (w *wire) statusWrites(in world) int {
	sum := 0
	for site, n := range w.writes(in) {
		if site.resource == watchedWebsites+"/status" {
			sum += n
		}
	}
	return sum
}

// TestChildrenFrozen creates and changes a Website while the controller's cache lacks all its
// own writes.
func TestChildrenFrozen(t *testing.T) {
	t.Parallel()
	w, c, gate := gated(t)
	for _, resource := range watchedChildren(t) {
		gate(resource).freeze()
	}
	const name = "unseen"
	h := record(t, w, name)
	if err := w.create(t.Context(), name); err != nil {
		t.Fatal(err)
	}
	if err := c.reconciles.Await(t.Context(), w.key(name), 1); err != nil {
		t.Fatal(err)
	}
	touch(t, w, c, name, 5)
	for site, n := range c.writes(w) {
		if site.verb == "patch" && n != 1 {
			t.Errorf("%s was done %d times while its result was not seen, want 1", site, n)
		}
	}
	created := c.childWrites(w)

	// A change is made and reverted: the cached children equal the desired ones all along.
	for i, replicas := range []int{2, 1} {
		before, _ := c.reconciles.Of(w.key(name))
		if err := w.patch(t.Context(), name, fmt.Sprintf(`{"spec":{"replicas":%d}}`, replicas)); err != nil {
			t.Fatal(err)
		}
		if err := c.reconciles.Await(t.Context(), w.key(name), before+1); err != nil {
			t.Fatal(err)
		}
		t.Logf("%d child writes after change %d", c.childWrites(w)-created, i+1)
	}
	for _, resource := range watchedChildren(t) {
		gate(resource).thaw()
	}
	if err := waitUntil(t.Context(), func(ctx context.Context) error { return w.settled(ctx, name) }); err != nil {
		t.Fatal(err)
	}
	for site, n := range c.writes(w) {
		if site.verb == "patch" && n > 3 {
			t.Errorf("%s was done %d times for a creation and two changes", site, n)
		}
	}
	for _, problem := range flaps(h.all(t.Context(), t, 3)) {
		t.Error(problem)
	}
	c.Drain(t)
	if writes := w.once(t); len(writes) > 0 {
		t.Errorf("something was left to do: %v", writes)
	}
}

// TestWebsitesFrozen changes a Website many times while the controller's cache of Websites is
// stale and its cache of children current: it keeps the older specification, without a burst of
// conflicting writes.
func TestWebsitesFrozen(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	w, c, gate := gated(t)
	h := record(t, w, kubia)
	gate(watchedWebsites).freeze()
	for i := range 3 {
		if err := w.patch(ctx, kubia, fmt.Sprintf(`{"spec":{"replicas":%d}}`, i+2)); err != nil {
			t.Fatal(err)
		}
	}
	// The cached Website still has one replica.
	for range 3 {
		before, _ := c.reconciles.Of(w.key(kubia))
		if _, err := kube.AppsV1().Deployments(w.namespace).Patch(ctx, kubia, types.MergePatchType,
			[]byte(`{"spec":{"replicas":3}}`), metav1.PatchOptions{FieldManager: "another"}); err != nil {
			t.Fatal(err)
		}
		err := waitUntil(ctx, func(ctx context.Context) error {
			d, err := w.deployment(ctx, kubia)
			if err == nil && *d.Spec.Replicas != 1 {
				err = fmt.Errorf("%d replicas", *d.Spec.Replicas)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.reconciles.Await(ctx, w.key(kubia), before+1); err != nil {
			t.Fatal(err)
		}
	}
	reconciles, _ := c.reconciles.Of(w.key(kubia))
	if writes := c.statusWrites(w); writes > reconciles {
		t.Errorf("%d writes of the status in %d reconciles", writes, reconciles)
	}
	if writes := c.childWrites(w); writes != 3 {
		t.Errorf("%d writes of children, want the 3 repairs: %v", writes, c.writes(w))
	}
	gate(watchedWebsites).thaw()
	if err := waitUntil(ctx, func(ctx context.Context) error { return kubiaSettled(ctx, w) }); err != nil {
		t.Fatal(err)
	}
	for _, problem := range flaps(h.all(ctx, t, 4)) {
		t.Error(problem)
	}
}

// TestOlderGeneration gives a controller with a lagging cache of Websites children that another
// leader has written from a later generation: it does not change them.
func TestOlderGeneration(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	w, c, gate := gated(t)
	gate(watchedWebsites).freeze()
	leader := start(t, newWire(w), w)
	h := record(t, w, kubia)
	if err := w.patch(ctx, kubia, `{"spec":{"replicas":3,"serving":{"fallback":"SPA"}}}`); err != nil {
		t.Fatal(err)
	}
	if err := waitUntil(ctx, func(ctx context.Context) error { return kubiaSettled(ctx, w) }); err != nil {
		t.Fatal(err)
	}
	leader.Drain(t)

	// The lagging controller is the leader now. Every child is edited to make it reconcile.
	later, err := w.deployment(ctx, kubia)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		before, _ := c.reconciles.Of(w.key(kubia))
		if _, err := kube.AppsV1().Deployments(w.namespace).Patch(ctx, kubia, types.MergePatchType,
			fmt.Appendf(nil, `{"metadata":{"annotations":{"example.com/touched":"%d"}}}`, i),
			metav1.PatchOptions{FieldManager: "user"}); err != nil {
			t.Fatal(err)
		}
		if err := c.reconciles.Await(ctx, w.key(kubia), before+1); err != nil {
			t.Fatal(err)
		}
	}
	if writes := c.childWrites(w); writes > 0 {
		t.Errorf("%d writes of children from an older generation: %v", writes, c.writes(w))
	}
	if current, err := w.deployment(ctx, kubia); err != nil || !apiequality.Semantic.DeepEqual(current.Spec, later.Spec) {
		t.Errorf("the spec of the Deployment was written: %+v, %v", current.Spec, err)
	}
	if _, err := kube.PolicyV1().PodDisruptionBudgets(w.namespace).Get(ctx, kubia, metav1.GetOptions{}); err != nil {
		t.Errorf("the PodDisruptionBudget was deleted: %v", err)
	}
	gate(watchedWebsites).thaw()
	if err := waitUntil(ctx, func(ctx context.Context) error { return kubiaSettled(ctx, w) }); err != nil {
		t.Fatal(err)
	}
	for _, problem := range flaps(h.all(ctx, t, 2)) {
		t.Error(problem)
	}
}

// TestWatchesExpire ends all watches during many changes and starts them again: the informers
// report a replaced Website, and created and deleted children, as one change each, in no
// particular order.
func TestWatchesExpire(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	w, c, gate := gated(t)
	all := append(watchedChildren(t), watchedWebsites)
	for _, resource := range all {
		gate(resource).freeze()
	}
	api := websites.WebsiteV1beta1().Websites(w.namespace)
	old, err := w.deployment(ctx, kubia)
	if err != nil {
		t.Fatal(err)
	}
	configMap, err := w.configMap(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := api.Delete(ctx, kubia, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := w.create(ctx, kubia); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if err := w.patch(ctx, kubia, fmt.Sprintf(`{"spec":{"replicas":%d}}`, 3-i)); err != nil {
			t.Fatal(err)
		}
	}
	// Garbage collection may have deleted it already, as its owner is gone.
	if err := kube.CoreV1().ConfigMaps(w.namespace).Delete(ctx, configMap, metav1.DeleteOptions{}); err != nil &&
		!apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for _, resource := range all {
		gate(resource).expire()
	}
	err = waitUntil(ctx, func(ctx context.Context) error {
		d, err := w.deployment(ctx, kubia)
		if err != nil {
			return err
		}
		if d.UID == old.UID {
			return fmt.Errorf("the old Deployment is still there")
		}
		return kubiaSettled(ctx, w)
	})
	if err != nil {
		t.Fatalf("%v\nits calls: %v", err, c.made(w))
	}
	c.Drain(t)
	if writes := w.once(t); len(writes) > 0 {
		t.Errorf("something was left to do: %v", writes)
	}
}

// TestWatchesOutOfStep delays every watch at random while a Website changes, so that the controller
// receives changes of different resources in any order.
func TestWatchesOutOfStep(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprintf("seed-%d", seed), func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			w, c, gate := gated(t)
			h := record(t, w, kubia)
			for i, resource := range append(watchedChildren(t), watchedWebsites) {
				gate(resource).setLag(lags(seed, uint64(i)))
			}
			changes := []string{`{"spec":{"replicas":3}}`, `{"spec":{"serving":{"fallback":"SPA"}}}`, `{"spec":{"replicas":1}}`,
				`{"spec":{"serving":{"fallback":"None"},"replicas":2}}`}
			for _, change := range changes {
				before, _ := c.reconciles.Of(w.key(kubia))
				if err := w.patch(ctx, kubia, change); err != nil {
					t.Fatal(err)
				}
				if err := c.reconciles.Await(ctx, w.key(kubia), before+1); err != nil {
					t.Fatal(err)
				}
			}
			err := waitUntil(ctx, func(ctx context.Context) error {
				// The controller's cache may still hold the PodDisruptionBudget of 3 replicas.
				_, err := kube.PolicyV1().PodDisruptionBudgets(w.namespace).Get(ctx, kubia, metav1.GetOptions{})
				return errors.Join(err, kubiaSettled(ctx, w))
			})
			if err != nil {
				t.Fatalf("%v\nits calls: %v", err, c.made(w))
			}
			for _, problem := range flaps(h.all(ctx, t, int64(len(changes)+1))) {
				t.Error(problem)
			}
			for site, n := range c.writes(w) {
				if site.verb == "patch" && n > len(changes) {
					t.Errorf("%s was done %d times for %d changes", site, n, len(changes))
				}
			}
			reconciles, _ := c.reconciles.Of(w.key(kubia))
			t.Logf("%d reconciles, %d writes of children, %d of the status", reconciles, c.childWrites(w), c.statusWrites(w))
			c.Drain(t)
			if writes := w.once(t); len(writes) > 0 {
				t.Errorf("something was left to do: %v", writes)
			}
		})
	}
}

// lags returns random delays of up to half a second, equal for equal seeds.
func lags(seed, stream uint64) func() time.Duration {
	var mu sync.Mutex
	random := rand.New(rand.NewPCG(seed, stream))
	return func() time.Duration {
		mu.Lock()
		defer mu.Unlock()
		return time.Duration(random.Int64N(int64(500 * time.Millisecond)))
	}
}
