package status

import (
	"fmt"
	neturl "net/url"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/routeprobe"
	"github.com/kubesites/website-apiserver/pkg/controller/website/problem"
)

// Routing is what was found of the hosts of a Website.
type Routing struct {
	// Unknown is why nothing else is known; empty if it is.
	Unknown string
	// Taken says of the hosts that another Website has which one that is.
	Taken map[string]string
	// Obstacle is why requests do not reach the site; nil if none is known.
	Obstacle *Obstacle
	// Results are what requests to hosts have shown by now.
	Results map[string]routeprobe.Result
}

// Obstacle is why requests do not reach a site.
type Obstacle struct {
	Reason, Message string
	// Pending is true while another controller has not done its part.
	Pending bool
}

// hosts returns what is reported of the hosts of the spec. One that was not requested yet
// stays as it was reported.
func (in *Input) hosts() []v1beta1.WebsiteHostStatus {
	if in.Routing == nil {
		if in.RoutesRemain {
			return in.Website.Status.Hosts
		}
		return nil
	}
	var hosts []v1beta1.WebsiteHostStatus
	for _, name := range in.Website.Spec.Hosts {
		hosts = append(hosts, in.host(name))
	}
	return hosts
}

func (in *Input) host(name string) v1beta1.WebsiteHostStatus {
	if holder, taken := in.Routing.Taken[name]; taken {
		return v1beta1.WebsiteHostStatus{Name: name, Message: holder + " has the host"}
	}
	result, requested := in.Routing.Results[name]
	if !requested {
		before := slices.IndexFunc(in.Website.Status.Hosts, func(h v1beta1.WebsiteHostStatus) bool { return h.Name == name })
		if before < 0 || in.Routing.Obstacle != nil && !in.Routing.Obstacle.Pending {
			return v1beta1.WebsiteHostStatus{Name: name}
		}
		return in.Website.Status.Hosts[before]
	}
	host := v1beta1.WebsiteHostStatus{Name: name, Message: problem.Shorten(in.failureOf(result))}
	host.Routed = host.Message == ""
	if !result.CertificateExpiration.IsZero() {
		host.CertificateExpirationTime = &metav1.Time{Time: result.CertificateExpiration}
	}
	return host
}

// failureOf returns why a response is not the site, or "".
func (in *Input) failureOf(result routeprobe.Result) string {
	if result.Failure != "" || result.Commit == "" || in.published(result.Commit) {
		return result.Failure
	}
	return fmt.Sprintf("%s serves commit %s, which this site has not published", result.URL, result.Commit)
}

// published reports whether a commit is or was one of the site. While not all pods can be observed, any
// can be.
func (in *Input) published(commit string) bool {
	state := in.commitState()
	return !in.Probing || state == commitUnknown || state == commitUnreachable || commit == in.commit() ||
		slices.ContainsFunc(in.Pods, func(pod Pod) bool { return pod.Observed && pod.Commit == commit }) ||
		slices.ContainsFunc(in.Website.Status.History, func(release v1beta1.WebsiteRelease) bool { return release.Commit == commit })
}

// hostURLs returns where the hosts were found, in the order of the spec.
func (in *Input) hostURLs() []string {
	var urls []string
	if in.Routing == nil {
		return nil
	}
	for _, host := range in.hosts() {
		if !host.Routed {
			continue
		}
		if result, requested := in.Routing.Results[host.Name]; requested {
			urls = append(urls, result.URL)
			continue
		}
		for _, before := range in.Website.Status.URLs {
			if parsed, err := neturl.Parse(before); err == nil && parsed.Hostname() == host.Name {
				urls = append(urls, before)
			}
		}
	}
	return urls
}

