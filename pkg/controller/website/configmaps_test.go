package website

import (
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
)

// withPath sets spec.source.path, which changes the nginx configuration of a Website.
func withPath(path string) func(*v1beta1.Website) {
	return func(website *v1beta1.Website) { website.Spec.Source.Path = path }
}

// mounting returns a pod spec that mounts a ConfigMap.
func mounting(configMap string) corev1.PodSpec {
	return corev1.PodSpec{Volumes: []corev1.Volume{{Name: "nginx-config", VolumeSource: corev1.VolumeSource{
		ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: configMap}},
	}}}}
}

// oldReplicaSet returns a ReplicaSet of the Deployment, without pods.
func oldReplicaSet(labels map[string]string, configMap string) *appsv1.ReplicaSet {
	return &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: testNamespace, Name: testDeployment + "-old", UID: "replicaset",
			Labels: labels},
		Spec: appsv1.ReplicaSetSpec{Replicas: ptr.To[int32](0),
			Template: corev1.PodTemplateSpec{Spec: mounting(configMap)}},
	}
}

// TestOldConfigMaps: the controller keeps the old ConfigMap as long as a pod that mounts it could start.
func TestOldConfigMaps(t *testing.T) {
	const legacy = testDeployment + "-nginx"
	changed := newWebsite(withPath("public"))
	store := func(f *fixture, change func(*appsv1.ReplicaSet)) {
		replicaSet := oldReplicaSet(f.deployment().Spec.Template.Labels, testConfigMap)
		change(replicaSet)
		f.store(replicaSet)
	}
	for name, test := range map[string]struct {
		// given changes objects in the API server before the caches sync. stale changes them afterwards,
		// so the caches do not show it.
		given, stale func(f *fixture)
		// name is the name of the old ConfigMap. Default: the one from before the change.
		name       string
		wantWrites []string
		// wantLists is true when the controller should read the references from the API server.
		wantLists bool
	}{
		"nothing refers to it": {wantWrites: []string{"delete configmaps " + testConfigMap}, wantLists: true},
		"a ReplicaSet without pods refers to it": {
			given: func(f *fixture) { store(f, func(*appsv1.ReplicaSet) {}) },
		},
		"the cache does not show the ReplicaSet": {
			stale:     func(f *fixture) { store(f, func(*appsv1.ReplicaSet) {}) },
			wantLists: true,
		},
		"the informers do not select the ReplicaSet": {
			given: func(f *fixture) {
				store(f, func(r *appsv1.ReplicaSet) { delete(r.Labels, resources.LabelManagedBy) })
			},
			wantLists: true,
		},
		"the ReplicaSet is gone, the cache shows it": {
			given: func(f *fixture) { store(f, func(*appsv1.ReplicaSet) {}) },
			stale: func(f *fixture) { f.remove(oldReplicaSet(nil, "")) },
		},
		"a ReplicaSet refers to another": {
			given: func(f *fixture) {
				store(f, func(r *appsv1.ReplicaSet) { r.Spec.Template.Spec = mounting("another") })
			},
			wantWrites: []string{"delete configmaps " + testConfigMap}, wantLists: true,
		},
		"a pod without a ReplicaSet refers to it": {
			given: func(f *fixture) {
				f.store(&corev1.Pod{
					ObjectMeta: metav1.ObjectMeta{Namespace: testNamespace, Name: "left", Labels: f.deployment().Spec.Template.Labels},
					Spec:       mounting(testConfigMap),
				})
			},
			wantLists: true,
		},
		"the Deployment controller has not observed the change": {
			given: func(f *fixture) { edit(f, testDeployment, func(d *appsv1.Deployment) { d.Generation = 2 }) },
		},
		"the cache does not show that it has not": {
			stale:     func(f *fixture) { edit(f, testDeployment, func(d *appsv1.Deployment) { d.Generation = 2 }) },
			wantLists: true,
		},
		"another client has rolled the Deployment back, unseen": {
			stale: func(f *fixture) {
				edit(f, testDeployment, func(d *appsv1.Deployment) { d.Spec.Template.Spec = mounting(testConfigMap) })
			},
			wantLists: true,
		},
		"of an earlier version": {
			given: func(f *fixture) {
				old := f.configMap()
				f.remove(old)
				old.Name, old.UID, old.Immutable = legacy, "legacy", nil
				f.store(old)
			},
			name: legacy, wantWrites: []string{"delete configmaps " + legacy}, wantLists: true,
		},
		"of another client": {
			given: func(f *fixture) {
				f.remove(f.configMap())
				f.store(foreignConfigMap())
			},
		},
		"being deleted": {
			given: func(f *fixture) {
				edit(f, testConfigMap, func(c *corev1.ConfigMap) {
					c.DeletionTimestamp, c.Finalizers = ptr.To(metav1.Now()),
						[]string{"x"}
				})
			},
		},
		"an orphan": {
			given: func(f *fixture) {
				edit(f, testConfigMap, func(c *corev1.ConfigMap) { c.OwnerReferences = nil })
			},
			wantWrites: []string{"update ConfigMap " + testConfigMap},
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, newWebsite())
			f.converge(newWebsite())
			f.changeWebsite(changed)
			store(f, func(*appsv1.ReplicaSet) {})
			f.syncCaches()
			f.converge(changed)
			f.remove(oldReplicaSet(nil, ""))
			if test.given != nil {
				test.given(f)
			}
			f.syncCaches()
			if test.stale != nil {
				test.stale(f)
			}
			f.forgetHistory()
			if problems := f.reconcile(testKey); len(problems) > 0 {
				t.Errorf("problems: %v", problems)
			}
			if got := f.childWrites(); !slices.Equal(got, test.wantWrites) {
				t.Errorf("writes %q, want %q", got, test.wantWrites)
			}
			if got := slices.Contains(f.requests(), "get deployments"); got != test.wantLists {
				t.Errorf("the references were read: %t, want %t", got, test.wantLists)
			}
			if got := f.events(); len(got) > 0 {
				t.Errorf("events: %q", got)
			}
			if test.name == "" {
				test.name = testConfigMap
			}
			deleted := slices.Equal(test.wantWrites, []string{"delete configmaps " + test.name})
			old, exists := live[*corev1.ConfigMap](f, test.name)
			if exists == deleted {
				t.Errorf("the old ConfigMap exists: %t", exists)
			}
			if name == "an orphan" && (!metav1.IsControlledBy(old, changed) || old.Data["nginx.conf"] == "" || !*old.Immutable) {
				t.Errorf("the orphan was not adopted as it is: %+v", old)
			}
			if _, exists := live[*corev1.ConfigMap](f, configMapName(changed)); !exists {
				t.Error("the current ConfigMap is gone")
			}
		})
	}
}
