package routes

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	gatewayfake "sigs.k8s.io/gateway-api/pkg/client/clientset/versioned/fake"
)

// TestDiscovery installs parts of Gateway API one after the other, while the router runs. An error of
// the API server does not mean that a kind is not served.
func TestDiscovery(t *testing.T) {
	// The other handler sleeps until the time of its last call, which may be outside of the bubble.
	handlers := utilruntime.ErrorHandlers
	utilruntime.ErrorHandlers = handlers[:1]
	t.Cleanup(func() { utilruntime.ErrorHandlers = handlers })
	for name, test := range map[string]struct {
		missing []string
		failing string
		// unknown and says are parts of the reasons; empty for none.
		unknown, says string
		listenerSets  bool
	}{
		"all":           {listenerSets: true},
		"an earlier v1": {missing: []string{listenerSets}},
		"half":          {missing: []string{listenerSets, httpRoutes}, says: "serves no httproutes"},
		"none":          {missing: []string{listenerSets, httpRoutes, gateways}, says: "serves no gateways"},
		"unavailable":   {failing: gateways, unknown: "gateways cannot be watched: unavailable", listenerSets: true},
		"no Ingresses": {missing: []string{listenerSets, httpRoutes, gateways}, failing: ingresses,
			unknown: "ingresses cannot be watched: unavailable", says: "serves no gateways"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				kube, gateway := fake.NewClientset(), gatewayfake.NewClientset()
				var mu sync.Mutex
				answer := func(action clienttesting.Action) error {
					mu.Lock()
					defer mu.Unlock()
					resource := action.GetResource()
					for _, missing := range test.missing {
						if resource.Resource == missing {
							return apierrors.NewNotFound(resource.GroupResource(), "")
						}
					}
					if resource.Resource == test.failing {
						return errors.New("unavailable")
					}
					return nil
				}
				for _, client := range []*clienttesting.Fake{&kube.Fake, &gateway.Fake} {
					client.PrependReactor("list", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
						err := answer(action)
						return err != nil, nil, err
					})
				}
				var changes atomic.Int32
				r := newRouter(WatchConfig{Gateway: gateway, Kube: kube, Clock: clock.RealClock{}},
					cache.ResourceEventHandlerFuncs{}, cache.ResourceEventHandlerFuncs{}, func() { changes.Add(1) })
				done := make(chan struct{})
				go func() {
					defer close(done)
					r.run(t.Context())
				}()
				t.Cleanup(func() { <-done })
				synctest.Wait()
				if requests := len(kube.Actions()) + len(gateway.Actions()); requests > 0 {
					t.Errorf("%d requests before a Website has hosts", requests)
				}
				r.want()
				time.Sleep(time.Second)
				synctest.Wait()
				state := r.current()
				if state.ListenerSets != test.listenerSets && state.Missing == "" ||
					(state.Unknown == "") != (test.unknown == "") || !strings.Contains(state.Unknown, test.unknown) ||
					(state.Missing == "") != (test.says == "") || !strings.Contains(state.Missing, test.says) {
					t.Errorf("the state is %+v, want %q missing, %q unknown and ListenerSets %t", state, test.says, test.unknown,
						test.listenerSets)
				}
				before := changes.Load()
				mu.Lock()
				test.missing, test.failing = nil, ""
				mu.Unlock()
				time.Sleep(2 * defaultDiscoveryPeriod)
				synctest.Wait()
				if state, want := r.current(), (clusterState{ListenerSets: true}); state != want {
					t.Errorf("after the installation the state is %+v, want %+v", state, want)
				}
				if isChanged := changes.Load() > before; isChanged != (name != "all") {
					t.Errorf("the installation is a change: %t", isChanged)
				}
			})
		})
	}
}

// TestRemoval: a kind that is no longer served has no objects.
func TestRemoval(t *testing.T) {
	r := newRouter(WatchConfig{Gateway: gatewayfake.NewClientset(), Kube: fake.NewClientset(), Clock: clock.RealClock{}},
		cache.ResourceEventHandlerFuncs{}, cache.ResourceEventHandlerFuncs{}, func() {})
	if err := r.httpRoutes.store.Replace([]any{&gatewayv1.HTTPRoute{}}, "1"); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		requests := 0
		if err := r.httpRoutes.try(t.Context(), func() error {
			if requests++; requests == 3 {
				return nil
			}
			if state := r.current(); requests > 1 && state.Missing == "" {
				return fmt.Errorf("the state is %+v", state)
			}
			return apierrors.NewNotFound(gatewayv1.Resource(httpRoutes), "")
		}); err != nil {
			t.Error(err)
		}
	})
	if left := len(r.httpRoutes.store.List()); left > 0 || r.httpRoutes.store.HasSynced() {
		t.Errorf("%d objects are left", left)
	}
}
