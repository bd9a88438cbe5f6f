package routes

import (
	"reflect"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// TestTrimGateway: all Gateways are in memory, and their creators determine their size.
func TestTrimGateway(t *testing.T) {
	const long = "of any length"
	selector := &metav1.LabelSelector{
		MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: metav1.LabelSelectorOpIn,
			Values: []string{long}}},
	}
	identity := metav1.ObjectMeta{Namespace: "infra", Name: "edge", UID: "u", ResourceVersion: "7", Generation: 2}
	listener := gatewayv1.Listener{Name: "web", Hostname: ptr.To(gatewayv1.Hostname("*.example.com")), Port: 443,
		Protocol: gatewayv1.HTTPSProtocolType}
	allowed := &gatewayv1.ListenerNamespaces{From: ptr.To(gatewayv1.NamespacesFromSelector)}
	status := gatewayv1.GatewayStatus{Conditions: conditions("Accepted"),
		Addresses: []gatewayv1.GatewayStatusAddress{{Value: "192.0.2.1"}}}
	want := &gatewayv1.Gateway{
		ObjectMeta: identity, Status: status,
		Spec: gatewayv1.GatewaySpec{Listeners: []gatewayv1.Listener{listener},
			AllowedListeners: &gatewayv1.AllowedListeners{Namespaces: allowed}},
	}

	gateway := want.DeepCopy()
	gateway.Annotations, gateway.Labels = map[string]string{"a": long}, map[string]string{"a": long}
	gateway.Finalizers, gateway.OwnerReferences = []string{long}, []metav1.OwnerReference{{Name: long}}
	gateway.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: long}}
	gateway.Spec.AllowedListeners.Namespaces.Selector = selector
	gateway.Spec.Listeners[0].AllowedRoutes = &gatewayv1.AllowedRoutes{
		Namespaces: &gatewayv1.RouteNamespaces{Selector: selector},
	}
	for range 2 { // A list may be transformed, and an object of it again.
		got, keep := trimGateway(gateway)
		if !keep || !reflect.DeepEqual(got, want) {
			t.Errorf("kept is %+v (%t), want %+v", got, keep, want)
		}
	}
}
