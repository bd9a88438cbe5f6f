package routes

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/cached"
	"github.com/kubesites/website-apiserver/pkg/controller/website/status"
)

// expectation is a condition that a controller of Gateways sets, and the obstacle if it is missing.
type expectation struct {
	condition string
	want      metav1.ConditionStatus
	reason    string
}

// The expected conditions of each kind, in the order of their dependencies.
var (
	ofGateway = []expectation{
		{string(gatewayv1.GatewayConditionAccepted), metav1.ConditionTrue, v1beta1.WebsiteReasonGatewayNotProgrammed},
		{string(gatewayv1.GatewayConditionProgrammed), metav1.ConditionTrue, v1beta1.WebsiteReasonGatewayNotProgrammed},
	}
	ofListener = []expectation{
		{string(gatewayv1.ListenerConditionConflicted), metav1.ConditionFalse, v1beta1.WebsiteReasonListenerConflicted},
		{string(gatewayv1.ListenerConditionResolvedRefs), metav1.ConditionTrue, v1beta1.WebsiteReasonReferencesNotResolved},
		{string(gatewayv1.ListenerConditionAccepted), metav1.ConditionTrue, v1beta1.WebsiteReasonRouteNotAccepted},
	}
	ofListenerSet = []expectation{
		{string(gatewayv1.ListenerSetConditionAccepted), metav1.ConditionTrue, v1beta1.WebsiteReasonRouteNotAccepted},
	}
	ofRoute = []expectation{
		{string(gatewayv1.RouteConditionAccepted), metav1.ConditionTrue, v1beta1.WebsiteReasonRouteNotAccepted},
		{string(gatewayv1.RouteConditionResolvedRefs), metav1.ConditionTrue, v1beta1.WebsiteReasonReferencesNotResolved},
	}
)

// obstacleOf returns the obstacle for requests to the site, according to the conditions of Gateways
// and of the children of a Website, or nil. Failures come before pending conditions.
func obstacleOf(gateways []*gatewayv1.Gateway, sets []*cached.ListenerSet,
	routes []*cached.HTTPRoute) *status.Obstacle {
	var pending *status.Obstacle
	for _, found := range slices.Concat(gatewayObstacles(gateways), setObstacles(sets), routeObstacles(routes)) {
		switch {
		case found == nil:
		case !found.Pending:
			return found
		case pending == nil:
			pending = found
		}
	}
	return pending
}

func gatewayObstacles(gateways []*gatewayv1.Gateway) []*status.Obstacle {
	var found []*status.Obstacle
	for _, gateway := range gateways {
		what := fmt.Sprintf("Gateway %q of namespace %q", gateway.Name, gateway.Namespace)
		found = append(found, obstacle(what, gateway.Generation, gateway.Status.Conditions, ofGateway))
	}
	return found
}

func setObstacles(sets []*cached.ListenerSet) []*status.Obstacle {
	var found []*status.Obstacle
	for _, set := range sets {
		// Listeners first: their failure is the reason why the set is not accepted.
		for _, listener := range set.Listeners {
			what := fmt.Sprintf("listener %q of ListenerSet %q", listener.Name, set.Name)
			found = append(found, obstacle(what, set.Generation, listener.Conditions, ofListener))
		}
		found = append(found, obstacle(fmt.Sprintf("ListenerSet %q", set.Name), set.Generation,
			set.Conditions, ofListenerSet))
	}
	return found
}

func routeObstacles(routes []*cached.HTTPRoute) []*status.Obstacle {
	var found []*status.Obstacle
	for _, route := range routes {
		what := fmt.Sprintf("HTTPRoute %q", route.Name)
		for _, ref := range route.Parents {
			reported := false
			for _, parent := range route.Status {
				if isSameParent(route, ref, parent.ParentRef) {
					reported = true
					found = append(found, obstacle(what, route.Generation, parent.Conditions, ofRoute))
				}
			}
			if !reported {
				found = append(found, obstacle(what, route.Generation, nil, ofRoute))
			}
		}
	}
	return found
}

// isSameParent reports whether two references of a route are to the same Gateway or ListenerSet. The
// status entries of other parents stay if their controller is gone: nothing else removes them.
func isSameParent(route *cached.HTTPRoute, ref, parent gatewayv1.ParentReference) bool {
	return ref.Name == parent.Name && ptr.Deref(ref.Kind, "Gateway") == ptr.Deref(parent.Kind, "Gateway") &&
		ptr.Deref(ref.Namespace, gatewayv1.Namespace(route.Namespace)) == ptr.Deref(parent.Namespace,
			gatewayv1.Namespace(route.Namespace))
}

// obstacle returns the first expectation that conditions do not meet, or nil. A condition about an
// earlier generation, or without a definite status, is pending. A missing condition about conflicts
// is ignored.
func obstacle(what string, generation int64, conditions []metav1.Condition, expected []expectation) *status.Obstacle {
	for _, e := range expected {
		condition := meta.FindStatusCondition(conditions, e.condition)
		switch {
		case condition == nil && e.want == metav1.ConditionFalse:
		case condition == nil || condition.Status == metav1.ConditionUnknown || condition.ObservedGeneration < generation:
			return &status.Obstacle{Reason: v1beta1.WebsiteReasonRoutePending, Pending: true,
				Message: fmt.Sprintf("%s has no current condition %s yet: its controller sets it", what, e.condition)}
		case condition.Status != e.want:
			message := condition.Message
			if message == "" {
				message = condition.Reason
			}
			return &status.Obstacle{Reason: e.reason, Message: fmt.Sprintf("%s has the condition %s=%s: %s", what, e.condition,
				condition.Status, message)}
		}
	}
	return nil
}

// ingressObstacle returns the obstacle for requests to the site, according to the status of an
// Ingress, or nil. The status has only an address.
func ingressObstacle(ingress *cached.Ingress) *status.Obstacle {
	switch {
	case len(ingress.Addresses) > 0:
		return nil
	case ingress.Class == nil:
		return &status.Obstacle{Reason: v1beta1.WebsiteReasonRoutePending, Pending: true,
			Message: fmt.Sprintf("Ingress %q has no class, and the cluster no default: set spec.routing, or --default-gateway "+
				"or --default-ingress-class of website-controller", ingress.Name)}
	default:
		return &status.Obstacle{Reason: v1beta1.WebsiteReasonRoutePending, Pending: true,
			Message: fmt.Sprintf("Ingress %q has no address yet: the controller of the IngressClass %q sets it", ingress.Name,
				*ingress.Class)}
	}
}
