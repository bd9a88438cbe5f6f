package cached

import (
	"reflect"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
)

func mounted(configMap string) corev1.Volume {
	return corev1.Volume{
		VolumeSource: corev1.VolumeSource{
			ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: configMap}},
		},
	}
}

func TestReplicaSet(t *testing.T) {
	replicaSet := &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "kubia-1", UID: "u", ResourceVersion: "7",
			Labels:      map[string]string{resources.LabelController: "kubia"},
			Annotations: map[string]string{revisionAnnotation: "3", "other": "x"}},
	}
	replicaSet.Spec.Template.Spec.Volumes = []corev1.Volume{mounted("kubia-nginx-1"), {Name: "work"}}
	want := &ReplicaSet{
		Identity: Identity{Namespace: "default", Name: "kubia-1", UID: "u", ResourceVersion: "7"},
		Website:  cache.NewObjectName("default", "kubia"), Revision: "3", NginxConfigMaps: []string{"kubia-nginx-1"},
	}
	if got := OfReplicaSet(replicaSet); !reflect.DeepEqual(got, want) {
		t.Errorf("the cache holds %+v, want %+v", got, want)
	}
}
