package options

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"

	"github.com/kubesites/website-apiserver/pkg/registry/website"
)

func (o *Options) addFieldFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.HostAuthorization, "host-authorization", o.HostAuthorization,
		"What happens when a user adds a host to a Website without the verb use on "+
			"websitehosts.mycontroller.nevermosby.io, with the host as name: Off accepts it, Warn accepts it with a warning, "+
			"Enforce rejects it. With Off and Warn, any user who may write a Website may take the hosts of all younger ones.")
	flags.StringSliceVar(&o.AllowedServiceAnnotations, "allowed-service-annotations", o.AllowedServiceAnnotations,
		`The keys of annotations that are allowed in spec.service.annotations, separated by commas. A key that ends with `+
			`"*" allows all keys with that prefix. If empty, no annotations are allowed.`)
	flags.BoolVar(&o.OmitPersonalNames, "omit-personal-names", o.OmitPersonalNames,
		"Leave the names of users who request a sync out of status.sync.lastRequest.by. The audit log has them.")
}

// validateFieldRules requires a known value of --host-authorization, and for annotations
// full keys, or prefixes with a domain: a wider prefix would allow annotations of other
// controllers as well.
func (o CompletedOptions) validateFieldRules() error {
	var errs []error
	switch website.HostAuthorization(o.HostAuthorization) {
	case website.HostAuthorizationOff, website.HostAuthorizationWarn, website.HostAuthorizationEnforce:
	default:
		errs = append(errs, fmt.Errorf("--host-authorization: %q must be Off, Warn or Enforce", o.HostAuthorization))
	}
	for _, key := range o.AllowedServiceAnnotations {
		prefix, isPrefix := strings.CutSuffix(key, "*")
		domain, _, hasDomain := strings.Cut(prefix, "/")
		switch {
		case isPrefix && (!hasDomain || len(utilvalidation.IsDNS1123Subdomain(domain)) > 0):
			errs = append(
				errs, fmt.Errorf(`--allowed-service-annotations: %q must name a domain before the "*", such as example.com/*`, key),
			)
		case !isPrefix && len(utilvalidation.IsQualifiedName(strings.ToLower(key))) > 0:
			errs = append(errs, fmt.Errorf("--allowed-service-annotations: %q is not the key of an annotation", key))
		}
	}
	return errors.Join(errs...)
}

func (o CompletedOptions) fieldRules() website.FieldRules {
	return website.FieldRules{
		HostAuthorization:  website.HostAuthorization(o.HostAuthorization),
		ServiceAnnotations: o.AllowedServiceAnnotations, OmitPersonalNames: o.OmitPersonalNames,
	}
}
