package routes

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/kubesites/website-apiserver/pkg/controller/website/cached"
)

// trimChild keeps the required fields of a child.
func trimChild(obj any) (any, bool) { return cached.Of(obj), true }

func httpRouteIndexers() cache.Indexers {
	indexers := cached.IndexByOwner()
	indexers[byGateway] = func(obj any) ([]string, error) {
		route, ok := obj.(*cached.HTTPRoute)
		if !ok {
			return nil, nil
		}
		var gateways []string
		for _, parent := range route.Parents {
			if ptr.Deref(parent.Kind, "Gateway") == "Gateway" {
				namespace := ptr.Deref(parent.Namespace, gatewayv1.Namespace(route.Namespace))
				gateways = append(gateways, cache.NewObjectName(string(namespace), string(parent.Name)).String())
			}
		}
		return gateways, nil
	}
	return indexers
}

// trimGateway keeps the required fields of a Gateway: all Gateways are watched, and their annotations
// and selectors can have the maximum size of an object. The API limits the number of listeners.
func trimGateway(obj any) (any, bool) {
	gateway, ok := obj.(*gatewayv1.Gateway)
	if !ok {
		return obj, true
	}
	gateway.ObjectMeta = metav1.ObjectMeta{
		Namespace: gateway.Namespace, Name: gateway.Name, UID: gateway.UID, ResourceVersion: gateway.ResourceVersion,
		Generation: gateway.Generation,
	}
	spec := gatewayv1.GatewaySpec{}
	for _, listener := range gateway.Spec.Listeners {
		spec.Listeners = append(spec.Listeners, gatewayv1.Listener{
			Name: listener.Name, Hostname: listener.Hostname, Port: listener.Port, Protocol: listener.Protocol,
		})
	}
	if allowed := gateway.Spec.AllowedListeners; allowed != nil && allowed.Namespaces != nil {
		spec.AllowedListeners = &gatewayv1.AllowedListeners{
			Namespaces: &gatewayv1.ListenerNamespaces{From: allowed.Namespaces.From},
		}
	}
	gateway.Spec = spec
	return gateway, true
}
