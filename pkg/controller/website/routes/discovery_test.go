package routes

import (
	"errors"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/discovery"
	kubefake "k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

func TestDiscover(t *testing.T) {
	serving := func(version string, resources ...string) *metav1.APIResourceList {
		list := &metav1.APIResourceList{GroupVersion: "gateway.networking.k8s.io/" + version}
		for _, resource := range resources {
			list.APIResources = append(list.APIResources, metav1.APIResource{Name: resource})
		}
		return list
	}
	tests := map[string]struct {
		served  *metav1.APIResourceList
		missing string
		sets    bool
	}{
		"all":           {served: serving("v1", "gateways", "httproutes", "listenersets"), sets: true},
		"an earlier v1": {served: serving("v1", "gateways", "httproutes")},
		"half":          {served: serving("v1", "gateways"), missing: "serves no httproutes"},
		"only v1beta1": {served: serving("v1beta1", "gateways", "httproutes"),
			missing: "serves Gateway API in v1beta1, not in v1"},
		"none": {served: &metav1.APIResourceList{GroupVersion: "v1"}, missing: "does not serve Gateway API"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			client := kubefake.NewClientset()
			client.Resources = []*metav1.APIResourceList{test.served}
			api, err := discover(t.Context(), discovery.ToDiscoveryInterfaceWithContext(client.Discovery()))
			if err != nil || api.ListenerSets != test.sets || (api.Missing == "") != (test.missing == "") ||
				!strings.Contains(api.Missing, test.missing) {
				t.Errorf("discovered %+v (%v), want %q missing and ListenerSets %t", api, err, test.missing, test.sets)
			}
		})
	}
}

// TestNoAnswerIsUnknown: an error of the API server does not mean that the API is not served.
func TestNoAnswerIsUnknown(t *testing.T) {
	client := kubefake.NewClientset()
	client.PrependReactor("get", "resource", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("unavailable")
	})
	if api, err := discover(t.Context(), discovery.ToDiscoveryInterfaceWithContext(client.Discovery())); err == nil {
		t.Errorf("discovered %+v, want an error", api)
	}
}
