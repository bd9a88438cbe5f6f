package cached

import (
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
)

// ReplicaSet is the cached form of a ReplicaSet: its Website, the number of its pod template, and the nginx
// configurations that its pods mount.
type ReplicaSet struct {
	Identity
	Website         cache.ObjectName
	Revision        string
	NginxConfigMaps []string
}

// OfReplicaSet returns the cached form of a ReplicaSet.
func OfReplicaSet(replicaSet *appsv1.ReplicaSet) *ReplicaSet {
	return &ReplicaSet{
		Identity:        identityOf(replicaSet),
		Website:         cache.NewObjectName(interned(replicaSet.Namespace), replicaSet.Labels[resources.LabelController]),
		Revision:        note(replicaSet, revisionAnnotation),
		NginxConfigMaps: FirstOf(MountedConfigMaps(&replicaSet.Spec.Template.Spec)),
	}
}
