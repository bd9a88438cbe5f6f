package validation

import (
	"fmt"
	"strings"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// maxServiceAnnotationsBytes is the maximum size of the annotations of the Service as JSON.
const maxServiceAnnotationsBytes = 4 << 10

// validateService checks a Service that differs from old, which is empty on creation.
func validateService(service, old *v1beta1.WebsiteService, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if service.NodePort != 0 && service.Type == v1beta1.ServiceTypeClusterIP {
		errs = append(
			errs, field.Forbidden(path.Child("nodePort"), fmt.Sprintf("may only be set when the type is %s or %s",
				v1beta1.ServiceTypeNodePort, v1beta1.ServiceTypeLoadBalancer)),
		)
	}
	errs = append(errs, validateLoadBalancerClass(service, old, path.Child("loadBalancerClass"))...)
	return append(errs, validateServiceAnnotations(service.Annotations, path.Child("annotations"))...)
}

// validateLoadBalancerClass applies the rules of Services, which would be rejected later.
func validateLoadBalancerClass(service, old *v1beta1.WebsiteService, path *field.Path) field.ErrorList {
	class := service.LoadBalancerClass
	switch {
	case service.Type != v1beta1.ServiceTypeLoadBalancer && class != "":
		return field.ErrorList{
			field.Forbidden(path, fmt.Sprintf("may only be set when the type is %s", v1beta1.ServiceTypeLoadBalancer)),
		}
	case service.Type == v1beta1.ServiceTypeLoadBalancer && old.Type == v1beta1.ServiceTypeLoadBalancer &&
		class != old.LoadBalancerClass:
		return field.ErrorList{
			field.Invalid(path, class, fmt.Sprintf("must not change while the type is %s: change the type first",
				v1beta1.ServiceTypeLoadBalancer)),
		}
	case class == "":
		return nil
	}
	var errs field.ErrorList
	for _, msg := range utilvalidation.IsQualifiedName(class) {
		errs = append(errs, field.Invalid(path, class, msg))
	}
	return errs
}

func validateServiceAnnotations(annotations map[string]string, path *field.Path) field.ErrorList {
	errs := apivalidation.ValidateAnnotations(annotations, path)
	for key := range annotations {
		if domain, _, _ := strings.Cut(key, "/"); domain == website.GroupName {
			errs = append(errs, field.Forbidden(path.Key(key), "website-controller sets the annotations of this domain"))
		}
	}
	if size := jsonSize(annotations); len(annotations) > 0 && size > maxServiceAnnotationsBytes {
		err := field.TooLong(path, "", maxServiceAnnotationsBytes)
		err.Detail = fmt.Sprintf("may not be more than %d bytes as JSON: the size is %d", maxServiceAnnotationsBytes, size)
		errs = append(errs, err)
	}
	return errs
}
