package routes

import (
	"cmp"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
	clocktesting "k8s.io/utils/clock/testing"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	gatewayfake "sigs.k8s.io/gateway-api/pkg/client/clientset/versioned/fake"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/cached"
	"github.com/kubesites/website-apiserver/pkg/controller/website/children"
	"github.com/kubesites/website-apiserver/pkg/controller/website/queue"
)

// TestHandover: the routes of a Website that has given a host up stay until the routes of its new
// owner are accepted, or a deadline.
func TestHandover(t *testing.T) {
	const host = "shop.example.com"
	routeOf := func(website *v1beta1.Website, accepted metav1.ConditionStatus) *gatewayv1.HTTPRoute {
		controls := true
		route := &gatewayv1.HTTPRoute{
			ObjectMeta: metav1.ObjectMeta{Namespace: website.Namespace, Name: website.Name, Generation: 1,
				OwnerReferences: []metav1.OwnerReference{{
					APIVersion: v1beta1.SchemeGroupVersion.String(), Kind: "Website", Name: website.Name, UID: website.UID,
					Controller: &controls,
				}}},
			Spec: gatewayv1.HTTPRouteSpec{
				CommonRouteSpec: gatewayv1.CommonRouteSpec{ParentRefs: []gatewayv1.ParentReference{{Name: "public"}}},
				Hostnames:       []gatewayv1.Hostname{host},
			},
		}
		if accepted != "" {
			route.Status.Parents = []gatewayv1.RouteParentStatus{{ParentRef: gatewayv1.ParentReference{Name: "public"},
				Conditions: []metav1.Condition{
					{Type: string(gatewayv1.RouteConditionAccepted), Status: accepted, ObservedGeneration: 1},
					{Type: string(gatewayv1.RouteConditionResolvedRefs), Status: metav1.ConditionTrue, ObservedGeneration: 1},
				}}}
		}
		return route
	}
	websiteIn := func(namespace string, hosts ...string) *v1beta1.Website {
		return newWebsite(func(w *v1beta1.Website) {
			w.Namespace, w.UID, w.Spec.Hosts = namespace, types.UID(namespace), hostsOf(hosts...)
		})
	}
	tests := map[string]struct {
		heir     *v1beta1.Website
		accepted metav1.ConditionStatus
		hasRoute bool
		// elsewhere is the namespace of the new owner's route, if it differs.
		elsewhere string
		after     time.Duration
		waits     bool
	}{
		"no Website gets it":   {},
		"another one gets it":  {heir: websiteIn("heir", host), waits: true},
		"its route is pending": {heir: websiteIn("heir", host), hasRoute: true, waits: true},
		"its route is rejected": {heir: websiteIn("heir", host), hasRoute: true,
			accepted: metav1.ConditionFalse, waits: true},
		"its route is accepted": {heir: websiteIn("heir", host), hasRoute: true, accepted: metav1.ConditionTrue},
		"a route elsewhere with its UID": {heir: websiteIn("heir", host), hasRoute: true, elsewhere: "third",
			accepted: metav1.ConditionTrue, waits: true},
		"another one gets another host":     {heir: websiteIn("heir", "www.example.com")},
		"its route is never accepted":       {heir: websiteIn("heir", host), after: handoverLimit},
		"its route is not accepted in time": {heir: websiteIn("heir", host), after: handoverLimit - time.Second, waits: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			clock := clocktesting.NewFakeClock(testNow)
			website := websiteIn("former")
			index := cache.NewIndexer(cache.MetaNamespaceKeyFunc, Indexers(Defaults{}))
			stores := children.RouteStores{}
			for _, store := range []*cache.Indexer{&stores.HTTPRoutes, &stores.ListenerSets, &stores.Ingresses} {
				*store = cache.NewIndexer(cache.MetaNamespaceKeyFunc, cached.IndexByOwner())
			}
			add := func(store cache.Indexer, obj any) {
				if err := store.Add(obj); err != nil {
					t.Fatal(err)
				}
			}
			add(index, website)
			add(stores.HTTPRoutes, cached.OfHTTPRoute(routeOf(website, metav1.ConditionTrue)))
			if test.heir != nil {
				add(index, test.heir)
			}
			if test.hasRoute {
				route := routeOf(test.heir, test.accepted)
				route.Namespace = cmp.Or(test.elsewhere, route.Namespace)
				add(stores.HTTPRoutes, cached.OfHTTPRoute(route))
			}
			r, since := &Routes{websites: index, children: &children.Children{}, clock: clock, queue: queue.New(clock)},
				&time.Time{}
			r.children.AddRoutes(fake.NewClientset(), gatewayfake.NewClientset(), stores, children.Owners{})
			first := r.handsOver(website, nil, since)
			clock.Step(test.after)
			if got := r.handsOver(website, nil, since); (got != "") != test.waits {
				t.Errorf("waits %q at first and %q after %s, want %v", first, got, test.after, test.waits)
			}
			if kept := r.handsOver(website, []string{host}, since); kept != "" {
				t.Errorf("a host that the Website has waits: %s", kept)
			}
		})
	}
}
