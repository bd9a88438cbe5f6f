package options

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/validation"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/client-go/tools/cache"
)

// maxPreviewDomain leaves room for a branch and the name of a Website, as in
// spec.previews.domain.
const maxPreviewDomain = 100

// GatewayName returns the Gateway of --default-gateway, or the zero value.
func (o *Options) GatewayName() cache.ObjectName {
	namespace, name, _ := strings.Cut(o.DefaultGateway, "/")
	return cache.NewObjectName(namespace, name)
}

func (o *Options) validateRouting() error {
	var errs []error
	if gateway := o.GatewayName(); o.DefaultGateway != "" {
		problems := append(validation.ValidateNamespaceName(gateway.Namespace, false),
			validation.NameIsDNSSubdomain(gateway.Name, false)...)
		if len(problems) > 0 {
			errs = append(errs, fmt.Errorf("--default-gateway is %q: it must be NAMESPACE/NAME: %s",
				o.DefaultGateway, problems[0]))
		}
	}
	if o.DefaultIngressClass != "" {
		for _, problem := range validation.NameIsDNSSubdomain(o.DefaultIngressClass, false) {
			errs = append(errs, fmt.Errorf("--default-ingress-class %q is not a valid name of an IngressClass: %s",
				o.DefaultIngressClass, problem))
		}
	}
	if o.PreviewDomain != "" {
		problems := validation.NameIsDNSSubdomain(o.PreviewDomain, false)
		if len(o.PreviewDomain) > maxPreviewDomain {
			problems = append(problems, fmt.Sprintf("must be no more than %d characters", maxPreviewDomain))
		}
		for _, problem := range problems {
			errs = append(errs, fmt.Errorf("--preview-domain %q is not a valid DNS domain: %s", o.PreviewDomain, problem))
		}
	}
	return utilerrors.NewAggregate(errs)
}
