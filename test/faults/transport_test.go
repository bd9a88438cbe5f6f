package faults

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/kubesites/website-apiserver/test/framework"
)

// site is where the controller calls the API server: what it does to which
// object. Names that the controller makes up (those of events) are left out.
type site struct {
	verb, resource, name string
}

func (s site) String() string {
	if s.name == "" {
		return s.verb + " " + s.resource
	}
	return s.verb + " " + s.resource + " " + s.name
}

// rule is the site as RBAC sees it.
func (s site) rule() string { return s.verb + " " + s.resource }

func (s site) mutating() bool {
	return sets.New("create", "update", "patch", "delete", "deletecollection").Has(s.verb)
}

// call is the nth call, from 0, at a site.
type call struct {
	site
	n int
}

func (c call) String() string { return fmt.Sprintf("%s #%d", c.site, c.n+1) }

// siteOf reads from a request what RBAC will.
func siteOf(r *http.Request) (site, error) {
	info, err := framework.RequestInfo.NewRequestInfo(r)
	if err != nil {
		return site{}, err
	}
	resource := info.Resource
	if info.APIGroup != "" {
		resource += "." + info.APIGroup
	}
	if info.Subresource != "" {
		resource += "/" + info.Subresource
	}
	return site{verb: info.Verb, resource: resource, name: info.Name}, nil
}

// errDead is what a crashed controller gets from its network.
var errDead = errors.New("the process is dead")

// wire is everything between one controller and the API servers.
type wire struct {
	mu sync.Mutex
	// calls are those made so far, in order.
	calls  []call
	counts map[site]int
	bases  []http.RoundTripper
	// reached is how many calls the API server answered, or was to answer a
	// controller that a fault kept from seeing it. A call that is under way when
	// its controller crashes is none of them: its successor may make it as well,
	// before the API server has got to the first.
	reached map[site]int
	// dead means that nothing goes out any more.
	dead bool

	// listing makes the API servers ones that do not stream lists, as those before
	// Kubernetes 1.34: informers list before they watch.
	listing bool

	// remote is what pods publish; nil where pods are not probed. It is set before
	// the first call.
	remote *remote

	// fault is what happens to the call at; nil when nothing does, or did already.
	fault *fault
	at    call
	// fired is closed once it has happened.
	fired chan struct{}
	// gates hold back watches, by resource.
	gates map[string]*gate
}

func newWire() *wire {
	return &wire{counts: map[site]int{}, reached: map[site]int{}, fired: make(chan struct{}), gates: map[string]*gate{}}
}

// wrap is the transport.WrapperFunc of a controller's clients.
func (w *wire) wrap(base http.RoundTripper) http.RoundTripper {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.bases = append(w.bases, base)
	return framework.RoundTripper(func(r *http.Request) (*http.Response, error) { return w.roundTrip(base, r) })
}

func (w *wire) roundTrip(base http.RoundTripper, r *http.Request) (*http.Response, error) {
	s, err := siteOf(r)
	if err != nil {
		return nil, err
	}
	if w.listing && r.URL.Query().Get("sendInitialEvents") == "true" {
		return refuses(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, 0)(r)
	}
	if s.rule() == "get pods/proxy" {
		// The pods are asked, not the API server, so it is no call of those that
		// meet faults.
		if w.isDead() {
			return nil, errDead
		}
		return w.remote.answer(r)
	}
	strike, gate, err := w.next(s)
	if err != nil {
		return nil, err
	}
	if strike != nil {
		defer close(w.fired)
		return strike.strike(w, s, base, r)
	}
	if s.verb == "watch" && gate != nil {
		return gate.watch(base, r)
	}
	response, err := base.RoundTrip(r)
	if err == nil {
		w.answered(s)
	}
	return response, err
}

// answered counts a call that got through while its controller lived.
func (w *wire) answered(s site) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.dead {
		w.reached[s]++
	}
}

// next counts a call and returns the fault that it meets, if any.
func (w *wire) next(s site) (*fault, *gate, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.dead {
		return nil, nil, errDead
	}
	c := call{s, w.counts[s]}
	w.counts[s]++
	w.calls = append(w.calls, c)
	strike := w.fault
	if strike == nil || c != w.at {
		return nil, w.gates[s.resource], nil
	}
	if strike.crash && !strike.sent {
		w.dead = true
	}
	w.fault = nil
	return strike, nil, nil
}

func (w *wire) isDead() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.dead
}

// die cuts the wire.
func (w *wire) die() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dead = true
}

// close gives the connections back.
func (w *wire) close() {
	w.die()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, base := range w.bases {
		closeIdle(base)
	}
}

// arm forgets the calls so far and has the fault meet those to come.
func (w *wire) arm(f *fault, at call) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls, w.counts, w.reached = nil, map[site]int{}, map[site]int{}
	w.fault, w.at = f, at
}

// made returns the calls so far, in order.
func (w *wire) made() []call {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.calls)
}

// writes returns how often which site was written that got through.
func (w *wire) writes() map[site]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	writes := map[site]int{}
	for s, n := range w.reached {
		if s.mutating() {
			writes[s] = n
		}
	}
	return writes
}

// hasFired reports whether the fault has happened.
func (w *wire) hasFired() bool {
	select {
	case <-w.fired:
		return true
	default:
		return false
	}
}
