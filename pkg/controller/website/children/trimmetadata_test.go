package children

import (
	"maps"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/agent/requests"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
)

// TestTrimMetadata keeps the labels of orphans, by which they are recognized, and the annotations
// of the controller.
func TestTrimMetadata(t *testing.T) {
	website := newWebsite("kubia")
	owned := metav1.OwnerReference{APIVersion: "mycontroller.nevermosby.io/v1beta1", Kind: "Website", Name: "kubia",
		UID: website.UID, Controller: ptr.To(true)}
	labels := map[string]string{resources.LabelManagedBy: resources.ManagedBy, resources.LabelController: "kubia"}
	for name, test := range map[string]struct {
		owners      []metav1.OwnerReference
		annotations map[string]string
		wantLabels  map[string]string
		want        map[string]string
	}{
		"owned": {
			owners: []metav1.OwnerReference{owned}, annotations: map[string]string{GenerationAnnotation: "3", "other": "x"},
			want: map[string]string{GenerationAnnotation: "3"},
		},
		"an orphan": {annotations: map[string]string{GenerationAnnotation: "3"}, wantLabels: labels,
			want: map[string]string{GenerationAnnotation: "3"}},
		"a limited rollout": {
			owners:      []metav1.OwnerReference{owned},
			annotations: map[string]string{GenerationAnnotation: "3", LimitedRolloutAnnotation: "true"},
			want:        map[string]string{GenerationAnnotation: "3", LimitedRolloutAnnotation: "true"},
		},
		"a revision": {owners: []metav1.OwnerReference{owned},
			annotations: map[string]string{revisionAnnotation: "7"}, want: map[string]string{revisionAnnotation: "7"}},
		"a number that is none": {owners: []metav1.OwnerReference{owned},
			annotations: map[string]string{revisionAnnotation: strings.Repeat("7", 33)}, want: map[string]string{}},
		"no annotations": {owners: []metav1.OwnerReference{owned}, want: map[string]string{}},
		"empty annotations": {
			owners: []metav1.OwnerReference{owned}, annotations: map[string]string{GenerationAnnotation: "",
				LimitedRolloutAnnotation: ""}, want: map[string]string{GenerationAnnotation: "", LimitedRolloutAnnotation: ""},
		},
		"of another Website still": {
			owners:     []metav1.OwnerReference{{APIVersion: "example.com/v1", Kind: "Shop", Controller: ptr.To(true)}},
			wantLabels: labels, want: map[string]string{},
		},
	} {
		service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a", Labels: maps.Clone(labels),
			Annotations: test.annotations, OwnerReferences: test.owners}}
		for range 2 { // An informer may transform an object more than once.
			Trim(service)
		}
		if !maps.Equal(service.Labels, test.wantLabels) || !maps.Equal(service.Annotations, test.want) ||
			!reflect.DeepEqual(service.OwnerReferences, test.owners) {
			t.Errorf("%s: labels %v, annotations %v, owners %v", name, service.Labels, service.Annotations,
				service.OwnerReferences)
		}
	}
}

func TestTrimConfigMap(t *testing.T) {
	for name, want := range map[string]map[string]string{
		"kubia-nginx-0123456789abcdef":                    nil,
		resources.AgentConfigMapName(newWebsite("kubia")): {requests.PinFile: "p"},
		resources.AgentKeysConfigMapName:                  {requests.KeysFile: "k"},
		"foreign":                                         nil,
	} {
		configMap := &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
			Data:       map[string]string{requests.KeysFile: "k", requests.PinFile: "p"},
			BinaryData: map[string][]byte{"b": []byte("b")},
		}
		Trim(configMap)
		if !maps.Equal(configMap.Data, want) {
			t.Errorf("%s: data %v, want %v", name, configMap.Data, want)
		}
	}
}
