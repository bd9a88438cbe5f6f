package store

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/test/framework"
)

// route makes kube-apiserver send requests for Websites to the server at address.
func (e *environment) route(t *testing.T, address string) {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.ParseInt(u.Port(), 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	client := e.apiServices.ApiregistrationV1().APIServices()
	for _, version := range []string{"v1alpha1", "v1beta1"} {
		name := version + ".mycontroller.nevermosby.io"
		patch := fmt.Sprintf(`{"spec":{"service":{"port":%d}}}`, port)
		if _, err := client.Patch(t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		framework.WaitFor(t, name+" leads to "+address, func(ctx context.Context) error {
			service, err := client.Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			if got := ptr.Deref(service.Spec.Service.Port, 0); int64(got) != port {
				return fmt.Errorf("port %d", got)
			}
			for _, condition := range service.Status.Conditions {
				if condition.Type == "Available" && condition.Status == "True" {
					return nil
				}
			}
			return fmt.Errorf("not available: %v", service.Status.Conditions)
		})
	}
}
