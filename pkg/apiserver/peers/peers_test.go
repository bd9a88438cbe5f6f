package peers

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	clocktesting "k8s.io/utils/clock/testing"
)

// host is the host cluster of two replicas. Its Leases have versions, as in a real one.
type host struct {
	client  *fake.Clientset
	version int
	broken  bool
}

func newHost() *host {
	h := &host{client: fake.NewClientset()}
	h.client.PrependReactor("*", "leases", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if h.broken {
			return true, nil, errors.New("the host is unreachable")
		}
		if write, ok := action.(interface{ GetObject() runtime.Object }); ok {
			lease := write.GetObject().(*coordinationv1.Lease)
			resource := action.GetResource()
			if stored, err := h.client.Tracker().Get(
				resource, action.GetNamespace(), lease.Name,
			); action.GetVerb() == "update" && err == nil &&
				stored.(*coordinationv1.Lease).ResourceVersion != lease.ResourceVersion {
				return true, nil, apierrors.NewConflict(resource.GroupResource(), lease.Name, errors.New("it was changed"))
			}
			h.version++
			lease.ResourceVersion = strconv.Itoa(h.version)
		}
		return false, nil, nil
	})
	return h
}

// replica is driven without Run: step is one round of it.
type replica struct {
	*Peers
	lost, unready atomic.Bool
}

func newReplica(h *host, clock *clocktesting.FakeClock) *replica {
	r := &replica{}
	r.Peers = New(Config{
		Leases: h.client.CoordinationV1().Leases("website-system"),
		Unavailable: func() error {
			if r.lost.Load() {
				return errors.New("etcd does not answer")
			}
			return nil
		},
		Ready: func(context.Context) error {
			if r.unready.Load() {
				return errors.New("an informer has not synced")
			}
			return nil
		},
		Clock: clock,
	})
	return r
}

func (r *replica) step(ctx context.Context) { _ = r.round(ctx) }

func (r *replica) ready() bool { return r.Check().Check(nil) == nil }

// TestReadinessOfReplicas: which of two replicas are ready.
func TestReadinessOfReplicas(t *testing.T) {
	type rounds struct {
		lostA, lostB, broken bool
		// deadB is a replica that has stopped working, unreadyB one that is not ready, and endedB one that
		// has ended.
		deadB, unreadyB, endedB bool
		n                       int
	}
	tests := map[string]struct {
		history      []rounds
		wantA, wantB bool
	}{
		"both reach the store": {history: []rounds{{n: 5}}, wantA: true, wantB: true},
		"one has lost it":      {history: []rounds{{n: 3}, {lostA: true, n: 3}}, wantB: true},
		"one never had it":     {history: []rounds{{lostA: true, n: 3}}, wantB: true},
		"both have lost it": {history: []rounds{{n: 3}, {lostA: true, lostB: true, n: 5}},
			wantA: true, wantB: true},
		"one, then the other": {history: []rounds{{n: 3}, {lostA: true, n: 3},
			{lostA: true, lostB: true, n: 5}}, wantA: true, wantB: true},
		"it is back": {history: []rounds{{n: 3}, {lostA: true, n: 3}, {n: 1}},
			wantA: true, wantB: true},
		"the other is gone, with its lease": {history: []rounds{{n: 3}, {lostA: true, deadB: true, n: 5}},
			wantA: true, wantB: true},
		"the other ends later": {history: []rounds{{n: 3}, {lostA: true, n: 3},
			{lostA: true, deadB: true, n: 5}}, wantA: true, wantB: true},
		"the other was never ready": {history: []rounds{{unreadyB: true, n: 3}, {lostA: true, unreadyB: true, n: 5}},
			wantA: true, wantB: true},
		"the other is no longer ready": {history: []rounds{{n: 3}, {lostA: true, n: 3},
			{lostA: true, unreadyB: true, n: 5}}, wantA: true, wantB: true},
		"the other has just ended": {history: []rounds{{n: 3}, {lostA: true, n: 3},
			{lostA: true, endedB: true, n: 1}}, wantA: true, wantB: true},
		"the host is unreachable": {history: []rounds{{n: 3}, {lostA: true, broken: true, n: 3}},
			wantA: true, wantB: true},
		"the host becomes unreachable later": {history: []rounds{{n: 3}, {lostA: true, n: 3},
			{lostA: true, broken: true, n: 5}}, wantA: true, wantB: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			h, clock := newHost(), clocktesting.NewFakeClock(time.Now())
			// The other replica's clock is an hour late.
			a, b := newReplica(h, clock), newReplica(h, clocktesting.NewFakeClock(clock.Now().Add(-time.Hour)))
			for _, during := range test.history {
				a.lost.Store(during.lostA)
				b.lost.Store(during.lostB)
				b.unready.Store(during.unreadyB)
				if during.endedB {
					b.remove(t.Context())
				}
				h.broken = during.broken
				for range during.n {
					a.step(t.Context())
					if !during.deadB && !during.endedB {
						b.step(t.Context())
					}
					clock.Step(renewInterval)
				}
			}
			if a.ready() != test.wantA || b.ready() != test.wantB {
				t.Errorf("ready: %t (%v), %t; want %t, %t", a.ready(), a.Check().Check(nil), b.ready(), test.wantA, test.wantB)
			}
		})
	}
}

