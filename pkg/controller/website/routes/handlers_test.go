package routes

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	gatewayfake "sigs.k8s.io/gateway-api/pkg/client/clientset/versioned/fake"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/cached"
	"github.com/kubesites/website-apiserver/pkg/controller/website/queue"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
)

// routeHandlers are event handlers over an index that a test fills.
type routeHandlers struct {
	*testing.T
	*Routes
}

func newRouteHandlers(t *testing.T, defaults Defaults, websites ...*v1beta1.Website) *routeHandlers {
	t.Helper()
	index, kube := cache.NewIndexer(cache.MetaNamespaceKeyFunc, Indexers(defaults)), fake.NewClientset()
	work := queue.New(clock.RealClock{})
	watched := WatchConfig{Gateway: gatewayfake.NewClientset(), Kube: kube}
	h := &routeHandlers{T: t, Routes: New(Config{Watch: watched, Defaults: defaults}, Controller{
		Websites: index, Queue: work, Clock: clock.RealClock{}, ChildHandler: cache.ResourceEventHandlerFuncs{},
		EnqueueOwner: func(child metav1.ObjectMetaAccessor, p queue.Priority) {
			key, _, _ := cached.OwnerOf(child.GetObjectMeta())
			work.EnqueueAs(key, p)
		},
	})}
	t.Cleanup(h.queue.ShutDown)
	h.queue.Running.Store(true)
	for _, website := range websites {
		h.set(website)
	}
	return h
}

// set adds a Website to the index.
func (h *routeHandlers) set(website *v1beta1.Website) {
	if err := h.websites.Update(website); err != nil {
		h.Fatal(err)
	}
}

// unset removes a Website from the index.
func (h *routeHandlers) unset(website *v1beta1.Website) {
	if err := h.websites.Delete(website); err != nil {
		h.Fatal(err)
	}
}

