package children

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/kubesites/website-apiserver/pkg/agent/requests"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
)

// Trim keeps of a child, for the cache, what is read of it, and no more than children of the
// controller have: any client can give objects of any size their labels. Of managed fields that is only
// what the controller applied, as a Digest, which is made before anything is dropped. It may be called
// twice, as informers may do. One of which that cannot be extracted is left for Applied to return the error.
func Trim(child any) {
	switch child := child.(type) {
	case *appsv1.Deployment:
		if keepDigest(child, extractDeployment, digestOfDeployment) {
			trimMetadata(child)
			trimTemplate(&child.Spec.Template)
			trimConditions(child.Status.Conditions)
			child.Spec.Selector, child.Spec.Strategy = trimLabelSelector(child.Spec.Selector), appsv1.DeploymentStrategy{}
		}
	case *corev1.ConfigMap:
		if keepDigest(child, extractConfigMap, digestOfConfigMap) {
			trimMetadata(child)
			trimData(child)
		}
	case *corev1.Service:
		if keepDigest(child, extractService, digestOf) {
			trimMetadata(child)
			child.Spec = corev1.ServiceSpec{Selector: trimSelector(child.Spec.Selector), Ports: FirstOf(child.Spec.Ports)}
			for i := range child.Spec.Ports {
				port := &child.Spec.Ports[i]
				Intern(&port.Name)
				Intern(&port.Protocol)
				Intern(&port.TargetPort.StrVal)
			}
		}
	case *policyv1.PodDisruptionBudget:
		if keepDigest(child, extractPodDisruptionBudget, digestOf) {
			trimMetadata(child)
			child.Spec = policyv1.PodDisruptionBudgetSpec{Selector: trimLabelSelector(child.Spec.Selector)}
			child.Status = policyv1.PodDisruptionBudgetStatus{}
		}
	case *networkingv1.Ingress:
		if keepDigest(child, extractIngress, digestOf) {
			trimMetadata(child)
			trimIngress(child)
		}
	case *gatewayv1.HTTPRoute:
		if keepDigest(child, extractHTTPRoute, digestOf) {
			trimMetadata(child)
			child.Spec = gatewayv1.HTTPRouteSpec{CommonRouteSpec: child.Spec.CommonRouteSpec, Hostnames: child.Spec.Hostnames}
		}
	case *gatewayv1.ListenerSet:
		if keepDigest(child, extractListenerSet, digestOf) {
			trimMetadata(child)
			trimListenerSet(child)
		}
	case *v1beta1.Website:
		// A preview is also a Website of its own.
		keepDigest(child, extractWebsite, digestOf)
	}
}

// keepDigest replaces the managed fields of a child. It reports false when they are needed.
func keepDigest[T Object, A ApplyConfiguration[A]](child T, extract func(child T, fieldManager string) (A, error),
	digest func(A) (Digest, error)) bool {
	if _, ok := keptDigest(child); ok {
		return true
	}
	if !WasApplied(child) {
		child.SetManagedFields(nil)
		return true
	}
	applied, err := extractDigest(child, extract, digest)
	if err != nil {
		return false
	}
	applied.keep(child)
	return true
}

// trimTemplate keeps of a pod template its configuration, and whether it is that of another
// controller.
func trimTemplate(template *corev1.PodTemplateSpec) {
	pod := template.Spec
	*template = corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		Containers: trimContainers(pod.Containers), ImagePullSecrets: keepConfigMaps(&pod),
	}}
}

// trimConditions drops the messages of conditions that say that all is well.
func trimConditions(conditions []appsv1.DeploymentCondition) {
	for i := range conditions {
		condition := &conditions[i]
		Intern(&condition.Type)
		Intern(&condition.Status)
		Intern(&condition.Reason)
		if condition.Status == corev1.ConditionTrue && condition.Type != appsv1.DeploymentReplicaFailure {
			condition.Message = ""
		}
	}
}

// trimContainers keeps that there is git-sync, which is a sidecar of this controller.
func trimContainers(containers []corev1.Container) []corev1.Container {
	for _, container := range containers {
		if container.Name == resources.GitSyncContainer {
			return []corev1.Container{{Name: container.Name}}
		}
	}
	return nil
}

// keepConfigMaps keeps the names of the nginx configurations of a pod template in the place of Secrets that are not
// read here: a volume takes 320 bytes.
func keepConfigMaps(pod *corev1.PodSpec) []corev1.LocalObjectReference {
	var kept []corev1.LocalObjectReference
	for _, name := range FirstOf(templateConfigMaps(pod)) {
		kept = append(kept, corev1.LocalObjectReference{Name: name})
	}
	return kept
}

// templateConfigMaps returns the nginx configurations of the pod template of a Deployment, which may be trimmed.
func templateConfigMaps(pod *corev1.PodSpec) []string {
	names := mountedConfigMaps(pod)
	if len(pod.Volumes) > 0 {
		return names
	}
	for _, kept := range pod.ImagePullSecrets {
		names = append(names, kept.Name)
	}
	return names
}

// maxAgentFile is more than the public keys take of which an agent accepts most, and a pin is shorter.
const maxAgentFile = 4 << 10

// trimData drops an nginx configuration: with redirects it has hundreds of kilobytes, and each
// Website has several. Of what agents read, the pin and the public keys are read here as well.
func trimData(configMap *corev1.ConfigMap) {
	files := configMap.Data
	configMap.Data, configMap.BinaryData = nil, nil
	kept := ""
	switch {
	case configMap.Name == resources.AgentKeysConfigMapName:
		kept = requests.KeysFile
	case resources.IsAgentConfigMap(configMap.Name):
		kept = requests.PinFile
	}
	if content, ok := files[kept]; ok && len(content) <= maxAgentFile {
		Intern(&content) // Most are the same in all ConfigMaps of the installation.
		configMap.Data = map[string]string{kept: content}
	}
}

// mountedConfigMaps returns the nginx configurations that are volumes of a pod.
func mountedConfigMaps(pod *corev1.PodSpec) []string {
	var names []string
	for _, volume := range pod.Volumes {
		if volume.ConfigMap != nil {
			names = append(names, volume.ConfigMap.Name)
		}
	}
	return names
}
