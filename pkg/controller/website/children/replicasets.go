package children

import (
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
)

// revisionAnnotation is what the Deployment controller numbers pod templates by. A Deployment has that of its
// current one, and a ReplicaSet whose template is the current one again gets another number.
const revisionAnnotation = "deployment.kubernetes.io/revision"

// ReplicaSet is what the cache keeps of a ReplicaSet: whose it is, which pod template it
// has, and which nginx configurations its pods mount.
type ReplicaSet struct {
	metav1.ObjectMeta
	Website    cache.ObjectName
	Revision   string
	ConfigMaps []string
}

// TrimReplicaSet returns what the cache keeps of a ReplicaSet.
func TrimReplicaSet(replicaSet *appsv1.ReplicaSet) *ReplicaSet {
	revision := replicaSet.Annotations[revisionAnnotation]
	if len(revision) > maxNote {
		revision = ""
	}
	Intern(&revision)
	return &ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: replicaSet.Namespace, Name: replicaSet.Name, UID: replicaSet.UID,
			ResourceVersion: replicaSet.ResourceVersion,
		},
		Website:    cache.NewObjectName(replicaSet.Namespace, replicaSet.Labels[resources.LabelController]),
		Revision:   revision,
		ConfigMaps: FirstOf(mountedConfigMaps(&replicaSet.Spec.Template.Spec)),
	}
}

// TemplateHash returns the label pod-template-hash of the pods that have the current pod template of a
// Deployment. It is empty as long as the cache does not show a ReplicaSet with that. The age of pods does
// not say it: one of an earlier template that is lost is replaced by another of that template.
func (c *ConfigMaps) TemplateHash(deployment *appsv1.Deployment) string {
	revision := deployment.Annotations[revisionAnnotation]
	if revision == "" {
		return ""
	}
	for _, name := range templateConfigMaps(&deployment.Spec.Template.Spec) {
		key := cache.NewObjectName(deployment.Namespace, name).String()
		for _, replicaSet := range Indexed[*ReplicaSet](c.replicaSets, byConfigMap, key) {
			if replicaSet.Revision != revision {
				continue
			}
			if hash, ok := strings.CutPrefix(replicaSet.Name, deployment.Name+"-"); ok {
				return hash
			}
		}
	}
	return ""
}
