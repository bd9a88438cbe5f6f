package status

import (
	"fmt"
	neturl "net/url"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/routeprobe"
	"github.com/kubesites/website-apiserver/pkg/controller/website/problem"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
)

// maxHostMessage is the maximum length of the message of a host: a Website may have 64 hosts.
const maxHostMessage = 512

// IsRouted reports whether requests for a host reach the site.
func IsRouted(host v1beta1.WebsiteHostStatus) bool {
	return meta.IsStatusConditionTrue(host.Conditions, v1beta1.HostRouted)
}

// routedCondition returns the condition Routed of a host. It is Unknown if absent.
func routedCondition(host v1beta1.WebsiteHostStatus) metav1.Condition {
	if condition := meta.FindStatusCondition(host.Conditions, v1beta1.HostRouted); condition != nil {
		return *condition
	}
	return metav1.Condition{
		Type: v1beta1.HostRouted, Status: metav1.ConditionUnknown, Reason: v1beta1.WebsiteReasonRoutePending,
	}
}

// hostStatuses returns the status of the hosts of the spec.
func (in *Input) hostStatuses() []v1beta1.WebsiteHostStatus {
	if in.Routing == nil {
		if in.RoutesRemain {
			return in.Website.Status.Hosts
		}
		return nil
	}
	var hosts []v1beta1.WebsiteHostStatus
	for _, name := range resources.HostNames(in.Website) {
		hosts = append(hosts, in.host(name))
	}
	return hosts
}

// host returns the status of a host. It keeps the last reported status of a host before its first
// request.
func (in *Input) host(name string) v1beta1.WebsiteHostStatus {
	host := v1beta1.WebsiteHostStatus{Name: name}
	isNamed := func(host v1beta1.WebsiteHostStatus) bool { return host.Name == name }
	if i := slices.IndexFunc(in.Website.Status.Hosts, isNamed); i >= 0 {
		host = *in.Website.Status.Hosts[i].DeepCopy()
	}
	result, isRequested := in.Routing.Results[name]
	holder, isTaken := in.Routing.Taken[name]
	if isRequested || isTaken {
		host.CertificateExpirationTime = nil
	}
	if isRequested && !result.CertificateExpiration.IsZero() {
		host.CertificateExpirationTime = &metav1.Time{Time: result.CertificateExpiration}
	}
	set := func(status metav1.ConditionStatus, reason, message string) {
		meta.SetStatusCondition(&host.Conditions, metav1.Condition{
			Type: v1beta1.HostRouted, Status: status, Reason: reason,
			Message:            problem.ShortenTo(message, maxHostMessage),
			ObservedGeneration: in.Website.Generation, LastTransitionTime: metav1.NewTime(in.Now.Truncate(time.Second)),
		})
	}
	obstacle := in.Routing.obstacleOf(name)
	switch before := routedCondition(host); {
	case isTaken:
		set(metav1.ConditionFalse, v1beta1.WebsiteReasonHostTaken, holder+" has the host")
	case isRequested:
		set(in.requested(name, result))
	case in.Routing.Unknown != "":
		if before.Message == "" {
			set(metav1.ConditionUnknown, v1beta1.WebsiteReasonRoutePending, in.Routing.Unknown)
		}
	case obstacle != nil && !obstacle.Pending:
		set(metav1.ConditionFalse, obstacle.Reason, obstacle.Message)
	case IsWildcard(name):
		set(metav1.ConditionUnknown, v1beta1.WebsiteReasonHostNotRequested, "no request is made for a host with a wildcard")
	case before.Status == metav1.ConditionTrue || obstacle == nil && requestReasons.Has(before.Reason):
		// The host is requested again soon.
	case obstacle != nil:
		set(metav1.ConditionUnknown, obstacle.Reason, obstacle.Message)
	default:
		set(metav1.ConditionUnknown, v1beta1.WebsiteReasonRoutePending, notRequestedYet(name))
	}
	return host
}

// requestReasons are the reasons for which a request shows that a host is not routed.
var requestReasons = sets.New(
	v1beta1.WebsiteReasonHostUnreachable,
	v1beta1.WebsiteReasonCertificateInvalid,
	v1beta1.WebsiteReasonRedirectUnavailable,
)

