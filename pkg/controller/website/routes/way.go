package routes

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	networkingv1ac "k8s.io/client-go/applyconfigurations/networking/v1"
	"k8s.io/client-go/tools/cache"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	gatewayv1ac "sigs.k8s.io/gateway-api/applyconfiguration/apis/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
	"github.com/kubesites/website-apiserver/pkg/controller/website/status"
)

// gatewaysOf returns the Gateways that should route the hosts of a Website, sorted by name.
func (d Defaults) gatewaysOf(website *v1beta1.Website) []cache.ObjectName {
	var names []cache.ObjectName
	for _, parent := range website.Spec.Routing.ParentRefs {
		names = append(names, gatewayOf(website, parent))
	}
	if len(names) == 0 && website.Spec.Routing.IngressClassName == "" && d.Gateway != (cache.ObjectName{}) {
		names = append(names, d.Gateway)
	}
	slices.SortFunc(names, func(a, b cache.ObjectName) int { return strings.Compare(a.String(), b.String()) })
	return slices.Compact(names)
}

func gatewayOf(website *v1beta1.Website, parent v1beta1.ParentReference) cache.ObjectName {
	return cache.NewObjectName(cmp.Or(parent.Namespace, website.Namespace), parent.Name)
}

// sectionsOf returns the listeners of a Gateway that a Website names, or none for all.
func sectionsOf(website *v1beta1.Website, gateway cache.ObjectName) []string {
	var sections []string
	for _, parent := range website.Spec.Routing.ParentRefs {
		if gatewayOf(website, parent) != gateway {
			continue
		}
		if parent.SectionName == "" {
			return nil
		}
		sections = append(sections, parent.SectionName)
	}
	return sections
}

// way is the way to route hosts: by Gateways or, without one, by an Ingress.
type way struct {
	gateways     []resources.Gateway
	ingressClass string
}

func (w way) isIngress() bool { return len(w.gateways) == 0 }

// choose returns the way of a Website and true, or false if there is none. The obstacle names missing
// parts, or is nil.
func (r *Routes) choose(website *v1beta1.Website, state clusterState) (way, bool, *status.Obstacle) {
	spec, names := website.Spec.Routing, r.defaults.gatewaysOf(website)
	switch {
	case spec.IngressClassName != "":
		return way{ingressClass: spec.IngressClassName}, true, nil
	case len(spec.ParentRefs) > 0 && state.Missing != "":
		return way{}, false, &status.Obstacle{Reason: v1beta1.WebsiteReasonGatewayAPIMissing, Message: state.Missing}
	case len(names) == 0 || state.Missing != "":
		return way{ingressClass: r.defaults.IngressClass}, true, nil
	}
	var chosen way
	var missing *status.Obstacle
	for _, name := range names {
		gateway, watched := r.router.gateway(name.Namespace, name.Name)
		if gateway == nil {
			missing = cmp.Or(missing, notFound(name, watched))
			continue
		}
		chosen.gateways = append(chosen.gateways, resources.Gateway{
			Gateway: gateway, Sections: sectionsOf(website, name),
			OwnListeners: resources.WantsListeners(website) && state.ListenerSets && allowsListenerSets(gateway),
		})
	}
	return chosen, len(chosen.gateways) > 0, missing
}

func notFound(gateway cache.ObjectName, watched bool) *status.Obstacle {
	message := fmt.Sprintf("there is no Gateway %q in namespace %q: create it, or set spec.routing",
		gateway.Name, gateway.Namespace)
	if !watched {
		message = fmt.Sprintf("Gateways of namespace %q are not watched by website-controller: "+
			"see --watch-namespace and --default-gateway", gateway.Namespace)
	}
	return &status.Obstacle{Reason: v1beta1.WebsiteReasonGatewayNotFound, Message: message}
}

// allowsListenerSets reports whether a Gateway allows any ListenerSets. By default it allows none,
// and its controller may not support them.
func allowsListenerSets(gateway *gatewayv1.Gateway) bool {
	allowed := gateway.Spec.AllowedListeners
	return allowed != nil && allowed.Namespaces != nil && allowed.Namespaces.From != nil &&
		*allowed.Namespaces.From != gatewayv1.NamespacesFromNone
}

// desiredRoutes is the desired state of the children that route hosts.
type desiredRoutes struct {
	listenerSets []*gatewayv1ac.ListenerSetApplyConfiguration
	httpRoutes   []*gatewayv1ac.HTTPRouteApplyConfiguration
	ingress      *networkingv1ac.IngressApplyConfiguration
}

