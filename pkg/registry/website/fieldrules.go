package website

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// HostAuthorization selects how the server handles a write that adds a host without permission to use
// the host.
type HostAuthorization string

const (
	// HostAuthorizationOff accepts the write, without checking the permission.
	HostAuthorizationOff HostAuthorization = "Off"
	// HostAuthorizationWarn accepts the write and returns a warning.
	HostAuthorizationWarn HostAuthorization = "Warn"
	// HostAuthorizationEnforce rejects the write.
	HostAuthorizationEnforce HostAuthorization = "Enforce"
)

// FieldRules are the rules for fields of Websites that flags of the server configure.
type FieldRules struct {
	// HostAuthorization applies to the hosts of Websites and of their previews. Empty: Off.
	HostAuthorization HostAuthorization
	// ServiceAnnotations are the allowed keys of spec.service.annotations. A key that
	// ends with "*" is a prefix. An empty list rejects all annotations.
	ServiceAnnotations []string
	// OmitPersonalNames omits the names of users who request syncs from status.sync.
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
func (r FieldRules) validate(spec, old *v1beta1.WebsiteSpec) field.ErrorList {
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
