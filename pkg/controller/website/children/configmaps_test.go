package children

import (
	"testing"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/kubesites/website-apiserver/pkg/controller/website/cached"
)

// TestTemplateHash: the ReplicaSet with the revision of the Deployment determines the hash. It need not
// be the newest ReplicaSet.
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
		replicaSet := &cached.ReplicaSet{Identity: cached.Identity{Namespace: "default", Name: name},
			Revision: of.revision, NginxConfigMaps: []string{of.configMap}}
		if err := configMaps.replicaSets.Add(replicaSet); err != nil {
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
		deployment := &cached.Deployment{Revision: test.revision, NginxConfigMaps: []string{test.configMap}}
		deployment.Namespace, deployment.Name = "default", "kubia-website"
		if got := configMaps.TemplateHash(deployment); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
