package resources

import (
	networkingv1 "k8s.io/api/networking/v1"
	networkingv1ac "k8s.io/client-go/applyconfigurations/networking/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// IngressName is the name of the Ingress of a Website.
func IngressName(website *v1beta1.Website) string {
	return groupName(website, 0)
}

// Ingress builds the Ingress of hosts that the Website owns. Without a class, it gets the default of
// the cluster. An Ingress cannot redirect, so all hosts are served.
func Ingress(website *v1beta1.Website, hosts []string, class string) *networkingv1ac.IngressApplyConfiguration {
	spec := networkingv1ac.IngressSpec()
	if class != "" {
		spec.WithIngressClassName(class)
	}
	for _, host := range hosts {
		spec.WithRules(networkingv1ac.IngressRule().WithHost(host).
			WithHTTP(networkingv1ac.HTTPIngressRuleValue().WithPaths(networkingv1ac.HTTPIngressPath().
				WithPath("/").WithPathType(networkingv1.PathTypePrefix).
				WithBackend(networkingv1ac.IngressBackend().WithService(networkingv1ac.IngressServiceBackend().
					WithName(ServiceName(website)).WithPort(networkingv1ac.ServiceBackendPort().WithNumber(ServicePort)))))))
		if WantsTLS(website) {
			tls := networkingv1ac.IngressTLS().WithHosts(host)
			if secret := CertificateSecretName(website, host); secret != "" {
				tls.WithSecretName(secret)
			}
			spec.WithTLS(tls)
		}
	}
	return networkingv1ac.Ingress(IngressName(website), website.Namespace).
		WithLabels(supportLabels(website)).
		WithAnnotations(issuerAnnotations(website)).
		WithOwnerReferences(ownerReference(website)).
		WithSpec(spec)
}
