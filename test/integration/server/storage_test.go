package server

import (
	"bytes"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/kubesites/website-apiserver/pkg/generated/clientset/versioned"
	"github.com/kubesites/website-apiserver/test/framework"
)

// TestEtcdVersion compares the versions of the stores under test with docs/storage.md:
// the embedded etcd, and an external one of the Kubernetes release under test.
func TestEtcdVersion(t *testing.T) {
	t.Parallel()
	want := []string{"3.7."}
	if framework.Cluster.HasExternalEtcd() {
		want = append(want, "3.6.")
	}
	store := framework.ClusterStore(t)
	status, err := store.Client(t).Status(t.Context(), store.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(want, func(version string) bool { return strings.HasPrefix(status.Version, version) }) {
		t.Errorf("version of etcd = %s, want one of %v", status.Version, want)
	}
}

// TestStorage checks the bytes in etcd: a later version must be able to read their key
// and encoding.
func TestStorage(t *testing.T) {
	t.Parallel()
	namespace := framework.NewNamespace(t)
	w := framework.MustCreate(t, framework.NewV1alpha1(namespace, "kubia"))

	client := framework.ClusterStore(t).Client(t)
	key := path.Join("/registry/mycontroller.nevermosby.io/websites", namespace, w.Name)
	got, err := client.Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Kvs) != 1 {
		t.Fatalf("%d values at %s, want 1", len(got.Kvs), key)
	}
	value := got.Kvs[0].Value
	if !bytes.HasPrefix(value, []byte("k8s\x00")) {
		t.Errorf("value begins with %q, want Kubernetes' protobuf envelope", value[:min(len(value), 16)])
	}
	if !bytes.Contains(value, []byte("mycontroller.nevermosby.io/v1beta1")) {
		t.Error("the stored object does not name the storage version v1beta1")
	}

	if framework.Cluster.HasExternalEtcd() {
		return
	}
	info, err := os.Stat(filepath.Join(framework.Cluster.WebsiteDataDir(), "etcd"))
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o700 {
		t.Errorf("mode of the store's directory = %o, want 700", info.Mode().Perm())
	}
}

// TestContentTypes reads the same Website in every encoding that is served.
func TestContentTypes(t *testing.T) {
	t.Parallel()
	namespace := framework.NewNamespace(t)
	w := framework.MustCreate(t, framework.NewV1alpha1(namespace, "kubia"))
	config := framework.Cluster.AdminConfig()
	for _, contentType := range []string{"application/json", "application/vnd.kubernetes.protobuf"} {
		t.Run(contentType, func(t *testing.T) {
			config := rest.CopyConfig(config)
			config.ContentType, config.AcceptContentTypes = contentType, contentType
			client, err := versioned.NewForConfig(config)
			if err != nil {
				t.Fatal(err)
			}
			websites := client.WebsiteV1alpha1().Websites(namespace)
			got, err := websites.Get(t.Context(), w.Name, metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if got.UID != w.UID || got.Spec.GitRepo != w.Spec.GitRepo || *got.Spec.Replicas != *w.Spec.Replicas {
				t.Errorf("got %+v, want %+v", got, w)
			}
			result := client.WebsiteV1alpha1().RESTClient().Get().Namespace(namespace).Resource("websites").
				Name(w.Name).Do(t.Context())
			var answered string
			if result.ContentType(&answered); answered != contentType {
				t.Errorf("content type = %s, want %s", answered, contentType)
			}
		})
	}
}