// routingUnknown keeps what was reported while nothing is known.
func routingUnknown(in *Input) *finding {
	if in.Routing == nil || in.Routing.Unknown == "" {
		return nil
	}
	if before := in.reported(v1beta1.WebsiteRouted); before != nil && before.ObservedGeneration == in.Website.Generation {
		return &finding{unchanged: before}
	}
	return &finding{reason: v1beta1.WebsiteReasonRoutePending, message: in.Routing.Unknown}
}

// hostTaken finds that another Website has a host.
func hostTaken(in *Input) *finding {
	if in.Routing == nil {
		return nil
	}
	for _, host := range in.Website.Spec.Hosts {
		if holder, taken := in.Routing.Taken[host]; taken {
			message := fmt.Sprintf("%s is older and has the host %s; remove it from spec.hosts of either", holder, host)
			if others := len(in.Routing.Taken) - 1; others > 0 {
				message += fmt.Sprintf(" (and %d other hosts are taken)", others)
			}
			return &finding{reason: v1beta1.WebsiteReasonHostTaken, message: message}
		}
	}
	return nil
}

// notRouted finds what keeps the hosts from being routed until a user acts.
func notRouted(in *Input) *finding {
	if in.Routing == nil || in.Routing.Obstacle == nil || in.Routing.Obstacle.Pending {
		return nil
	}
	return &finding{reason: in.Routing.Obstacle.Reason, message: problem.Shorten(in.Routing.Obstacle.Message)}
}

// routePending finds that another controller has not done its part, unless requests reach
// the site all the same.
func routePending(in *Input) *finding {
	if in.Routing == nil || in.Routing.Obstacle == nil || in.allRouted() {
		return nil
	}
	return &finding{reason: in.Routing.Obstacle.Reason, message: problem.Shorten(in.Routing.Obstacle.Message)}
}

// allRouted reports whether requests for all hosts that can be requested reach the site,
// and there is one.
func (in *Input) allRouted() bool {
	requested := 0
	for _, host := range in.hosts() {
		if IsWildcard(host.Name) {
			continue
		}
		if !host.Routed {
			return false
		}
		requested++
	}
	return requested > 0
}

// hostFailing finds a host of which the last request did not reach the site.
func hostFailing(in *Input) *finding {
	if in.Routing == nil {
		return nil
	}
	for _, host := range in.hosts() {
		result, requested := in.Routing.Results[host.Name]
		if !requested || host.Routed {
			continue
		}
		reason := v1beta1.WebsiteReasonHostUnreachable
		if result.InvalidCertificate {
			reason = v1beta1.WebsiteReasonCertificateInvalid
		}
		return &finding{reason: reason, message: host.Message}
	}
	return nil
}

// hostNotRequested finds a host of which no request has been made.
func hostNotRequested(in *Input) *finding {
	if in.Routing == nil {
		return nil
	}
	for _, host := range in.hosts() {
		if _, requested := in.Routing.Results[host.Name]; !requested && !host.Routed && !IsWildcard(host.Name) {
			return &finding{reason: v1beta1.WebsiteReasonRoutePending, message: "no request for " + host.Name + " has been made yet"}
		}
	}
	return nil
}

// dnsElsewhere finds that the name of a host does not lead to the Gateway. The site may be
// behind another proxy, so that is not an error.
func dnsElsewhere(in *Input) *finding {
	if in.Routing == nil {
		return nil
	}
	for _, host := range in.Website.Spec.Hosts {
		if result, requested := in.Routing.Results[host]; requested && result.DNS != "" {
			return &finding{reason: v1beta1.WebsiteReasonDNSElsewhere, message: "requests at the address of the Gateway or Ingress reach the site, but " + result.DNS}
		}
	}
	return nil
}

func hostsRouted(in *Input) *finding {
	if in.Routing == nil {
		return nil
	}
	return &finding{reason: v1beta1.WebsiteReasonHostsRouted, message: "requests for the hosts reach the site"}
}

// IsWildcard reports whether a host stands for several names, so that it cannot be requested.
func IsWildcard(host string) bool { return len(host) > 0 && host[0] == '*' }
