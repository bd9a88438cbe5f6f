package main

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/images"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
)

// definition is the group and version of test/bench/website-crd.yaml.
var definition = schema.GroupVersion{Group: "definition.example.com", Version: "v1beta1"}

func addWebsites(types *runtime.Scheme) {
	types.AddKnownTypes(definition, &v1beta1.Website{}, &v1beta1.WebsiteList{})
	metav1.AddToGroupVersion(types, definition)
}

// children are the desired children of a Website.
type children struct {
	nginx, agent *corev1.ConfigMap
	deployment   *appsv1.Deployment
	service      *corev1.Service
}

// childrenOf returns the objects of website-controller's builders as typed objects, which a
// controller of the book works with. A controller of this kind would build those directly: the
// conversion is the only additional work for the comparison, and BenchmarkConvert measures it.
func childrenOf(website *v1beta1.Website) (*children, error) {
	installation := resources.Installation{Nginx: images.Nginx, GitSync: images.GitSync, Agent: images.Agent}
	config, err := resources.NginxConfig(website, installation)
	if err != nil {
		return nil, fmt.Errorf("rendering the nginx configuration: %w", err)
	}
	deployment, err := resources.Deployment(website, installation, config)
	if err != nil {
		return nil, fmt.Errorf("building the Deployment: %w", err)
	}
	c := &children{nginx: &corev1.ConfigMap{}, agent: &corev1.ConfigMap{}, deployment: &appsv1.Deployment{},
		service: &corev1.Service{}}
	for _, child := range []struct{ from, to any }{
		{resources.ConfigMap(website, config), c.nginx},
		{resources.AgentConfigMap(website, ""), c.agent},
		{deployment, c.deployment},
		{resources.Service(website), c.service},
	} {
		if err := convert(child.to, child.from); err != nil {
			return nil, err
		}
	}
	for _, container := range c.deployment.Spec.Template.Spec.Containers {
		for _, probe := range []*corev1.Probe{container.StartupProbe, container.ReadinessProbe} {
			// This is the server's default. DeepDerivative also compares unset numbers.
			probe.SuccessThreshold = 1
		}
	}
	return c, nil
}
