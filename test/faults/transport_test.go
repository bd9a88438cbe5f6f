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

// traffic is the calls of a controller for one namespace. It is guarded by the mutex of its wire.
type traffic struct {
	// remote is what the pods of the namespace publish; nil if they are not probed.
	remote *remote
	// calls are those made so far, in order, and counts those of each site.
	calls  []call
	counts map[site]int
	// reached counts the calls that the API server answered, or would have answered had the fault
	// not hidden the answer. A call in flight when the controller crashes is not counted: its
	// successor may make it as well, before the API server handles the first.
	reached map[site]int
	// dead means that no request for this namespace leaves the controller any more.
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

// wire is everything between one controller and the API servers.
type wire struct {
	mu    sync.Mutex
	bases []http.RoundTripper
	// worlds are the namespaces whose calls are recorded and meet faults. The calls for a single
	// one include those outside it, as for the keys of agents.
	worlds map[string]*traffic
	// dead means that no request leaves the controller any more.
	dead bool
	// listing makes the API servers reject streaming lists, as those before Kubernetes 1.34:
	// informers list before they watch.
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

// trafficOf returns the traffic that a call in a namespace belongs to; nil if it is none of the worlds.
func (w *wire) trafficOf(namespace string) *traffic {
	if len(w.worlds) == 1 {
		for _, only := range w.worlds {
			return only
		}
	}
	return w.worlds[namespace]
}

// wrap is the transport.WrapperFunc of a controller's clients.
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
	// A probe goes to a pod, not to the API server, so it is no call that meets faults.
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

// close gives the connections back.
func (w *wire) close() {
	w.die()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, base := range w.bases {
		closeIdle(base)
	}
}

// arm forgets the calls of a world so far, and has the fault meet one to come.
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
