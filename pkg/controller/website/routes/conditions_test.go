package routes

import (
	"strings"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/cached"
)

// conditions returns conditions of generation 2, of the form "Accepted" or "!Accepted".
func conditions(kinds ...string) []metav1.Condition {
	var conditions []metav1.Condition
	for _, kind := range kinds {
		name, isFalse := strings.CutPrefix(kind, "!")
		status := metav1.ConditionTrue
		if isFalse {
			status = metav1.ConditionFalse
		}
		conditions = append(conditions, metav1.Condition{Type: name, Status: status, Reason: "Tested",
			Message: "words of " + name, ObservedGeneration: 2})
	}
	return conditions
}

func TestObstacle(t *testing.T) {
	old := conditions("Accepted", "ResolvedRefs")
	old[0].ObservedGeneration = 1
	tests := map[string]struct {
		gateway, set, listener, route []metav1.Condition
		// noParents leaves the status of the route empty, and formerParent adds an entry of a
		// controller that is gone.
		noParents, formerParent bool
		reason, message         string
		pending                 bool
	}{
		"none": {},
		"Gateway without status": {gateway: []metav1.Condition{}, reason: v1beta1.WebsiteReasonRoutePending,
			message: `Gateway "edge" of namespace "infra" has no current condition Accepted`, pending: true},
		"Gateway not programmed": {gateway: conditions("Accepted", "!Programmed"),
			reason: v1beta1.WebsiteReasonGatewayNotProgrammed, message: "words of Programmed"},
		"set not allowed": {set: conditions("!Accepted"), reason: v1beta1.WebsiteReasonRouteNotAccepted,
			message: `ListenerSet "site"`},
		"listener in conflict": {set: conditions("!Accepted"), listener: conditions("Conflicted", "ResolvedRefs",
			"Accepted"), reason: v1beta1.WebsiteReasonListenerConflicted, message: `listener "https.a.example.com"`},
		"certificate missing": {listener: conditions("!Conflicted", "!ResolvedRefs"),
			reason: v1beta1.WebsiteReasonReferencesNotResolved, message: "words of ResolvedRefs"},
		"route without parents": {noParents: true, reason: v1beta1.WebsiteReasonRoutePending, pending: true},
		"former parent":         {formerParent: true},
		"only a former parent": {noParents: true, formerParent: true,
			reason: v1beta1.WebsiteReasonRoutePending, pending: true},
		"route of before": {route: old, reason: v1beta1.WebsiteReasonRoutePending, pending: true},
		"route not accepted": {route: conditions("!Accepted", "ResolvedRefs"),
			reason: v1beta1.WebsiteReasonRouteNotAccepted, message: `HTTPRoute "site"`},
		"Service not found": {route: conditions("Accepted", "!ResolvedRefs"),
			reason: v1beta1.WebsiteReasonReferencesNotResolved},
		"wrong before pending": {gateway: []metav1.Condition{}, route: conditions("!Accepted"),
			reason: v1beta1.WebsiteReasonRouteNotAccepted},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			or := func(given []metav1.Condition, kinds ...string) []metav1.Condition {
				if given != nil {
					return given
				}
				return conditions(kinds...)
			}
			gateway := &gatewayv1.Gateway{ObjectMeta: metav1.ObjectMeta{Name: "edge", Namespace: "infra", Generation: 2}}
			gateway.Status.Conditions = or(test.gateway, "Accepted", "Programmed")
			set := &gatewayv1.ListenerSet{ObjectMeta: metav1.ObjectMeta{Name: "site", Generation: 2}}
			set.Status.Conditions = or(test.set, "Accepted")
			set.Status.Listeners = []gatewayv1.ListenerEntryStatus{
				{Name: "https.a.example.com", Conditions: or(test.listener, "ResolvedRefs", "Accepted")},
			}
			route := &gatewayv1.HTTPRoute{ObjectMeta: metav1.ObjectMeta{Namespace: "infra", Name: "site", Generation: 2}}
			route.Spec.ParentRefs = []gatewayv1.ParentReference{{Name: "edge", SectionName: new(gatewayv1.SectionName("https"))}}
			if !test.noParents {
				parent := gatewayv1.ParentReference{Kind: new(gatewayv1.Kind("Gateway")),
					Namespace: new(gatewayv1.Namespace("infra")), Name: "edge"}
				route.Status.Parents = []gatewayv1.RouteParentStatus{
					{ParentRef: parent, Conditions: or(test.route, "Accepted", "ResolvedRefs")},
				}
			}
			if test.formerParent {
				former := gatewayv1.RouteParentStatus{ParentRef: gatewayv1.ParentReference{Name: "former"},
					Conditions: conditions("!Accepted")}
				route.Status.Parents = append(route.Status.Parents, former)
			}
			found := obstacleOf([]*gatewayv1.Gateway{gateway}, []*cached.ListenerSet{cached.OfListenerSet(set)},
				[]*cached.HTTPRoute{cached.OfHTTPRoute(route)})
			switch {
			case found == nil && test.reason != "", found != nil &&
				(found.Reason != test.reason || found.Pending != test.pending || !strings.Contains(found.Message, test.message)):
				t.Errorf("obstacle %+v, want %s (%q), pending %t", found, test.reason, test.message, test.pending)
			}
		})
	}
}

func TestIngressObstacle(t *testing.T) {
	ingress := cached.OfIngress(&networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Name: "site"}})
	if found := ingressObstacle(ingress); found == nil || !found.Pending || !strings.Contains(found.Message, "no class") {
		t.Errorf("without a class: %+v", found)
	}
	ingress.Class = new("nginx")
	if found := ingressObstacle(ingress); found == nil || !found.Pending ||
		!strings.Contains(found.Message, "no address") {
		t.Errorf("without an address: %+v", found)
	}
	ingress.Addresses = []networkingv1.IngressLoadBalancerIngress{{IP: "10.0.0.1"}}
	if found := ingressObstacle(ingress); found != nil {
		t.Errorf("with an address: %+v", found)
	}
}
