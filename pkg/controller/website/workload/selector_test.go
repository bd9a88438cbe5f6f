package workload

import (
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/cached"
)

// TestPodSelectors: the children of a Website follow its pods from a former selector to the exact
// one, and a Deployment keeps its own.
func TestPodSelectors(t *testing.T) {
	website := &v1beta1.Website{
		ObjectMeta: metav1.ObjectMeta{Name: "kubia"},
		Spec:       v1beta1.WebsiteSpec{DeploymentName: "kubia-website"},
	}
	legacy := map[string]string{"app": "website-nginx", "controller": "kubia"}
	exact := map[string]string{"mycontroller.nevermosby.io/deployment": "kubia-website"}
	// An earlier version of this controller set these labels.
	former := map[string]string{"app": "website-nginx", "controller": "kubia",
		"mycontroller.nevermosby.io/deployment": "kubia-website"}
	other := map[string]string{"app": "nginx"}
	http, number := intstr.FromString("http"), intstr.FromInt32(80)
	pods := func(labels ...map[string]string) (pods []*cached.Pod) {
		for _, l := range labels {
			pods = append(pods, &cached.Pod{Labels: cached.LabelsOf(l)})
		}
		return pods
	}
	for name, test := range map[string]struct {
		// deployment is the selector of the Deployment, service the selector of a Service with the
		// target port, if there is one.
		deployment, service map[string]string
		targetPort          intstr.IntOrString
		ready               []*cached.Pod

		wantDeployment, wantService map[string]string
		wantPort                    intstr.IntOrString
	}{
		"a new Website":             {exact, nil, intstr.IntOrString{}, nil, exact, exact, http},
		"a Service that was edited": {exact, other, number, nil, exact, exact, http},
		"former, no pod is ready":   {former, former, http, nil, former, exact, http},
		"former, pods serve":        {former, former, http, pods(former), former, exact, http},
		"of a former deploymentName": {
			map[string]string{"mycontroller.nevermosby.io/deployment": "former"}, other, number, nil, exact, other, number,
		},
		"a selector without labels":                      {nil, other, number, nil, exact, other, number},
		"older, before the rollout":                      {legacy, legacy, http, pods(legacy, legacy), legacy, legacy, http},
		"older, while pods of both kinds serve":          {legacy, legacy, http, pods(exact, legacy), legacy, legacy, http},
		"older, a Service that was edited meanwhile":     {legacy, other, number, pods(exact, legacy), legacy, legacy, http},
		"older, after the rollout":                       {legacy, legacy, http, pods(exact, exact), legacy, exact, http},
		"older, switched, and no pod is ready":           {legacy, exact, http, nil, legacy, exact, http},
		"older, not switched, and no pod is ready":       {legacy, legacy, http, nil, legacy, legacy, http},
		"older, without a Service":                       {legacy, nil, intstr.IntOrString{}, nil, legacy, legacy, http},
		"of another controller, no pod of ours is ready": {legacy, legacy, number, nil, legacy, legacy, number},
		"of another controller, another selector":        {other, other, number, nil, exact, other, number},
		"of another controller, a pod of ours is ready":  {legacy, legacy, number, pods(exact), legacy, exact, http},
	} {
		t.Run(name, func(t *testing.T) {
			deployment := &cached.Deployment{Selector: cached.LabelsOf(test.deployment)}
			if got := DeploymentSelector(website, deployment); !maps.Equal(got, test.wantDeployment) {
				t.Errorf("the Deployment selects %v, want %v", got, test.wantDeployment)
			}
			var service *cached.Service
			var budget *cached.PodDisruptionBudget
			if test.service != nil {
				service = &cached.Service{Selector: cached.LabelsOf(test.service), Ports: []corev1.ServicePort{
					{Port: 443, Protocol: corev1.ProtocolTCP, TargetPort: intstr.FromInt32(443)},
					{Port: 80, Protocol: corev1.ProtocolTCP, TargetPort: test.targetPort},
				}}
				budget = &cached.PodDisruptionBudget{Selector: cached.LabelsOf(test.service)}
			}
			selector := ServingPodSelector(website, deployment, test.ready)
			desired := Service(website, deployment, service, selector)
			if got := desired.Spec.Selector; !maps.Equal(got, test.wantService) {
				t.Errorf("the Service selects %v, want %v", got, test.wantService)
			}
			if got := *desired.Spec.Ports[0].TargetPort; got != test.wantPort {
				t.Errorf("the Service sends requests to port %s, want %s", got.String(), test.wantPort.String())
			}
			if got := PodDisruptionBudget(website, deployment, budget, selector).Spec.Selector.MatchLabels; !maps.Equal(got,
				test.wantService) {
				t.Errorf("the PodDisruptionBudget selects %v, want %v", got, test.wantService)
			}
		})
	}
}
