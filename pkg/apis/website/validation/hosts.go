package validation

import (
	"fmt"
	"net"
	"strings"

	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
)

// wildcard is the label that stands for any name.
const wildcard = "*."

// hostUse is what the rules about hosts depend on.
type hostUse struct {
	Hosts               []string
	RedirectToCanonical bool
	Routing             website.WebsiteRouting
	TLS                 website.WebsiteTLS
}

func hostUseOf(spec *website.WebsiteSpec) hostUse {
	return hostUse{Hosts: spec.Hosts, RedirectToCanonical: spec.RedirectToCanonical, Routing: spec.Routing, TLS: spec.TLS}
}

// validateHostUse checks the hosts, and the fields that need them.
func validateHostUse(use hostUse, path *field.Path) field.ErrorList {
	if len(use.Hosts) == 0 {
		return validateNoHosts(use, path)
	}
	hosts := path.Child("hosts")
	var errs field.ErrorList
	seen := map[string]bool{}
	for i, host := range use.Hosts {
		if seen[host] {
			errs = append(errs, field.Duplicate(hosts.Index(i), host))
			continue
		}
		seen[host] = true
		errs = append(errs, validateHost(host, hosts.Index(i))...)
	}
	if use.RedirectToCanonical && strings.HasPrefix(use.Hosts[0], wildcard) {
		errs = append(errs, field.Invalid(hosts.Index(0), use.Hosts[0], "must have no wildcard when redirectToCanonical is true: the other hosts are redirected to it"))
	}
	if gateway := use.Routing.Gateway; gateway != nil && gateway.SectionName != "" && use.TLS != (website.WebsiteTLS{}) {
		errs = append(errs, field.Forbidden(path.Child("routing", "gateway", "sectionName"), "must not be set together with tls: the listener of the Gateway has its own certificate"))
	}
	return errs
}

func validateNoHosts(use hostUse, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, member := range []struct {
		name string
		set  bool
	}{
		{"redirectToCanonical", use.RedirectToCanonical},
		{"routing", use.Routing != (website.WebsiteRouting{})},
		{"tls", use.TLS != (website.WebsiteTLS{})},
	} {
		if member.set {
			errs = append(errs, field.Forbidden(path.Child(member.name), "may only be set when hosts are set"))
		}
	}
	return errs
}

// validateHost applies the rules of Gateway API and Ingress, and requires a dot: a host of
// one label is a name of the local network only, and the most likely mistake.
func validateHost(host string, path *field.Path) field.ErrorList {
	name := strings.TrimPrefix(host, wildcard)
	if msgs := utilvalidation.IsDNS1123Subdomain(name); len(msgs) > 0 {
		return field.ErrorList{field.Invalid(path, host, msgs[0]+`; its first label may be "*"`)}
	}
	if errs := validateLabels(host, path); len(errs) > 0 {
		return errs
	}
	labels := strings.Split(name, ".")
	switch {
	case len(labels) < 2:
		return field.ErrorList{field.Invalid(path, host, "must be a full DNS name, such as www.example.com")}
	case net.ParseIP(name) != nil:
		return field.ErrorList{field.Invalid(path, host, "must be a DNS name, not an IP address")}
	}
	return nil
}

// validateLabels checks the length of the labels of a DNS name.
func validateLabels(name string, path *field.Path) field.ErrorList {
	for label := range strings.SplitSeq(name, ".") {
		if len(label) > utilvalidation.DNS1123LabelMaxLength {
			return field.ErrorList{field.Invalid(path, name, fmt.Sprintf("no label may have more than %d characters", utilvalidation.DNS1123LabelMaxLength))}
		}
	}
	return nil
}

// validateHostStatuses checks what was observed of hosts. Terminals print the messages,
// which contain what servers answer.
func validateHostStatuses(hosts []website.WebsiteHostStatus, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i := range hosts {
		host, path := &hosts[i], path.Index(i)
		if expiration := host.CertificateExpirationTime; expiration != nil {
			errs = append(errs, validateTime(expiration.IsZero(), path.Child("certificateExpirationTime"))...)
		}
		errs = append(errs, validatePrintable(host.Message, path.Child("message"))...)
	}
	return errs
}
