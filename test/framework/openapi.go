package framework

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1alpha1"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// WaitForOpenAPI waits until the aggregator has fetched the OpenAPI documents of website-apiserver.
// After an outage, also one that another test causes, the aggregator retries within a minute.
func WaitForOpenAPI(t *testing.T) {
	t.Helper()
	discovery := Admin(t).Kubernetes.Discovery()
	WaitFor(t, "the aggregator has our OpenAPI documents", func(ctx context.Context) error {
		for _, version := range []schema.GroupVersion{v1alpha1.SchemeGroupVersion, v1beta1.SchemeGroupVersion} {
			if _, err := discovery.RESTClient().Get().AbsPath("/openapi/v3/apis/" + version.String()).Do(ctx).Raw(); err != nil {
				return err
			}
		}
		v2, err := discovery.RESTClient().Get().AbsPath("/openapi/v2").Do(ctx).Raw()
		if err == nil && !(bytes.Contains(v2, []byte("mycontroller.v1alpha1.Website")) &&
			bytes.Contains(v2, []byte("mycontroller.v1beta1.Website"))) {
			err = errors.New("OpenAPI v2 lacks Website")
		}
		return err
	})
}
