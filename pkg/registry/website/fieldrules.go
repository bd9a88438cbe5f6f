package website

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
)

// HostAuthorization is what happens to a write that adds a host which its user may not use.
type HostAuthorization string

const (
	// HostAuthorizationOff accepts it, without looking for the permission.
	HostAuthorizationOff HostAuthorization = "Off"
	// HostAuthorizationWarn accepts it with a warning.
	HostAuthorizationWarn HostAuthorization = "Warn"
	// HostAuthorizationEnforce rejects it.
	HostAuthorizationEnforce HostAuthorization = "Enforce"
)

// FieldRules is what the flags of the server say about fields of Websites.
type FieldRules struct {
	// HostAuthorization applies to the hosts of Websites and of their previews. Empty: Off.
	HostAuthorization HostAuthorization
	// ServiceAnnotations are the keys of annotations that spec.service.annotations may
	// have. One that ends with "*" is a prefix. None: there may be no annotations.
	ServiceAnnotations []string
	// OmitPersonalNames leaves the users who request a sync out of the status.
	OmitPersonalNames bool
}

// allowsServiceAnnotation reports whether a Service may have an annotation of this key.
func (r FieldRules) allowsServiceAnnotation(key string) bool {
	return slices.ContainsFunc(r.ServiceAnnotations, func(allowed string) bool {
		prefix, isPrefix := strings.CutSuffix(allowed, "*")
		return isPrefix && strings.HasPrefix(key, prefix) || key == allowed
	})
}

// validate checks the fields of spec that differ from old, which is empty on creation.
func (r FieldRules) validate(spec, old *website.WebsiteSpec) field.ErrorList {
	var errs field.ErrorList
	path := field.NewPath("spec", "service", "annotations")
	for _, key := range slices.Sorted(maps.Keys(spec.Service.Annotations)) {
		before, present := old.Service.Annotations[key]
		if present && before == spec.Service.Annotations[key] || r.allowsServiceAnnotation(key) {
			continue
		}
		errs = append(errs, field.Forbidden(path.Key(key), "is not allowed in this cluster: remove it, or add its key to "+
			"--allowed-service-annotations of website-apiserver"))
	}
	return errs
}
