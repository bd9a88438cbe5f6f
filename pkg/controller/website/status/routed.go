package status

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/routeprobe"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
)

// Routing is the observed state of the hosts of a Website.
type Routing struct {
	// Unknown is the reason why the state is unknown; empty if it is known.
	Unknown string
	// Taken maps the hosts of other Websites to their owners.
	Taken map[string]string
	// Obstacle is the reason why requests do not reach the site; nil if none is known.
	Obstacle *Obstacle
	// Results are the last results of requests to hosts.
	Results map[string]routeprobe.Result
	// NoRedirect is the reason why hosts with the role Redirect serve the site; empty if they
	// redirect.
	NoRedirect string
	// UnusedCertificate names a certificate of the spec that is not used; empty if all are.
	UnusedCertificate string
}

// Obstacle is the reason why requests do not reach a site.
type Obstacle struct {
	Reason, Message string
	// Pending is true while another controller is expected to remove the obstacle.
	Pending bool
	// Except are hosts that are routed nevertheless.
	Except []string
}

// obstacleOf returns the reason why requests for a host do not reach the site, or nil.
func (r *Routing) obstacleOf(host string) *Obstacle {
	if r.Obstacle == nil || slices.Contains(r.Obstacle.Except, host) {
		return nil
	}
	return r.Obstacle
}

func (in *Input) hasRouting() bool { return in.Routing != nil }

// routingUnknown keeps the reported condition while the state is unknown.
func routingUnknown(in *Input) *finding {
	if in.Routing.Unknown == "" {
		return nil
	}
	if before := in.reported(v1beta1.WebsiteRouted); before != nil && before.ObservedGeneration == in.Website.Generation {
		return &finding{unchanged: before}
	}
	return &finding{reason: v1beta1.WebsiteReasonRoutePending, message: in.Routing.Unknown}
}

// hostTaken returns a finding if another Website owns a host.
func hostTaken(in *Input) *finding {
	for _, host := range resources.HostNames(in.Website) {
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

// notRouted returns the obstacle that only a user can remove.
func notRouted(in *Input) *finding {
	if in.Routing.Obstacle == nil || in.Routing.Obstacle.Pending {
		return nil
	}
	return &finding{reason: in.Routing.Obstacle.Reason, message: in.Routing.Obstacle.Message}
}

// routePending returns the obstacle that another controller is expected to remove, unless requests
// reach the site nevertheless.
func routePending(in *Input) *finding {
	if in.Routing.Obstacle == nil || in.allRouted() {
		return nil
	}
	return &finding{reason: in.Routing.Obstacle.Reason, message: in.Routing.Obstacle.Message}
}

// allRouted reports whether requests for all hosts that can be requested reach the site, and there is
// at least one.
func (in *Input) allRouted() bool {
	requested := 0
	for _, host := range in.hosts {
		if IsWildcard(host.Name) {
			continue
		}
		if !IsRouted(host) {
			return false
		}
		requested++
	}
	return requested > 0
}

// hostFailing returns a finding for a host whose last request did not reach the site, or was not
// redirected.
func hostFailing(in *Input) *finding {
	for _, host := range in.hosts {
		if routed := routedCondition(host); in.isRequested(host.Name) && routed.Status == metav1.ConditionFalse {
			return &finding{reason: routed.Reason, message: routed.Message}
		}
	}
	return nil
}

func (in *Input) isRequested(host string) bool {
	_, requested := in.Routing.Results[host]
	return requested
}

// hostNotRequested returns a finding for a host before its first request.
func hostNotRequested(in *Input) *finding {
	for _, host := range in.hosts {
		if !in.isRequested(host.Name) && !IsRouted(host) && !IsWildcard(host.Name) {
			return &finding{reason: v1beta1.WebsiteReasonRoutePending, message: notRequestedYet(host.Name)}
		}
	}
	return nil
}

// certificateNotUsed returns a finding if the site is served with another certificate than the one in
// the spec.
func certificateNotUsed(in *Input) *finding {
	if in.Routing.UnusedCertificate == "" {
		return nil
	}
	return &finding{reason: v1beta1.WebsiteReasonCertificateNotUsed, message: in.Routing.UnusedCertificate}
}

// dnsElsewhere returns a finding if the name of a host does not resolve to the Gateway. The site may
// be behind another proxy, so that is not an error.
func dnsElsewhere(in *Input) *finding {
	for _, host := range resources.HostNames(in.Website) {
		if result, requested := in.Routing.Results[host]; requested && result.DNS != "" {
			return &finding{reason: v1beta1.WebsiteReasonDNSElsewhere, message: leadsElsewhere(result)}
		}
	}
	return nil
}

var hostsRouted = report(v1beta1.WebsiteReasonHostsRouted, "requests for the hosts reach the site")

// IsWildcard reports whether a host is a wildcard, so that it cannot be requested.
func IsWildcard(host string) bool { return len(host) > 0 && host[0] == '*' }
