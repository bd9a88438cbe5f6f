package children

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// LimitedRolloutAnnotation is on a Deployment while its pod template is one that the
// controller has changed for another reason than a change of the Website. Such rollouts
// are limited in number.
const LimitedRolloutAnnotation = v1beta1.GroupName + "/limited-rollout"

// Template returns the pod template of a Deployment as the controller applies it, or nil.
func Template(deployment *appsv1ac.DeploymentApplyConfiguration) *corev1ac.PodTemplateSpecApplyConfiguration {
	if deployment == nil || deployment.Spec == nil {
		return nil
	}
	return deployment.Spec.Template
}

// TemplateHash tells pod templates apart.
func TemplateHash(template *corev1ac.PodTemplateSpecApplyConfiguration) (string, error) {
	data, err := json.Marshal(template)
	if err != nil {
		return "", fmt.Errorf("encoding a pod template: %w", err)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), nil
}
