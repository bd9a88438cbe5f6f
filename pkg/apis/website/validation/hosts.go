package validation

import (
	"fmt"
	"net"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// wildcard is the label that matches any name.
const wildcard = "*."

// hostUse contains the inputs of the rules about hosts.
type hostUse struct {
	Hosts   []v1beta1.WebsiteHost
	Routing v1beta1.WebsiteRouting
	TLS     *v1beta1.WebsiteTLS
}

func hostUseOf(spec *v1beta1.WebsiteSpec) hostUse {
	return hostUse{Hosts: spec.Hosts, Routing: spec.Routing, TLS: spec.TLS}
}

// validateHostUse checks the hosts, and the fields that need them.
func validateHostUse(use hostUse, path *field.Path) field.ErrorList {
	if len(use.Hosts) == 0 {
		return validateNoHosts(use, path)
	}
	var errs field.ErrorList
	for i := range use.Hosts {
		errs = append(errs, validateHost(use.Hosts[i].Name, path.Child("hosts").Index(i).Child("name"))...)
	}
	errs = append(errs, validateRoles(use.Hosts, path.Child("hosts"))...)
	errs = append(errs, validateParentRefs(use, path.Child("routing", "parentRefs"))...)
	return append(errs, validateIssuer(use.TLS, path.Child("tls", "issuerRef"))...)
}

func validateNoHosts(use hostUse, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, member := range []struct {
		name string
		set  bool
	}{
		{"routing", len(use.Routing.ParentRefs) > 0 || use.Routing.IngressClassName != ""},
		{"tls", use.TLS != nil},
	} {
		if member.set {
			errs = append(errs, field.Forbidden(path.Child(member.name), "may only be set when hosts are set"))
		}
	}
	return errs
}

// validateRoles checks that each redirect has exactly one target host.
func validateRoles(hosts []v1beta1.WebsiteHost, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	canonical := ""
	for i := range hosts {
		if hosts[i].Role != v1beta1.HostRoleCanonical {
			continue
		}
		if canonical != "" {
			msg := fmt.Sprintf("only one host may be canonical, and %s is", canonical)
			errs = append(errs, field.Invalid(path.Index(i).Child("role"), hosts[i].Role, msg))
			continue
		}
		canonical = hosts[i].Name
		if strings.HasPrefix(canonical, wildcard) {
			errs = append(errs, field.Invalid(path.Index(i).Child("name"), canonical,
				"must have no wildcard when the role is Canonical: other hosts are redirected to it"))
		}
	}
	for i := range hosts {
		if hosts[i].Role == v1beta1.HostRoleRedirect && canonical == "" {
			errs = append(errs, field.Invalid(path.Index(i).Child("role"), hosts[i].Role,
				"requires another host with the role Canonical"))
		}
	}
	return errs
}

// validateParentRefs checks that the certificate comes from the listeners, and that no parent is
// named twice.
func validateParentRefs(use hostUse, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	hasOwnCertificate := use.TLS != nil && use.TLS.Mode != v1beta1.TLSModeListener
	seen := map[v1beta1.ParentReference]bool{}
	for i, parent := range use.Routing.ParentRefs {
		if parent.SectionName != "" && hasOwnCertificate {
			errs = append(errs, field.Forbidden(path.Index(i).Child("sectionName"),
				fmt.Sprintf("must not be set when tls.mode is %s: the listener of the Gateway has its own certificate",
					use.TLS.Mode)))
		}
		if seen[parent] {
			errs = append(errs, field.Duplicate(path.Index(i), parent.Name))
		}
		seen[parent] = true
	}
	return errs
}

// validateIssuer checks the kind only syntactically, as cert-manager has more kinds than this
// server knows.
func validateIssuer(tls *v1beta1.WebsiteTLS, path *field.Path) field.ErrorList {
	if tls == nil || tls.IssuerRef == nil {
		return nil
	}
	kind := tls.IssuerRef.Kind
	// A kind is a label in lower case. The type declares its maximum length.
	if kind == "" || len(kind) > utilvalidation.DNS1035LabelMaxLength {
		return nil
	}
	if msgs := utilvalidation.IsDNS1035Label(strings.ToLower(kind)); len(msgs) > 0 {
		return field.ErrorList{
			field.Invalid(path.Child("kind"), kind, "must be the kind of an issuer, such as ClusterIssuer"),
		}
	}
	return nil
}

// validateHost applies the rules of Gateway API and Ingress, and requires a dot: a host of
// one label is a name of the local network only, and the most likely mistake.
func validateHost(host string, path *field.Path) field.ErrorList {
	if host == "" {
		return nil // The type declares that it is required.
	}
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
			return field.ErrorList{
				field.Invalid(path, name, fmt.Sprintf("no label may have more than %d characters",
					utilvalidation.DNS1123LabelMaxLength)),
			}
		}
	}
	return nil
}

// validateHostStatuses checks the observed states of hosts.
func validateHostStatuses(hosts, old []v1beta1.WebsiteHostStatus, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	former := map[string][]metav1.Condition{}
	for i := range old {
		former[old[i].Name] = old[i].Conditions
	}
	for i := range hosts {
		host, path := &hosts[i], path.Index(i)
		if expiration := host.CertificateExpirationTime; expiration != nil {
			errs = append(errs, validateTime(expiration.IsZero(), path.Child("certificateExpirationTime"))...)
		}
		conditions := path.Child("conditions")
		errs = append(errs, metav1validation.ValidateConditions(host.Conditions, conditions)...)
		errs = append(errs, validateMessages(host.Conditions, former[host.Name], conditions)...)
	}
	return errs
}
