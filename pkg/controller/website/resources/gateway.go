package resources

import (
	"slices"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	gatewayv1ac "sigs.k8s.io/gateway-api/applyconfiguration/apis/v1"
)

const (
	webPort    int32 = 80
	webTLSPort int32 = 443
)

// Gateway is a Gateway that routes hosts of a Website.
type Gateway struct {
	*gatewayv1.Gateway
	// Sections are the listeners that the spec names; empty for all.
	Sections []string
	// OwnListeners is true if the Website has its own listeners, in ListenerSets.
	OwnListeners bool
}

// port returns the port of a Gateway for a protocol: the port of its first listener, or the default.
func (g *Gateway) port(protocol gatewayv1.ProtocolType) int32 {
	for _, listener := range g.Spec.Listeners {
		if listener.Protocol == protocol {
			return int32(listener.Port)
		}
	}
	if protocol == gatewayv1.HTTPSProtocolType {
		return webTLSPort
	}
	return webPort
}

// TLSPort returns the port at which a host is served with TLS.
func (g *Gateway) TLSPort(host string) int32 {
	if !g.OwnListeners {
		for _, listener := range g.Listeners(host) {
			if listener.Protocol == gatewayv1.HTTPSProtocolType {
				return int32(listener.Port)
			}
		}
	}
	return g.port(gatewayv1.HTTPSProtocolType)
}

// Secures reports whether a host is served with TLS.
func (g *Gateway) Secures(host string) bool {
	return g.OwnListeners || slices.ContainsFunc(g.Listeners(host), func(listener gatewayv1.Listener) bool {
		return listener.Protocol == gatewayv1.HTTPSProtocolType
	})
}

// Listeners returns the HTTP and HTTPS listeners of the Gateway that match a host.
func (g *Gateway) Listeners(host string) []gatewayv1.Listener {
	return slices.DeleteFunc(slices.Clone(g.Spec.Listeners),
		func(listener gatewayv1.Listener) bool { return !g.selects(listener, host) })
}

func (g *Gateway) selects(listener gatewayv1.Listener, host string) bool {
	isNamed := len(g.Sections) == 0 || slices.Contains(g.Sections, string(listener.Name))
	isWeb := listener.Protocol == gatewayv1.HTTPProtocolType || listener.Protocol == gatewayv1.HTTPSProtocolType
	return isNamed && isWeb && takes(listener, host)
}

// takes reports whether the name of a listener and a host have names in common.
func takes(listener gatewayv1.Listener, host string) bool {
	if listener.Hostname == nil || *listener.Hostname == "" {
		return true
	}
	name := string(*listener.Hostname)
	return name == host || below(host, name) || below(name, host)
}

// below reports whether a wildcard includes a name, which may be a wildcard as well.
func below(name, wildcard string) bool {
	suffix, isWildcard := strings.CutPrefix(wildcard, "*")
	return isWildcard && strings.HasSuffix(name, suffix)
}

// sections returns references to the listeners that the spec names, or to the Gateway.
func (g *Gateway) sections() parents {
	if len(g.Sections) == 0 {
		return parents{g.reference()}
	}
	var named parents
	for _, section := range g.Sections {
		named = append(named, g.reference().WithSectionName(gatewayv1.SectionName(section)))
	}
	return named
}

// listenersOf returns references to the listeners of the Gateway for any of hosts, with TLS and
// without.
func (g *Gateway) listenersOf(hosts []string) (secure, plain parents) {
	for _, listener := range g.Spec.Listeners {
		if !slices.ContainsFunc(hosts, func(host string) bool { return g.selects(listener, host) }) {
			continue
		}
		if reference := g.reference().WithSectionName(listener.Name); listener.Protocol == gatewayv1.HTTPSProtocolType {
			secure = append(secure, reference)
		} else {
			plain = append(plain, reference)
		}
	}
	return secure, plain
}

func (g *Gateway) reference() *parent {
	return parentReference("Gateway").WithNamespace(gatewayv1.Namespace(g.Namespace)).
		WithName(gatewayv1.ObjectName(g.Name))
}

// parentReference returns a reference with the defaults of the API server: the list of references is
// compared as a whole.
func parentReference(kind string) *parent {
	return gatewayv1ac.ParentReference().WithGroup(gatewayv1.GroupName).WithKind(gatewayv1.Kind(kind))
}
