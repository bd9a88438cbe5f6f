package website

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// TestNodePortOfDeletedService: the Service is created with the node port that the
// status has, and without it if the API server rejects that.
func TestNodePortOfDeletedService(t *testing.T) {
	for name, test := range map[string]struct {
		service v1beta1.WebsiteService
		// rejected is the API server's message about the node port.
		rejected string
		// want are the node ports in the applies of the Service, in their order.
		want      []string
		wantEvent bool
	}{
		"the port is free":           {v1beta1.WebsiteService{Type: v1beta1.ServiceTypeNodePort}, "", []string{"32535", ""}, false},
		"of a load balancer":         {v1beta1.WebsiteService{Type: v1beta1.ServiceTypeLoadBalancer}, "", []string{"32535", ""}, false},
		"the port is taken":          {v1beta1.WebsiteService{Type: v1beta1.ServiceTypeNodePort}, "provided port is already allocated", []string{"32535", "32535", "32535", "32535", "32535", "32535", ""}, true},
		"the port is out of range":   {v1beta1.WebsiteService{Type: v1beta1.ServiceTypeNodePort}, "provided port is not in the valid range", []string{"32535", ""}, true},
		"the Website names one":      {v1beta1.WebsiteService{Type: v1beta1.ServiceTypeNodePort, NodePort: 30080}, "", []string{"30080"}, false},
		"within the cluster only":    {v1beta1.WebsiteService{Type: v1beta1.ServiceTypeClusterIP}, "", []string{""}, false},
		"the Website's own is taken": {v1beta1.WebsiteService{Type: v1beta1.ServiceTypeNodePort, NodePort: 30080}, "provided port is already allocated", []string{"30080"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, newWebsite(func(website *v1beta1.Website) {
				website.Spec.Service, website.Status.NodePort = test.service, 32535
			}))
			var applied []string
			f.kube.PrependReactor("patch", "services", func(action clienttesting.Action) (bool, runtime.Object, error) {
				patch := string(action.(clienttesting.PatchAction).GetPatch())
				port := ""
				if _, after, found := strings.Cut(patch, `"nodePort":`); found {
					port = after[:5]
				}
				applied = append(applied, port)
				if port == "" || test.rejected == "" {
					return false, nil, nil
				}
				return true, nil, apierrors.NewInvalid(schema.GroupKind{Kind: "Service"}, testDeployment+"-npsvc", field.ErrorList{
					field.Invalid(field.NewPath("spec", "ports").Index(0).Child("nodePort"), port, test.rejected)})
			})
			f.reconcile(testKey)
			if !slices.Equal(applied, test.want) {
				t.Errorf("applied with the node ports %q, want %q", applied, test.want)
			}
			warned := slices.ContainsFunc(f.events(), func(event string) bool {
				return strings.HasPrefix(event, fmt.Sprintf("%s %s", corev1.EventTypeWarning, v1beta1.WebsiteReasonNodePortTaken))
			})
			if warned != test.wantEvent {
				t.Errorf("an event about the node port: %t, want %t", warned, test.wantEvent)
			}
		})
	}
}
