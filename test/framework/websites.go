package framework

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1alpha1"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// Example is the manifest of the original controller, which must apply unchanged.
var Example = Path("artifacts", "examples", "kubia.yaml")

// NewWebsite returns a minimal Website called name, changed by tweaks.
func NewWebsite(namespace, name string, tweaks ...func(*v1beta1.Website)) *v1beta1.Website {
	w := &v1beta1.Website{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1beta1.SchemeGroupVersion.String(), Kind: "Website"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: v1beta1.WebsiteSpec{
			Source: v1beta1.WebsiteSource{Git: &v1beta1.GitSource{Repository: "https://example.com/site.git"}},
		},
	}
	for _, tweak := range tweaks {
		tweak(w)
	}
	return w
}

// Detailed is a tweak of NewWebsite that sets fields which v1alpha1 cannot express.
func Detailed(w *v1beta1.Website) {
	w.Spec.Source.Git.Ref, w.Spec.Source.Path = &v1beta1.GitReference{Branch: "live"}, "public"
	w.Spec.Polling.PeriodSeconds = 10
	w.Spec.Serving.Redirects = []v1beta1.Redirect{{From: "/old", To: "/new"}}
	w.Spec.Service.Type = v1beta1.ServiceTypeClusterIP
}

// Hosts returns hosts that serve the site.
func Hosts(names ...string) []v1beta1.WebsiteHost {
	var hosts []v1beta1.WebsiteHost
	for _, name := range names {
		hosts = append(hosts, v1beta1.WebsiteHost{Name: name})
	}
	return hosts
}

// WithReplicas is a tweak of NewWebsite.
func WithReplicas(n int32) func(*v1beta1.Website) {
	return func(w *v1beta1.Website) { w.Spec.Replicas = &n }
}

// WithDeployment is a tweak of NewWebsite.
func WithDeployment(name string) func(*v1beta1.Website) {
	return func(w *v1beta1.Website) { w.Spec.DeploymentName = name }
}

// WithRepository is a tweak of NewWebsite.
func WithRepository(url string) func(*v1beta1.Website) {
	return func(w *v1beta1.Website) { w.Spec.Source.Git.Repository = url }
}

// NewV1alpha1 returns the Website of a client of the original API, changed by tweaks.
func NewV1alpha1(namespace, name string, tweaks ...func(*v1alpha1.Website)) *v1alpha1.Website {
	w := &v1alpha1.Website{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: v1alpha1.WebsiteSpec{
			GitRepo:        "https://github.com/nevermosby/kubia-website-example.git",
			DeploymentName: name + "-website",
			Replicas:       ptr.To[int32](1),
		},
	}
	for _, tweak := range tweaks {
		tweak(w)
	}
	return w
}

// V1alpha1Replicas is a tweak of NewV1alpha1.
func V1alpha1Replicas(n int32) func(*v1alpha1.Website) {
	return func(w *v1alpha1.Website) { w.Spec.Replicas = &n }
}

// V1alpha1Deployment is a tweak of NewV1alpha1.
func V1alpha1Deployment(name string) func(*v1alpha1.Website) {
	return func(w *v1alpha1.Website) { w.Spec.DeploymentName = name }
}

type anyVersion interface {
	*v1alpha1.Website | *v1beta1.Website
}

// MustCreate creates a Website as the administrator, and returns it as stored.
func MustCreate[W anyVersion](t *testing.T, w W) W {
	t.Helper()
	var created any
	var err error
	switch w := any(w).(type) {
	case *v1alpha1.Website:
		created, err = Admin(t).Websites.WebsiteV1alpha1().Websites(w.Namespace).Create(t.Context(), w,
			metav1.CreateOptions{})
	case *v1beta1.Website:
		created, err = Admin(t).Websites.WebsiteV1beta1().Websites(w.Namespace).Create(t.Context(), w, metav1.CreateOptions{})
	}
	if err != nil {
		t.Fatalf("creating a Website: %v", err)
	}
	return created.(W)
}

// MustGet returns the current Website of the namespace and name of w, in its version.
func MustGet[W anyVersion](t *testing.T, w W) W {
	t.Helper()
	var current any
	var err error
	switch w := any(w).(type) {
	case *v1alpha1.Website:
		current, err = Admin(t).Websites.WebsiteV1alpha1().Websites(w.Namespace).Get(t.Context(), w.Name, metav1.GetOptions{})
	case *v1beta1.Website:
		current, err = Admin(t).Websites.WebsiteV1beta1().Websites(w.Namespace).Get(t.Context(), w.Name, metav1.GetOptions{})
	}
	if err != nil {
		t.Fatalf("getting a Website: %v", err)
	}
	return current.(W)
}