func (d desiredRoutes) ingressNames() []string {
	if d.ingress == nil {
		return nil
	}
	return []string{*d.ingress.GetName()}
}

func namesOf[A interface{ GetName() *string }](desired []A) []string {
	var names []string
	for _, child := range desired {
		names = append(names, *child.GetName())
	}
	return names
}

func (w way) routesOf(website *v1beta1.Website, hosts []string) *resources.HostRoutes {
	return &resources.HostRoutes{Website: website, Hosts: hosts, Gateways: w.gateways}
}

func (w way) build(website *v1beta1.Website, hosts []string) desiredRoutes {
	if w.isIngress() {
		return desiredRoutes{ingress: resources.Ingress(website, hosts, w.ingressClass)}
	}
	routes := w.routesOf(website, hosts)
	return desiredRoutes{listenerSets: routes.ListenerSets(), httpRoutes: routes.HTTPRoutes()}
}

// secured returns the hosts that can be routed, and the reason why others cannot, or nil: without a
// listener for it, a Website with TLS would be served without. missing is the reason why a Gateway of
// the spec is not part of the way, or nil.
func (w way) secured(
	website *v1beta1.Website, hosts []string, missing *status.Obstacle,
) ([]string, *status.Obstacle) {
	if w.isIngress() {
		return hosts, nil
	}
	var secured []string
	var obstacle *status.Obstacle
	routes := w.routesOf(website, hosts)
	for _, host := range hosts {
		if routes.IsSecured(host) {
			secured = append(secured, host)
		} else if obstacle == nil {
			gateway := w.gateways[0].Gateway
			obstacle = &status.Obstacle{Reason: v1beta1.WebsiteReasonRouteNotAccepted,
				Message: fmt.Sprintf("%s has no HTTPS listener for %s%s", nameOf(gateway), host, remedyFor(website, gateway))}
		}
	}
	if obstacle = cmp.Or(missing, obstacle); obstacle != nil {
		obstacle.Except = secured
	}
	return secured, obstacle
}

func nameOf(gateway *gatewayv1.Gateway) string {
	return fmt.Sprintf("Gateway %q of namespace %q", gateway.Name, gateway.Namespace)
}

// remedyFor tells the user how to add a listener with TLS for a host.
func remedyFor(website *v1beta1.Website, gateway *gatewayv1.Gateway) string {
	switch {
	case !resources.WantsListeners(website):
		return ": add the listener, or set spec.tls.mode to Secret or Issuer"
	case !allowsListenerSets(gateway):
		return ", and allows no ListenerSets: add the listener, or set spec.allowedListeners of the Gateway"
	default:
		return ", and the cluster has no ListenerSets: add the listener, or install a version of Gateway API " +
			"with listenersets in gateway.networking.k8s.io/v1"
	}
}

// noRedirect returns the reason why hosts with the role Redirect serve the site, or "".
func (w way) noRedirect(website *v1beta1.Website, hosts []string) string {
	switch {
	case w.isIngress():
		return "an Ingress cannot redirect: set spec.routing.parentRefs, or the role Alias"
	case resources.Canonical(website, hosts) == "":
		return "the canonical host is not routed to this Website"
	default:
		return ""
	}
}

// unusedCertificate names the certificate of the spec that is not used for hosts, or returns "".
func (w way) unusedCertificate(website *v1beta1.Website, hosts []string) string {
	if !resources.WantsListeners(website) {
		return ""
	}
	for i := range w.gateways {
		gateway := &w.gateways[i]
		if gateway.OwnListeners || !slices.ContainsFunc(hosts, gateway.Secures) {
			continue
		}
		unused, tls := "no certificate is issued", website.Spec.TLS
		if tls.SecretRef != nil {
			unused = fmt.Sprintf("Secret %q of spec.tls.secretRef is not used", tls.SecretRef.Name)
		}
		remedy := "install a version of Gateway API with listenersets in gateway.networking.k8s.io/v1"
		if !allowsListenerSets(gateway.Gateway) {
			remedy = "set spec.allowedListeners of the Gateway"
		}
		return fmt.Sprintf("%s: %s serves the hosts with the certificates of its own listeners; "+
			"%s, or spec.tls.mode to Listener", unused, nameOf(gateway.Gateway), remedy)
	}
	return ""
}
