package api

import (
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/test/framework"
)

// TestSizeOfASpec: what is accepted fits into etcd, and its configuration into a
// ConfigMap; anything larger is the client's error.
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
	for _, n := range []int{43, 900} {
		_, err := websites.Create(ctx, framework.NewWebsite(namespace, "large", redirects(n)), metav1.CreateOptions{})
		if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "spec.serving.redirects: Too long: the spec may not be more than 131072 bytes as JSON") {
			t.Errorf("%d redirects of full length: %.300v, want Invalid", n, err)
		}
	}
	framework.MustCreate(t, framework.NewWebsite(namespace, "kubia", redirects(42)))
	framework.WaitSettled(t, namespace, "kubia")
}
