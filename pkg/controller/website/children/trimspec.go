package children

import (
	"slices"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

const (
	// maxItems bounds what is kept of a list. The controller makes none as long, but another client can make one as
	// long as an object can be, which takes many times its size in memory.
	maxItems = 16
	// maxRules is more than the hosts of a Website, each of which has a rule in an Ingress.
	maxRules = 100
)

// FirstOf returns the first items of a list, which are all if the controller has made it. The others do
// not stay in memory.
func FirstOf[T any](list []T) []T { return firstOf(list, maxItems) }

func firstOf[T any](list []T, most int) []T {
	if len(list) <= most {
		return list
	}
	return slices.Clone(list[:most])
}

// trimSelector drops a selector with more labels than the controller before this one, or this one,
// has ever selected by.
func trimSelector(selector map[string]string) map[string]string {
	if len(selector) > maxItems {
		return nil
	}
	return internKeys(selector)
}

// trimLabelSelector is trimSelector. No controller of Websites has selected by expressions, and without them
// a selector would match more.
func trimLabelSelector(selector *metav1.LabelSelector) *metav1.LabelSelector {
	if selector == nil || len(selector.MatchLabels) > maxItems || len(selector.MatchExpressions) > 0 {
		return nil
	}
	return &metav1.LabelSelector{MatchLabels: internKeys(selector.MatchLabels)}
}

// trimIngress keeps the hosts of an Ingress and its class.
func trimIngress(ingress *networkingv1.Ingress) {
	var rules []networkingv1.IngressRule
	for _, rule := range firstOf(ingress.Spec.Rules, maxRules) {
		rules = append(rules, networkingv1.IngressRule{Host: rule.Host})
	}
	// Whether it has any TLS is read, and no more.
	tls := make([]networkingv1.IngressTLS, min(len(ingress.Spec.TLS), 1))
	ingress.Spec = networkingv1.IngressSpec{IngressClassName: ingress.Spec.IngressClassName, Rules: rules, TLS: tls}
}

// trimListenerSet keeps the hosts of a ListenerSet, whose number the API limits.
func trimListenerSet(set *gatewayv1.ListenerSet) {
	var listeners []gatewayv1.ListenerEntry
	for _, listener := range set.Spec.Listeners {
		listeners = append(listeners, gatewayv1.ListenerEntry{Name: listener.Name, Hostname: listener.Hostname})
	}
	set.Spec = gatewayv1.ListenerSetSpec{Listeners: listeners}
}
