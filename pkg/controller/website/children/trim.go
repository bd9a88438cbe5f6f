package children

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"regexp"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	networkingv1ac "k8s.io/client-go/applyconfigurations/networking/v1"
	policyv1ac "k8s.io/client-go/applyconfigurations/policy/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	gatewayv1ac "sigs.k8s.io/gateway-api/applyconfiguration/apis/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
	websitev1beta1ac "github.com/kubesites/website-apiserver/pkg/generated/applyconfiguration/website/v1beta1"
)

// Trim keeps of a child, for the cache, what is read of it. Of managed fields that is only
// what the controller applied, as a Digest. It may be called twice, as informers may do.
// One of which that cannot be extracted is left for Applied to return the error.
func Trim(child any) {
	switch child := child.(type) {
	case *appsv1.Deployment:
		if keepDigest(child, appsv1ac.ExtractDeployment, digestOfDeployment) {
			trimTemplate(&child.Spec.Template)
		}
	case *corev1.ConfigMap:
		if keepDigest(child, corev1ac.ExtractConfigMap, digestOf) && !resources.IsAgentConfigMap(child.Name) {
			child.Data, child.BinaryData = digests(child.Data), nil
		}
	case *corev1.Service:
		keepDigest(child, corev1ac.ExtractService, digestOf)
	case *policyv1.PodDisruptionBudget:
		keepDigest(child, policyv1ac.ExtractPodDisruptionBudget, digestOf)
	case *networkingv1.Ingress:
		keepDigest(child, networkingv1ac.ExtractIngress, digestOf)
	case *gatewayv1.HTTPRoute:
		keepDigest(child, gatewayv1ac.ExtractHTTPRoute, digestOf)
	case *gatewayv1.ListenerSet:
		keepDigest(child, gatewayv1ac.ExtractListenerSet, digestOf)
	case *v1beta1.Website:
		keepDigest(child, websitev1beta1ac.ExtractWebsite, digestOf)
	}
}

// keepDigest replaces the managed fields of a child. It reports false when they are needed.
func keepDigest[T Object, A ApplyConfiguration[A]](child T, extract func(child T, fieldManager string) (A, error), digest func(A) (Digest, error)) bool {
	entry := appliedEntry(child)
	if entry == nil {
		child.SetManagedFields(nil) // The controller has not applied it.
		return true
	}
	if entry.FieldsV1 != nil {
		if _, ok := decodeDigest(entry.FieldsV1.GetRawString()); ok {
			return true
		}
	}
	applied, err := extract(child, FieldManager)
	if err != nil {
		return false
	}
	kept, err := digest(applied)
	if err != nil {
		return false
	}
	child.SetManagedFields([]metav1.ManagedFieldsEntry{{
		Manager: FieldManager, Operation: metav1.ManagedFieldsOperationApply, FieldsV1: metav1.NewFieldsV1(kept.encode()),
	}})
	return true
}

// trimTemplate keeps of a pod template the names of its containers, its ConfigMaps, and what
// git-sync fetches.
func trimTemplate(template *corev1.PodTemplateSpec) {
	pod := &template.Spec
	*template = corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		InitContainers: trimContainers(pod.InitContainers), Containers: trimContainers(pod.Containers), Volumes: trimVolumes(pod),
	}}
}

func trimContainers(containers []corev1.Container) []corev1.Container {
	trimmed := make([]corev1.Container, len(containers))
	for i, container := range containers {
		trimmed[i].Name = container.Name
		if container.Name == resources.GitSyncContainer {
			trimmed[i].Args = slices.DeleteFunc(slices.Clone(container.Args), func(arg string) bool { return !strings.HasPrefix(arg, resources.RefFlag) })
		}
	}
	return trimmed
}

func trimVolumes(pod *corev1.PodSpec) []corev1.Volume {
	var trimmed []corev1.Volume
	for _, name := range mountedConfigMaps(pod) {
		trimmed = append(trimmed, corev1.Volume{VolumeSource: corev1.VolumeSource{
			ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}},
		}})
	}
	return trimmed
}

// TrimReplicaSet keeps of a ReplicaSet, for the cache, whose it is and which ConfigMaps
// its pods mount.
func TrimReplicaSet(replicaSet *appsv1.ReplicaSet) {
	trimmed := appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{
		Namespace: replicaSet.Namespace, Name: replicaSet.Name, UID: replicaSet.UID, ResourceVersion: replicaSet.ResourceVersion,
		Labels: replicaSet.Labels,
	}}
	trimmed.Spec.Template.Spec.Volumes = trimVolumes(&replicaSet.Spec.Template.Spec)
	*replicaSet = trimmed
}

// mountedConfigMaps returns the ConfigMaps that are volumes of a pod.
func mountedConfigMaps(pod *corev1.PodSpec) []string {
	var names []string
	for _, volume := range pod.Volumes {
		if volume.ConfigMap != nil {
			names = append(names, volume.ConfigMap.Name)
		}
	}
	return names
}

// contentDigest matches what digests makes of a value.
var contentDigest = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

// digests returns what is kept of the content of a ConfigMap: with redirects, a configuration
// has hundreds of kilobytes, and each Website has several. What agents read is small.
func digests(data map[string]string) map[string]string {
	short := maps.Clone(data)
	for key, value := range data {
		if !contentDigest.MatchString(value) {
			sum := sha256.Sum256([]byte(value))
			short[key] = "sha256:" + hex.EncodeToString(sum[:])
		}
	}
	return short
}