// requested returns the status of a host after a request.
func (in *Input) requested(
	name string, result routeprobe.Result,
) (status metav1.ConditionStatus, reason, message string) {
	failure := in.failureOf(result)
	switch obstacle := in.Routing.Obstacle; {
	case failure != "" && obstacle != nil && obstacle.Pending:
		return metav1.ConditionUnknown, obstacle.Reason, obstacle.Message
	case failure != "" && result.InvalidCertificate:
		return metav1.ConditionFalse, v1beta1.WebsiteReasonCertificateInvalid, failure
	case failure != "":
		return metav1.ConditionFalse, v1beta1.WebsiteReasonHostUnreachable, failure
	case in.Routing.NoRedirect != "" && resources.RoleOf(in.Website, name) == v1beta1.HostRoleRedirect:
		return metav1.ConditionFalse, v1beta1.WebsiteReasonRedirectUnavailable,
			name + " serves the site: " + in.Routing.NoRedirect
	case in.Routing.UnusedCertificate != "":
		return metav1.ConditionTrue, v1beta1.WebsiteReasonCertificateNotUsed, in.Routing.UnusedCertificate
	case result.DNS != "":
		return metav1.ConditionTrue, v1beta1.WebsiteReasonDNSElsewhere, leadsElsewhere(result)
	default:
		return metav1.ConditionTrue, v1beta1.WebsiteReasonHostRouted, "requests for the host reach the site"
	}
}

func notRequestedYet(host string) string { return "no request for " + host + " has been made yet" }

func leadsElsewhere(result routeprobe.Result) string {
	return "requests at the address of the Gateway or Ingress reach the site, but " + result.DNS
}

// failureOf returns the reason why a response is not from the site, or "".
func (in *Input) failureOf(result routeprobe.Result) string {
	if result.Failure != "" || result.Commit == "" || in.published(result.Commit) {
		return result.Failure
	}
	return fmt.Sprintf("%s serves commit %s, which this site has not published", result.URL, result.Commit)
}

// published reports whether a commit is, or was, published. While not all pods can be observed, it
// returns true for any commit.
func (in *Input) published(commit string) bool {
	state := in.commitState()
	return !in.Probing || state == commitUnknown || state == commitUnreachable || commit == in.commit() ||
		slices.ContainsFunc(in.Pods, func(pod Pod) bool { return pod.Observed && pod.Commit == commit }) ||
		slices.ContainsFunc(in.Website.Status.History, func(release v1beta1.WebsiteRelease) bool {
			return release.Commit == commit
		})
}

// hostURLs returns the URLs of the hosts: the canonical one first, and the redirected ones last.
func (in *Input) hostURLs() []string {
	if in.Routing == nil {
		return nil
	}
	hosts := slices.Clone(in.hosts)
	slices.SortStableFunc(hosts, func(a, b v1beta1.WebsiteHostStatus) int {
		return in.preference(a.Name) - in.preference(b.Name)
	})
	var urls []string
	for _, host := range hosts {
		if url := in.hostURL(host); url != "" {
			urls = append(urls, url)
		}
	}
	return urls
}

func (in *Input) preference(host string) int {
	switch resources.RoleOf(in.Website, host) {
	case v1beta1.HostRoleCanonical:
		return 0
	case v1beta1.HostRoleRedirect:
		return 2
	default:
		return 1
	}
}

// hostURL returns the URL of a host from the last successful request, or "".
func (in *Input) hostURL(host v1beta1.WebsiteHostStatus) string {
	if _, isTaken := in.Routing.Taken[host.Name]; isTaken {
		return ""
	}
	if result, requested := in.Routing.Results[host.Name]; requested {
		if in.failureOf(result) != "" {
			return ""
		}
		return result.URL
	}
	if !IsRouted(host) {
		return ""
	}
	for _, before := range in.Website.Status.URLs {
		if parsed, err := neturl.Parse(before); err == nil && parsed.Hostname() == host.Name {
			return before
		}
	}
	return ""
}
