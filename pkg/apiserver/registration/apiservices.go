package registration

import (
	"bytes"
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	apiregistrationv1ac "k8s.io/kube-aggregator/pkg/client/applyconfiguration/apiregistration/v1"
	aggregator "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset/typed/apiregistration/v1"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1alpha1"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

const (
	// FieldManager owns the fields of the APIServices.
	FieldManager = "website-apiserver"
	// groupPriority decides which group a short name belongs to if several groups have it.
	// It is below the priorities of Kubernetes' own groups.
	groupPriority = 1000
	// autoManaged labels the APIServices that kube-apiserver maintains itself, for the
	// groups of CustomResourceDefinitions.
	autoManaged = "kube-aggregator.kubernetes.io/automanaged"

	// AnnotationImport marks the APIService that is handed over from a
	// CustomResourceDefinition. No other version is registered until it is removed.
	AnnotationImport = "mycontroller.nevermosby.io/import"
)

// versions are the registered versions. Clients prefer the higher priority.
var versions = []struct {
	name     string
	priority int32
}{
	{v1beta1.SchemeGroupVersion.Version, 20},
	{v1alpha1.SchemeGroupVersion.Version, 10},
}

func apiServiceName(version string) string { return version + "." + website.GroupName }

// IsAutoManaged reports whether kube-apiserver maintains an APIService itself, for a
// CustomResourceDefinition.
func IsAutoManaged(s *apiregistrationv1.APIService) bool { return s.Labels[autoManaged] != "" }

// read returns the existing APIServices, by version. It returns an error if one belongs to a
// CustomResourceDefinition: two stores would serve the group.
func (r *Registrar) read(ctx context.Context) (map[string]*apiregistrationv1.APIService, error) {
	found := map[string]*apiregistrationv1.APIService{}
	for _, version := range versions {
		name := apiServiceName(version.name)
		current, err := r.apiServices.Get(ctx, name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
		case err != nil:
			return nil, fmt.Errorf("reading APIService %s: %w", name, err)
		case IsAutoManaged(current):
			return nil, fmt.Errorf("APIService %s belongs to a CustomResourceDefinition of the group %s; move its objects "+
				"with \"website-apiserver import\"", name, website.GroupName)
		default:
			found[version.name] = current
		}
	}
	return found, nil
}

// apply brings the APIService of each version up to date.
func (r *Registrar) apply(ctx context.Context, bundle []byte) error {
	found, err := r.read(ctx)
	if err != nil {
		return err
	}
	importing := false
	for _, current := range found {
		importing = importing || current.Annotations[AnnotationImport] != ""
	}
	for _, version := range versions {
		name, current := apiServiceName(version.name), found[version.name]
		if current == nil && (importing || r.config.Existing) || current != nil &&
			r.describes(current, version.priority, bundle) {
			continue
		}
		apiService := apiregistrationv1ac.APIService(name).WithSpec(apiregistrationv1ac.APIServiceSpec().
			WithGroup(website.GroupName).
			WithVersion(version.name).
			WithGroupPriorityMinimum(groupPriority).
			WithVersionPriority(version.priority).
			WithCABundle(bundle...).
			WithInsecureSkipTLSVerify(false).
			WithService(apiregistrationv1ac.ServiceReference().
				WithNamespace(r.config.Service.Namespace).WithName(r.config.Service.Name).WithPort(r.config.Service.Port)))
		if _, err := r.apiServices.Apply(ctx, apiService,
			metav1.ApplyOptions{FieldManager: FieldManager, Force: true}); err != nil {
			return fmt.Errorf("applying APIService %s: %w", name, err)
		}
		klog.FromContext(ctx).Info("Registered the API", "apiService", name, "service", r.config.Service,
			"created", current == nil)
	}
	return nil
}

// describes reports whether an APIService refers to this server.
func (r *Registrar) describes(s *apiregistrationv1.APIService, priority int32, bundle []byte) bool {
	return s.Spec.Service != nil &&
		s.Spec.Service.Namespace == r.config.Service.Namespace && s.Spec.Service.Name == r.config.Service.Name &&
		ptr.Deref(s.Spec.Service.Port, 443) == r.config.Service.Port &&
		s.Spec.GroupPriorityMinimum == groupPriority && s.Spec.VersionPriority == priority &&
		bytes.Equal(s.Spec.CABundle, bundle) && !s.Spec.InsecureSkipTLSVerify
}

// Trusts returns an error while an APIService lacks a CA, PEM.
func Trusts(ctx context.Context, client aggregator.APIServiceInterface, ca []byte) error {
	for _, version := range versions {
		name := apiServiceName(version.name)
		current, err := client.Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("reading APIService %s: %w", name, err)
		}
		if !bytes.Contains(current.Spec.CABundle, ca) {
			return fmt.Errorf("the caBundle of APIService %s lacks the CA", name)
		}
	}
	return nil
}
