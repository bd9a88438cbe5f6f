package status

import (
	"fmt"
	"net"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubesites/website-apiserver/pkg/controller/website/cached"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
)

// maxHosts is the number of nodes in the status. Every node answers on a node port; a few are enough
// to find the website.
const maxHosts = 3

// urlsOf returns the URLs of a Service, best first: the addresses of the load balancer, then nodes,
// then the name within the cluster.
func urlsOf(service *cached.Service, nodes []string) []string {
	port := httpPort(service)
	if port == nil {
		return nil
	}
	var urls []string
	for _, ingress := range service.Ingress {
		if !service.DeletionTimestamp.IsZero() {
			break // The load balancer goes before the Service does.
		}
		for _, host := range []string{ingress.Hostname, ingress.IP} {
			if host != "" && len(urls) < maxHosts {
				urls = append(urls, url(host, port.Port))
			}
		}
	}
	if port.NodePort != 0 {
		for _, host := range nodes[:min(len(nodes), maxHosts)] {
			urls = append(urls, url(host, port.NodePort))
		}
	}
	return append(urls, url(fmt.Sprintf("%s.%s.svc", service.Name, service.Namespace), port.Port))
}

// nodes returns the addresses of the nodes with ready pods. They are in the status of the pods: so
// the controller needs no permission to read nodes, and the list changes only with the pods.
func (in *Input) nodes() []string {
	var nodes []string
	for _, pod := range in.Pods {
		if pod.Ready && pod.HostIP != "" {
			nodes = append(nodes, pod.HostIP)
		}
	}
	for _, pod := range in.FormerPods {
		if pod.HostIP != "" {
			nodes = append(nodes, pod.HostIP)
		}
	}
	slices.Sort(nodes)
	return slices.Compact(nodes)
}

// httpPort returns the port of a Service for the Website. Other clients may have added ports, in any
// order.
func httpPort(service *cached.Service) *corev1.ServicePort {
	if service == nil {
		return nil
	}
	for i := range service.Ports {
		if port := &service.Ports[i]; port.Port == resources.ServicePort && port.Protocol != corev1.ProtocolUDP &&
			port.Protocol != corev1.ProtocolSCTP {
			return port
		}
	}
	return nil
}

func url(host string, port int32) string {
	if port == 80 {
		if net.ParseIP(host).To4() == nil && net.ParseIP(host) != nil {
			return "http://[" + host + "]"
		}
		return "http://" + host
	}
	return "http://" + net.JoinHostPort(host, strconv.Itoa(int(port)))
}