// queued returns the Websites that were queued since the last call.
func (h *routeHandlers) queued() string {
	var names []string
	for h.queue.Len() > 0 {
		key, _ := h.queue.Get()
		h.queue.Done(key)
		names = append(names, key.String())
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// hosted returns a Website with hosts and an age in hours.
func hosted(namespace, name string, age int, hosts ...string) *v1beta1.Website {
	return newWebsite(func(w *v1beta1.Website) {
		w.Namespace, w.Name, w.UID = namespace, name, types.UID(namespace+"/"+name)
		w.CreationTimestamp, w.Spec.Hosts = metav1.NewTime(testNow.Add(-time.Duration(age)*time.Hour)), hostsOf(hosts...)
	})
}

// TestGatewayEvents: a Gateway queues only the Websites that use it, and only for relevant changes.
func TestGatewayEvents(t *testing.T) {
	const host = "a.example.com"
	through := func(website *v1beta1.Website, namespace, gateway string) *v1beta1.Website {
		website.Spec.Routing.ParentRefs = append(website.Spec.Routing.ParentRefs,
			v1beta1.ParentReference{Namespace: namespace, Name: gateway})
		return website
	}
	byClass := hosted("a", "class", 1, host)
	byClass.Spec.Routing.IngressClassName = "nginx"
	removed := hosted("a", "removed", 1)
	removed.Status.Hosts = []v1beta1.WebsiteHostStatus{{Name: host}}
	moved := through(hosted("b", "moved", 1, host), "b", "edge")
	h := newRouteHandlers(t, Defaults{Gateway: cache.NewObjectName("infra", "public")},
		hosted("a", "default", 1, host), hosted("a", "none", 1), byClass, removed, moved,
		through(hosted("a", "own", 1, host), "", "edge"), through(hosted("b", "named", 1, host), "a", "edge"),
		through(through(hosted("d", "two", 1, host), "", "edge"), "a", "edge"))
	if err := h.Stores().HTTPRoutes.Add(cached.OfHTTPRoute(&gatewayv1.HTTPRoute{
		ObjectMeta: metav1.ObjectMeta{Namespace: "b", Name: "moved", OwnerReferences: []metav1.OwnerReference{{
			APIVersion: v1beta1.SchemeGroupVersion.String(), Kind: resources.Kind, Name: "moved", UID: moved.UID,
			Controller: ptr.To(true)}}},
		Spec: gatewayv1.HTTPRouteSpec{CommonRouteSpec: gatewayv1.CommonRouteSpec{ParentRefs: []gatewayv1.ParentReference{{
			Namespace: ptr.To(gatewayv1.Namespace("c")), Name: "before"}}}},
	})); err != nil {
		t.Fatal(err)
	}
	handler := h.gatewayHandler()
	for _, test := range []struct{ namespace, name, want string }{
		{"infra", "public", "a/default a/removed"},
		{"a", "edge", "a/own b/named d/two"},
		{"d", "edge", "d/two"},
		{"b", "edge", "b/moved"},
		{"c", "before", "b/moved"}, // It still has a route there.
		{"a", "public", ""},
		{"tenant", "edited", ""},
	} {
		gateway := &gatewayv1.Gateway{ObjectMeta: metav1.ObjectMeta{Namespace: test.namespace,
			Name: test.name, Generation: 1}}
		changed := gateway.DeepCopy()
		changed.Generation = 2
		for event, send := range map[string]func(){
			"created": func() { handler.OnAdd(gateway, false) },
			"changed": func() { handler.OnUpdate(gateway, changed) },
			"deleted": func() {
				handler.OnDelete(cache.DeletedFinalStateUnknown{Key: test.namespace + "/" + test.name, Obj: gateway})
			},
		} {
			send()
			if got := h.queued(); got != test.want {
				t.Errorf("%s/%s is %s: queued are %q, want %q", test.namespace, test.name, event, got, test.want)
			}
		}
		handler.OnAdd(gateway, true)
		if handler.OnUpdate(gateway, gateway); h.queue.Len() > 0 {
			t.Errorf("%s/%s is listed at the start, or has not changed: queued are %q", test.namespace, test.name, h.queued())
		}
	}
}

// TestRivals: the other Websites with a host are queued when its owner changes, and only then.
func TestRivals(t *testing.T) {
	const x, y = "x.example.com", "y.example.com"
	deleting := func(website *v1beta1.Website) *v1beta1.Website {
		website.DeletionTimestamp = &metav1.Time{Time: testNow}
		return website
	}
	again := func(website *v1beta1.Website) *v1beta1.Website {
		website.UID, website.CreationTimestamp = "again", metav1.NewTime(testNow)
		return website
	}
	for name, test := range map[string]struct {
		before, after *v1beta1.Website
		// rivals are all other Websites.
		rivals []*v1beta1.Website
		want   string
	}{
		"the holder gives it up": {hosted("a", "w", 9, x, y), hosted("a", "w", 9, y),
			[]*v1beta1.Website{hosted("a", "r", 5, x, y), hosted("a", "s", 4, x, y)}, "a/r a/s"},
		"the holder is deleted": {hosted("a", "w", 9, x), nil,
			[]*v1beta1.Website{hosted("a", "r", 5, x)}, "a/r"},
		"the holder is being deleted": {hosted("a", "w", 9, x), deleting(hosted("a", "w", 9, x)),
			[]*v1beta1.Website{hosted("a", "r", 5, x)}, "a/r"},
		"and then it is gone": {deleting(hosted("a", "w", 9, x)), nil,
			[]*v1beta1.Website{hosted("a", "r", 5, x)}, ""},
		"the holder is replaced by a young one": {hosted("a", "w", 9, x), again(hosted("a", "w", 9, x)),
			[]*v1beta1.Website{hosted("a", "r", 5, x)}, "a/r"},
		"an older one claims it": {hosted("a", "w", 9), hosted("a", "w", 9, x),
			[]*v1beta1.Website{hosted("a", "r", 5, x)}, "a/r"},
		"an older one is created": {nil, hosted("a", "w", 9, x),
			[]*v1beta1.Website{hosted("a", "r", 5, x)}, "a/r"},
		"an older one is created elsewhere": {nil, hosted("b", "w", 9, x),
			[]*v1beta1.Website{hosted("a", "r", 5, x), hosted("a", "s", 4, x), hosted("c", "stranger", 4, x)}, "a/r a/s"},
		"the holder elsewhere gives it up": {hosted("b", "w", 9, x), hosted("b", "w", 9),
			[]*v1beta1.Website{hosted("a", "r", 5, x), hosted("c", "stranger", 4, x)}, "a/r"},
		"a younger one claims it": {hosted("a", "w", 1), hosted("a", "w", 1, x),
			[]*v1beta1.Website{hosted("a", "r", 5, x)}, ""},
		"a younger one gives it up": {hosted("a", "w", 1, x), hosted("a", "w", 1),
			[]*v1beta1.Website{hosted("a", "r", 5, x)}, ""},
		"a younger one is deleted": {hosted("a", "w", 1, x), nil, []*v1beta1.Website{hosted("a", "r", 5, x)}, ""},
		"a younger one is created": {nil, hosted("a", "w", 1, x), []*v1beta1.Website{hosted("a", "r", 5, x)}, ""},
		"older than one being deleted": {nil, hosted("a", "w", 1, x),
			[]*v1beta1.Website{deleting(hosted("a", "r", 5, x)), hosted("a", "s", 0, x)}, "a/r a/s"},
		"the holder gets one more host": {hosted("a", "w", 9, x), hosted("a", "w", 9, x, "z.example.com"),
			[]*v1beta1.Website{hosted("a", "r", 5, x)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			h := newRouteHandlers(t, Defaults{}, test.rivals...)
			if test.after != nil {
				h.set(test.after)
			}
			h.EnqueueRivals(test.before, test.after)
			if got := h.queued(); got != test.want {
				t.Errorf("queued are %q, want %q", got, test.want)
			}
			h.queue.Running.Store(false)
			h.websites = nil // It is not read.
			h.EnqueueRivals(test.before, test.after)
		})
	}
}

// TestRivalsOfLaterStates: handlers may be called when the index has later changes already. Of two
// changed Websites, one of the events queues the final owner of the host, and one the others.
func TestRivalsOfLaterStates(t *testing.T) {
	const x = "x.example.com"
	rival := hosted("a", "r", 5, x)
	old, older := hosted("a", "old", 8, x), hosted("a", "older", 9, x)
	for name, test := range map[string]struct {
		// events are pairs of a Website before and after a change.
		events [][2]*v1beta1.Website
		want   string
	}{
		"deleted, and an older one created": {[][2]*v1beta1.Website{{old, nil}, {nil, older}}, "a/r"},
		"an older one created, and deleted": {[][2]*v1beta1.Website{{nil, older}, {old, nil}}, "a/r"},
		"both deleted":                      {[][2]*v1beta1.Website{{older, nil}, {old, nil}}, "a/r"},
		"deleted and created again":         {[][2]*v1beta1.Website{{old, nil}, {nil, old}}, "a/r"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newRouteHandlers(t, Defaults{}, rival)
			for _, event := range test.events {
				if event[0] != nil {
					h.unset(event[0])
				}
				if event[1] != nil {
					h.set(event[1])
				}
			}
			for _, event := range test.events {
				h.EnqueueRivals(event[0], event[1])
			}
			if got := h.queued(); got != test.want {
				t.Errorf("queued are %q, want %q", got, test.want)
			}
		})
	}
}

// TestManyRivals: a change of a Website that owns none of its hosts queues none of the many others
// with the same hosts.
func TestManyRivals(t *testing.T) {
	var hosts []string
	for i := range 64 {
		hosts = append(hosts, fmt.Sprintf("%d.example.com", i))
	}
	h := newRouteHandlers(t, Defaults{})
	for i := range 100 {
		h.set(hosted("a", fmt.Sprint(i), 200-i, hosts...))
	}
	before := hosted("a", "50", 150, hosts...)
	after := hosted("a", "50", 150, hosts[1:]...)
	after.Generation++
	h.set(after)
	h.EnqueueRivals(before, after)
	if got := h.queued(); got != "" {
		t.Errorf("queued are %q, want none", got)
	}
	after = hosted("a", "0", 200)
	h.set(after)
	h.EnqueueRivals(hosted("a", "0", 200, hosts...), after)
	if got := len(strings.Fields(h.queued())); got != 99 {
		t.Errorf("%d are queued when the one that has the hosts gives them up, want all others", got)
	}
}
