package cached

import (
	"maps"
	"reflect"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/agent/requests"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
)

// TestMeta: the cached form has the values of the annotations that controllers set. It has labels only
// if no Website is the owner, because the controller recognizes orphans by their labels.
func TestMeta(t *testing.T) {
	website := newWebsite()
	owned := []metav1.OwnerReference{{APIVersion: "mycontroller.nevermosby.io/v1beta1", Kind: "Website", Name: "kubia",
		UID: website.UID, Controller: ptr.To(true)}}
	labels := map[string]string{resources.LabelManagedBy: resources.ManagedBy, resources.LabelController: "kubia"}
	generation := map[string]string{GenerationAnnotation: "3", "other": "x"}
	for name, test := range map[string]struct {
		owners         []metav1.OwnerReference
		annotations    map[string]string
		wantLabels     map[string]string
		wantGeneration int64
		wantRevision   string
		wantLimited    bool
	}{
		"owned":     {owners: owned, annotations: generation, wantGeneration: 3},
		"an orphan": {annotations: generation, wantLabels: labels, wantGeneration: 3},
		"a limited rollout": {owners: owned, annotations: map[string]string{LimitedRolloutAnnotation: "true"},
			wantLimited: true},
		"a revision": {owners: owned, annotations: map[string]string{revisionAnnotation: "7"}, wantRevision: "7"},
		"a revision that is none": {owners: owned,
			annotations: map[string]string{revisionAnnotation: strings.Repeat("7", 33)}},
		"a generation that is none": {owners: owned, annotations: map[string]string{GenerationAnnotation: "x"}},
		"no annotations":            {owners: owned},
		"empty annotations": {owners: owned,
			annotations: map[string]string{GenerationAnnotation: "", LimitedRolloutAnnotation: ""}},
		"of another Website still": {
			owners:     []metav1.OwnerReference{{APIVersion: "example.com/v1", Kind: "Shop", Controller: ptr.To(true)}},
			wantLabels: labels,
		},
	} {
		kept := OfDeployment(&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a",
			Labels: maps.Clone(labels), Annotations: test.annotations, OwnerReferences: test.owners}})
		if !maps.Equal(kept.Labels, test.wantLabels) || !reflect.DeepEqual(kept.OwnerReferences, test.owners) {
			t.Errorf("%s: labels %v, owners %v", name, kept.Labels, kept.OwnerReferences)
		}
		if kept.WebsiteGeneration != test.wantGeneration || kept.Revision != test.wantRevision ||
			kept.LimitedRollout != test.wantLimited {
			t.Errorf("%s: generation %d, revision %q, limited %t", name, kept.WebsiteGeneration, kept.Revision,
				kept.LimitedRollout)
		}
	}
}

func TestConfigMap(t *testing.T) {
	for name, want := range map[string]struct{ pin, keys string }{
		"kubia-nginx-0123456789abcdef":             {},
		resources.AgentConfigMapName(newWebsite()): {pin: "p"},
		resources.AgentKeysConfigMapName:           {keys: "k"},
		"foreign":                                  {},
	} {
		configMap := OfConfigMap(&corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
			Data:       map[string]string{requests.KeysFile: "k", requests.PinFile: "p"},
		})
		if configMap.Pin != want.pin || configMap.Keys != want.keys {
			t.Errorf("%s: pin %q and keys %q, want %+v", name, configMap.Pin, configMap.Keys, want)
		}
	}
}