// TestLeasesAreRemoved: a replica's Lease is removed at its end, or by others after it was
// killed. TestGoaway: a connection is ended as soon as another replica can serve the next one.
func TestGoaway(t *testing.T) {
	h, clock := newHost(), clocktesting.NewFakeClock(time.Unix(1000, 0))
	one, other := newReplica(h, clock), newReplica(h, clock)
	server := httptest.NewUnstartedServer(one.WithGoaway(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	// connections returns the number of connections of several requests.
	connections := func() int {
		t.Helper()
		opened := 0
		ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
			if !info.Reused {
				opened++
			}
		}})
		for range 5 {
			r, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL, nil)
			if err != nil {
				t.Fatal(err)
			}
			response, err := server.Client().Do(r)
			if err != nil {
				t.Fatal(err)
			}
			if response.ProtoMajor != 2 {
				t.Fatalf("the response is %s, want HTTP/2", response.Proto)
			}
			_ = response.Body.Close()
		}
		return opened
	}
	step := func() {
		for _, r := range []*replica{one, other} {
			if err := r.round(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		clock.Step(renewInterval)
	}
	step()
	if opened := connections(); opened != 1 {
		t.Errorf("%d connections are opened, want one that is kept", opened)
	}
	one.lost.Store(true)
	other.lost.Store(true)
	step()
	step()
	if opened := connections(); opened != 0 {
		t.Errorf("%d connections are opened while no replica has the store, want none", opened)
	}
	other.lost.Store(false)
	step()
	step()
	if opened := connections(); opened < 4 {
		t.Errorf("%d connections are opened while another replica has the store, want one for each request", opened)
	}
}

func TestLeasesAreRemoved(t *testing.T) {
	h, clock := newHost(), clocktesting.NewFakeClock(time.Now())
	killed := newReplica(h, clock)
	killed.step(t.Context())
	clock.Step(2 * abandonedAfter)
	alive := newReplica(h, clock)
	alive.step(t.Context())

	r := newReplica(h, clock)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); r.Run(ctx) }()
	names := func(ctx context.Context) map[string]bool {
		leases, err := h.client.CoordinationV1().Leases("website-system").List(ctx,
			metav1.ListOptions{LabelSelector: selector})
		if err != nil {
			t.Error(err)
			return nil
		}
		names := map[string]bool{}
		for _, lease := range leases.Items {
			names[lease.Name] = true
		}
		return names
	}
	if err := wait.PollUntilContextTimeout(ctx, time.Millisecond, time.Minute, true,
		func(ctx context.Context) (bool, error) {
			return names(ctx)[r.name], nil
		}); err != nil {
		t.Fatal("a replica that runs has no lease")
	}
	if got := names(ctx); got[killed.name] || !got[alive.name] {
		t.Errorf("leases %v, want only the leases of running replicas", got)
	}
	stop()
	<-ended
	if got := names(t.Context()); got[r.name] || !got[alive.name] {
		t.Errorf("leases after the end of one replica: %v", got)
	}
}

// TestRenewalWithoutAnswer: a renewal that was stored without a response does not end the renewals.
func TestRenewalWithoutAnswer(t *testing.T) {
	for name, verb := range map[string]string{"create": "create", "update": "update"} {
		t.Run(name, func(t *testing.T) {
			h, clock := newHost(), clocktesting.NewFakeClock(time.Now())
			r := newReplica(h, clock)
			if verb == "update" {
				r.step(t.Context())
			}
			lost := false
			h.client.PrependReactor(verb, "leases", func(action clienttesting.Action) (bool, runtime.Object, error) {
				if lost {
					return false, nil, nil
				}
				lost = true
				lease := action.(interface{ GetObject() runtime.Object }).GetObject().(*coordinationv1.Lease).DeepCopy()
				h.version++
				lease.ResourceVersion = strconv.Itoa(h.version)
				tracker := h.client.Tracker()
				resource := coordinationv1.SchemeGroupVersion.WithResource("leases")
				if verb == "create" {
					return true, nil, errors.Join(tracker.Create(resource, lease, "website-system"), errors.New("timeout"))
				}
				return true, nil, errors.Join(tracker.Update(resource, lease, "website-system"), errors.New("timeout"))
			})
			for range 3 {
				r.step(t.Context())
				clock.Step(renewInterval)
			}
			leases, err := h.client.CoordinationV1().Leases("website-system").List(t.Context(), metav1.ListOptions{})
			if err != nil || len(leases.Items) != 1 {
				t.Fatalf("leases: %v, %v; want one", leases, err)
			}
			if renewed := leases.Items[0].Spec.RenewTime.Time; clock.Since(renewed) > renewInterval {
				t.Errorf("renewed %s ago, want it renewed in the last round", clock.Since(renewed))
			}
		})
	}
}
