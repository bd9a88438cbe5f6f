package resources

import (
	"testing"
	"unsafe"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// TestRenderedConfigs: the cached configurations equal the rendered ones, and Websites with the same
// spec share one.
func TestRenderedConfigs(t *testing.T) {
	render := func(tweaks ...func(*v1beta1.Website)) string {
		t.Helper()
		config, err := NginxConfig(newWebsite(tweaks...), testInstallation)
		if err != nil {
			t.Fatal(err)
		}
		return config
	}
	tweaks := map[string]func(*v1beta1.Website){
		"as it is": func(*v1beta1.Website) {},
		"a path":   func(w *v1beta1.Website) { w.Spec.Source.Path = "public" },
		"an index": func(w *v1beta1.Website) { w.Spec.Serving.Index = "start.html" },
		"a redirect": func(w *v1beta1.Website) {
			w.Spec.Serving.Redirects = []v1beta1.Redirect{{From: "/a", To: "/b", StatusCode: 301}}
		},
		"another redirect": func(w *v1beta1.Website) {
			w.Spec.Serving.Redirects = []v1beta1.Redirect{{From: "/a", To: "/c", StatusCode: 301}}
		},
		"all moved": func(w *v1beta1.Website) {
			w.Spec.Serving.Redirects = []v1beta1.Redirect{{From: "/*", To: "https://example.com/", StatusCode: 301}}
		},
		"all moved elsewhere": func(w *v1beta1.Website) {
			w.Spec.Serving.Redirects = []v1beta1.Redirect{{From: "/*", To: "https://example.org/", StatusCode: 301}}
		},
		"a header": func(w *v1beta1.Website) {
			w.Spec.Serving.Headers = []v1beta1.ResponseHeader{{Name: "X-A", Path: "/", Value: "1"}}
		},
		"CPUs": func(w *v1beta1.Website) {
			w.Spec.Resources.Server.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("3")}
		},
		"a password": func(w *v1beta1.Website) {
			w.Spec.Access.BasicAuth = &v1beta1.BasicAuth{SecretRef: v1beta1.SecretReference{Name: "users"}}
		},
	}
	kept := map[string]string{}
	for name, tweak := range tweaks {
		kept[name] = render(tweak)
	}
	for name, tweak := range tweaks {
		again := render(tweak, func(w *v1beta1.Website) { w.Name = "another" })
		if unsafe.StringData(again) != unsafe.StringData(kept[name]) {
			t.Errorf("%s: another Website has a configuration of its own", name)
		}
	}
	seen := map[string]string{}
	for name, tweak := range tweaks {
		rendered.Clear()
		if render(tweak) != kept[name] {
			t.Errorf("%s: rendered for the first time it is another configuration", name)
		}
		if other, known := seen[kept[name]]; known {
			t.Errorf("%s has the configuration of %s", name, other)
		}
		seen[kept[name]] = name
	}
}
