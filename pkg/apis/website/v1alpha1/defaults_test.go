package v1alpha1_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website/install"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1alpha1"
)

func TestDefaultReplicas(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := install.Install(scheme); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		replicas *int32
		want     int32
	}{
		"unset becomes one":   {replicas: nil, want: 1},
		"zero is a choice":    {replicas: ptr.To[int32](0), want: 0},
		"a number is kept":    {replicas: ptr.To[int32](3), want: 3},
		"even an illegal one": {replicas: ptr.To[int32](-1), want: -1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			list := &v1alpha1.WebsiteList{Items: []v1alpha1.Website{{Spec: v1alpha1.WebsiteSpec{Replicas: test.replicas}}}}
			scheme.Default(list)
			if got := list.Items[0].Spec.Replicas; got == nil || *got != test.want {
				t.Errorf("replicas = %v, want %d", ptr.Deref(got, -99), test.want)
			}
		})
	}
}
