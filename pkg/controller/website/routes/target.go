package routes

import (
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/routeprobe"
	"github.com/kubesites/website-apiserver/pkg/controller/website/cached"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
	"github.com/kubesites/website-apiserver/pkg/controller/website/status"
)

// target returns the requests to make. Connections are only made to addresses that the controller of
// the Gateway or Ingress reports.
func (w way) target(website *v1beta1.Website, hosts []string, written writtenRoutes) routeprobe.Target {
	var target routeprobe.Target
	canonical := ""
	if !w.isIngress() {
		canonical = resources.Canonical(website, hosts)
	}
	for _, name := range hosts {
		if status.IsWildcard(name) {
			continue
		}
		host := routeprobe.Host{Name: name, Gateways: w.entrances(website, name, written)}
		if resources.RoleOf(website, name) == v1beta1.HostRoleRedirect {
			host.RedirectedTo = canonical
		}
		target.Hosts = append(target.Hosts, host)
	}
	return target
}

// entrances returns the Gateways with a listener for a host, or its Ingress. A Gateway whose
// listeners lack the wanted TLS has no endpoints: it does not serve the host.
func (w way) entrances(website *v1beta1.Website, host string, written writtenRoutes) []routeprobe.Gateway {
	if w.isIngress() {
		endpoints := []routeprobe.Endpoint{ingressEndpoint(website)}
		return []routeprobe.Gateway{{Addresses: addressesOf(written.ingress), Endpoints: endpoints}}
	}
	var entrances []routeprobe.Gateway
	for i := range w.gateways {
		gateway := &w.gateways[i]
		entrance := routeprobe.Gateway{Endpoints: endpoints(website, gateway, host)}
		if len(entrance.Endpoints) == 0 && len(gateway.Listeners(host)) == 0 {
			continue
		}
		for _, address := range gateway.Status.Addresses {
			entrance.Addresses = append(entrance.Addresses, address.Value)
		}
		if len(w.gateways) > 1 {
			entrance.Name = nameOf(gateway.Gateway)
		}
		entrances = append(entrances, entrance)
	}
	return entrances
}

func addressesOf(ingress *cached.Ingress) []string {
	var addresses []string
	for _, address := range ingress.Addresses {
		for _, value := range []string{address.IP, address.Hostname} {
			if value != "" {
				addresses = append(addresses, value)
			}
		}
	}
	return addresses
}

func ingressEndpoint(website *v1beta1.Website) routeprobe.Endpoint {
	if resources.WantsTLS(website) {
		return routeprobe.Endpoint{TLS: true, Port: 443}
	}
	return routeprobe.Endpoint{Port: 80}
}

// endpoints returns the ports of a Gateway for a host, with TLS first. If the host should have TLS,
// ports without it are omitted.
func endpoints(website *v1beta1.Website, gateway *resources.Gateway, host string) []routeprobe.Endpoint {
	if resources.WantsTLS(website) {
		if !gateway.Secures(host) {
			return nil
		}
		return []routeprobe.Endpoint{{TLS: true, Port: gateway.TLSPort(host)}}
	}
	var secure, plain []routeprobe.Endpoint
	for _, listener := range gateway.Listeners(host) {
		if listener.Protocol == gatewayv1.HTTPSProtocolType {
			secure = append(secure, routeprobe.Endpoint{TLS: true, Port: int32(listener.Port)})
		} else {
			plain = append(plain, routeprobe.Endpoint{Port: int32(listener.Port)})
		}
	}
	return append(secure, plain...)
}
