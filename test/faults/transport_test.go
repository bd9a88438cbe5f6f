package faults

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/kubesites/website-apiserver/test/framework"
)

// site is a kind of call to the API server: the verb and the object. Generated names, such as those
// for events, are left out.
type site struct {
	verb, resource, name string
}

func (s site) String() string {
	if s.name == "" {
		return s.verb + " " + s.resource
	}
	return s.verb + " " + s.resource + " " + s.name
}

// rule returns the site in RBAC's terms.
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

// configMapHash ends the name of a ConfigMap, and changes with its content.
var configMapHash = regexp.MustCompile(`-nginx-[0-9a-z]+$`)

// siteOf reads the site and the namespace of a request, as authorization does.
func siteOf(r *http.Request) (s site, namespace string, err error) {
	info, err := framework.RequestInfo.NewRequestInfo(r)
	if err != nil {
		return site{}, "", err
	}
	resource := info.Resource
	if info.APIGroup != "" {
		resource += "." + info.APIGroup
	}
	if info.Subresource != "" {
		resource += "/" + info.Subresource
	}
	name := configMapHash.ReplaceAllString(info.Name, "-nginx-<hash>")
	return site{verb: info.Verb, resource: resource, name: name}, info.Namespace, nil
}

// errDead is the error of every request after a crash.
var errDead = errors.New("the process is dead")

// traffic records the calls of a controller for one namespace. It is guarded by the mutex of
// its wire.
type traffic struct {
	// remote is the repository of the namespace's pods; nil if they are not probed.
	remote *remote
	// calls are all calls so far, in order, and counts is their number by site.
	calls  []call
	counts map[site]int
	// reached counts the calls that the API server answered, also if the fault hid the response. A
	// call in flight when the controller crashes is not counted: its successor may make it as well,
	// before the API server handles the first.
	reached map[site]int
	// dead means that the controller sends no more requests for this namespace.
	dead bool
	// fault happens to the call at; nil if no fault is armed, or it has happened.
	fault *fault
	at    call
	// struck is set once the fault has happened.
	struck bool
}

func newTraffic(remote *remote) *traffic {
	return &traffic{remote: remote, counts: map[site]int{}, reached: map[site]int{}}
}

// next counts a call and returns the fault that it meets, if any.
func (f *traffic) next(s site) (*fault, error) {
	if f.dead {
		return nil, errDead
	}
	c := call{s, f.counts[s]}
	f.counts[s]++
	f.calls = append(f.calls, c)
	strike := f.fault
	if strike == nil || c != f.at {
		return nil, nil
	}
	f.dead = strike.crash && !strike.sent
	f.fault = nil
	return strike, nil
}

// wire connects one controller with the API servers.
type wire struct {
	mu    sync.Mutex
	bases []http.RoundTripper
	// worlds are the namespaces whose calls are recorded and meet faults. The calls for a single
	// one include those outside it, as for the keys of agents.
	worlds map[string]*traffic
	// dead means that the controller sends no more requests.
	dead bool
	// listing makes the API servers reject streaming lists, as servers before Kubernetes 1.34 do:
	// informers then list before they watch.
	listing bool
	// gates hold back watches, by resource.
	gates map[string]*gate
}

func newWire(worlds ...world) *wire {
	w := &wire{worlds: map[string]*traffic{}, gates: map[string]*gate{}}
	for _, world := range worlds {
		w.worlds[world.namespace] = newTraffic(world.remote)
	}
	return w
}

// trafficOf returns the traffic of the world that a call in a namespace belongs to, or nil.
func (w *wire) trafficOf(namespace string) *traffic {
	if len(w.worlds) == 1 {
		for _, only := range w.worlds {
			return only
		}
	}
	return w.worlds[namespace]
}

// wrap is the transport.WrapperFunc for a controller's clients.
func (w *wire) wrap(base http.RoundTripper) http.RoundTripper {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.bases = append(w.bases, base)
	return framework.RoundTripper(func(r *http.Request) (*http.Response, error) { return w.roundTrip(base, r) })
}

func (w *wire) roundTrip(base http.RoundTripper, r *http.Request) (*http.Response, error) {
	s, namespace, err := siteOf(r)
	if err != nil {
		return nil, err
	}
	if w.listing && r.URL.Query().Get("sendInitialEvents") == "true" {
		return refuses(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, 0)(r)
	}
	// A probe goes to a pod, not to the API server: it meets no faults.
	probe := s.rule() == "get pods/proxy"
	at, strike, gate, err := w.next(s, namespace, probe)
	switch {
	case err != nil:
		return nil, err
	case probe && at == nil:
		return nil, errors.New("no pods are simulated in this namespace")
	case probe:
		return at.remote.answer(r)
	case strike != nil:
		return strike.strike(w, at, s, base, r)
	case s.verb == "watch" && gate != nil:
		return gate.watch(base, r)
	}
	response, err := base.RoundTrip(r)
	if err == nil && at != nil {
		w.answered(at, s)
	}
	return response, err
}

// next counts a call, and returns the traffic it belongs to, its fault and the gate of its resource.
func (w *wire) next(s site, namespace string, probe bool) (at *traffic, strike *fault, gate *gate, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.dead {
		return nil, nil, nil, errDead
	}
	at = w.trafficOf(namespace)
	switch {
	case at == nil:
	case probe && at.dead:
		err = errDead
	case !probe:
		strike, err = at.next(s)
	}
	return at, strike, w.gates[s.resource], err
}

// answered counts a call that the API server has answered while its controller lived.
func (w *wire) answered(at *traffic, s site) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.dead && !at.dead {
		at.reached[s]++
	}
}

// happened records that the fault of a namespace has happened, and ends its traffic after a crash.
func (w *wire) happened(at *traffic, crash bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	at.struck = true
	at.dead = at.dead || crash
}

// die cuts the wire.
func (w *wire) die() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dead = true
}

// close closes the idle connections.
func (w *wire) close() {
	w.die()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, base := range w.bases {
		closeIdle(base)
	}
}

// arm forgets the calls of a world so far, and arms a fault for a later call.
func (w *wire) arm(in world, f *fault, at call) {
	w.mu.Lock()
	defer w.mu.Unlock()
	armed := newTraffic(in.remote)
	armed.fault, armed.at = f, at
	w.worlds[in.namespace] = armed
}

// made returns the calls for a world so far, in order.
func (w *wire) made(in world) []call {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.worlds[in.namespace].calls)
}

// writes counts the writes for a world that reached the API server, by site.
func (w *wire) writes(in world) map[site]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	writes := maps.Clone(w.worlds[in.namespace].reached)
	maps.DeleteFunc(writes, func(s site, _ int) bool { return !s.mutating() })
	return writes
}

// struck reports whether the fault of a world has happened.
func (w *wire) struck(in world) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.worlds[in.namespace].struck
}
