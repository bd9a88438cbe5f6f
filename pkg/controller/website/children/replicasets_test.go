package children

import (
	"reflect"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
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

func TestTrimReplicaSet(t *testing.T) {
	replicaSet := &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "kubia-1", UID: "u", ResourceVersion: "7",
			Labels:      map[string]string{resources.LabelController: "kubia"},
			Annotations: map[string]string{revisionAnnotation: "3", "other": "x"}},
	}
	replicaSet.Spec.Template.Spec.Volumes = []corev1.Volume{mounted("kubia-nginx-1"), {Name: "work"}}
	want := &ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "kubia-1", UID: "u", ResourceVersion: "7"},
		Website:    cache.NewObjectName("default", "kubia"), Revision: "3", ConfigMaps: []string{"kubia-nginx-1"},
	}
	if got := TrimReplicaSet(replicaSet); !reflect.DeepEqual(got, want) {
		t.Errorf("the cache holds %+v, want %+v", got, want)
	}
}

// TestTemplateHash: the current pod template is that of the ReplicaSet with the revision of the Deployment, which
// need not be the last one that was created.
func TestTemplateHash(t *testing.T) {
	kube := fake.NewClientset()
	configMaps, err := newConfigMaps(kube, informers.NewSharedInformerFactory(kube, 0), Owners{})
	if err != nil {
		t.Fatal(err)
	}
	for name, of := range map[string]struct{ revision, configMap string }{
		"kubia-website-a":       {"4", "kubia-website-nginx-1"},
		"kubia-website-b":       {"3", "kubia-website-nginx-1"},
		"kubia-website-c":       {"5", "kubia-website-nginx-2"},
		"another-website-d":     {"3", "kubia-website-nginx-1"},
		"kubia-website-unknown": {"", "kubia-website-nginx-1"},
	} {
		replicaSet := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name,
			Annotations: map[string]string{revisionAnnotation: of.revision}}}
		replicaSet.Spec.Template.Spec.Volumes = []corev1.Volume{mounted(of.configMap)}
		if err := configMaps.replicaSets.Add(TrimReplicaSet(replicaSet)); err != nil {
			t.Fatal(err)
		}
	}
	for name, test := range map[string]struct{ revision, configMap, want string }{
		"the current one, used before":           {"4", "kubia-website-nginx-1", "a"},
		"another one with the same ConfigMap":    {"3", "kubia-website-nginx-1", "b"},
		"another ConfigMap":                      {"5", "kubia-website-nginx-2", "c"},
		"the cache does not show it yet":         {"6", "kubia-website-nginx-1", ""},
		"not observed by the controller of them": {"", "kubia-website-nginx-1", ""},
	} {
		deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "kubia-website",
			Annotations: map[string]string{revisionAnnotation: test.revision}}}
		deployment.Spec.Template.Spec.Volumes = []corev1.Volume{mounted(test.configMap)}
		Trim(deployment)
		if got := configMaps.TemplateHash(deployment); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
