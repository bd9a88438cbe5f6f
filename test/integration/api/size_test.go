package api

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/test/framework"
)

// TestSizeOfASpec: an accepted spec fits into etcd, and its configuration into a ConfigMap; a
// larger one is the client's error.
func TestSizeOfASpec(t *testing.T) {
	t.Parallel()
	ctx, namespace := t.Context(), framework.NewNamespace(t)
	websites := framework.Websites(t, namespace)
	redirects := func(n int) func(*v1beta1.Website) {
		return func(w *v1beta1.Website) {
			for i := range n {
				w.Spec.Serving.Redirects = append(w.Spec.Serving.Redirects, v1beta1.Redirect{
					From: fmt.Sprintf("/%04d%s", i, strings.Repeat(".", 1019)), To: "/" + strings.Repeat("b", 2047),
				})
			}
		}
	}
	for _, n := range []int{43, 400} {
		_, err := websites.Create(ctx, framework.NewWebsite(namespace, "large", redirects(n)), metav1.CreateOptions{})
		if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(),
			"spec.serving.redirects: Too long: the spec may not be more than 131072 bytes as JSON") {
			t.Errorf("%d redirects of full length: %.300v, want Invalid", n, err)
		}
	}
	framework.MustCreate(t, framework.NewWebsite(namespace, "kubia", redirects(42)))
	framework.WaitSettled(t, namespace, "kubia")
}

// TestLargestManifest: kubectl can apply the largest spec, although it keeps the manifest in an
// annotation, and v1alpha1 can read and write it, although it keeps most of it in another.
func TestLargestManifest(t *testing.T) {
	t.Parallel()
	ctx, namespace := t.Context(), framework.NewNamespace(t)
	var redirects []string
	for i := range 2000 {
		redirects = append(redirects, fmt.Sprintf(`{"from":"/%021d","to":"/%022d","statusCode":301}`, i, i))
	}
	serving := `{"redirects":[` + strings.Join(redirects, ",") + `]}`
	carried, err := json.Marshal(`{"spec":{"serving":` + serving + `}}`)
	if err != nil {
		t.Fatal(err)
	}
	for version, content := range map[string]string{
		"v1beta1": `"metadata":{"name":"v1beta1"},"spec":{"serving":` + serving +
			`,"source":{"git":{"repository":"https://example.com/site.git"}}}`,
		"v1alpha1": `"metadata":{"name":"v1alpha1","annotations":{"` + website.AnnotationCarriedFields + `":` +
			string(carried) +
			`}},"spec":{"deploymentName":"alpha","gitRepo":"https://example.com/site.git","replicas":1}`,
	} {
		manifest := filepath.Join(t.TempDir(), version+".json")
		data := `{"apiVersion":"mycontroller.nevermosby.io/` + version + `","kind":"Website",` + content + `}`
		if err := os.WriteFile(manifest, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			framework.Kubectl(t, "apply", "-n", namespace, "-f", manifest)
		}
		w, err := framework.Websites(t, namespace).Get(ctx, version, metav1.GetOptions{})
		if err != nil || len(w.Spec.Serving.Redirects) != 2000 {
			t.Fatalf("%s: %d redirects (%v)", version, len(w.Spec.Serving.Redirects), err)
		}
		alphas := framework.Admin(t).Websites.WebsiteV1alpha1().Websites(namespace)
		// The controller writes it as well.
		if err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
			alpha, err := alphas.Get(ctx, version, metav1.GetOptions{})
			if err != nil {
				return err
			}
			alpha.Finalizers = []string{"example.com/test"}
			_, err = alphas.Update(ctx, alpha, metav1.UpdateOptions{})
			return err
		}); err != nil {
			t.Fatalf("%s: an update in v1alpha1: %.300v", version, err)
		}
		if err := alphas.Delete(ctx, version, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		framework.Kubectl(t, "patch", "websites.v1alpha1.mycontroller.nevermosby.io", version, "-n", namespace,
			"--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
		if _, err := alphas.Get(ctx, version, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("%s: after its finalizer was removed: %v, want it to be gone", version, err)
		}
	}
}
