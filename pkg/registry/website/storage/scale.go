package storage

import (
	"context"
	"fmt"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/validation/field"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1alpha1"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// ScaleREST serves the scale of Websites, by which "kubectl scale" and
// autoscalers change the number of replicas of any type.
type ScaleREST struct {
	store *genericregistry.Store
	rest.TableConvertor
}

var (
	_ rest.Getter                   = &ScaleREST{}
	_ rest.Updater                  = &ScaleREST{}
	_ rest.Patcher                  = &ScaleREST{}
	_ rest.GroupVersionKindProvider = &ScaleREST{}
	_ rest.TableConvertor           = &ScaleREST{}
)

// replicasPaths are the paths of the field that a Scale sets, by version, so that the
// field has the same manager in both.
var replicasPaths = managedfields.ResourcePathMappings{
	v1alpha1.SchemeGroupVersion.String(): fieldpath.MakePathOrDie("spec", "replicas"),
	v1beta1.SchemeGroupVersion.String():  fieldpath.MakePathOrDie("spec", "replicas"),
}

// GroupVersionKind is autoscaling/v1 in every version of Website, as clients of
// the scale subresource expect.
func (*ScaleREST) GroupVersionKind(schema.GroupVersion) schema.GroupVersionKind {
	return autoscalingv1.SchemeGroupVersion.WithKind("Scale")
}

// New returns an empty Scale to decode a request into.
func (*ScaleREST) New() runtime.Object { return &autoscalingv1.Scale{} }

// Destroy does nothing: the store underneath belongs to REST, which closes it.
func (*ScaleREST) Destroy() {}

// Get returns the Scale of a Website.
func (r *ScaleREST) Get(ctx context.Context, name string, options *metav1.GetOptions) (runtime.Object, error) {
	obj, err := r.store.Get(ctx, name, options)
	if err != nil {
		return nil, err
	}
	return scaleOf(obj), nil
}

// Update changes the number of replicas of an existing Website.
func (r *ScaleREST) Update(
	ctx context.Context, name string, objInfo rest.UpdatedObjectInfo, createValidation rest.ValidateObjectFunc,
	updateValidation rest.ValidateObjectUpdateFunc, _ bool, options *metav1.UpdateOptions,
) (runtime.Object, bool, error) {
	obj, _, err := r.store.Update(ctx, name, &scaledWebsite{name: name, scale: objInfo},
		admitScaleOnCreate(createValidation), admitScaleOnUpdate(updateValidation), false, options)
	if err != nil {
		return nil, false, publicConflict(err)
	}
	return scaleOf(obj), false, nil
}

// Admission gets the Scale that the client sent, not the Website behind it.

func admitScaleOnCreate(admit rest.ValidateObjectFunc) rest.ValidateObjectFunc {
	return func(ctx context.Context, obj runtime.Object) error { return admit(ctx, scaleOf(obj)) }
}

func admitScaleOnUpdate(admit rest.ValidateObjectUpdateFunc) rest.ValidateObjectUpdateFunc {
	return func(ctx context.Context, obj, old runtime.Object) error {
		return admit(ctx, scaleOf(obj), scaleOf(old))
	}
}

func scaleOf(obj runtime.Object) *autoscalingv1.Scale {
	w := obj.(*website.Website)
	// The selector is derived from the spec, as the status of a new Website has none.
	selector := labels.Set(website.PodSelectorLabels(w.Spec.DeploymentName))
	return &autoscalingv1.Scale{
		ObjectMeta: metav1.ObjectMeta{
			Name:              w.Name,
			Namespace:         w.Namespace,
			UID:               w.UID,
			ResourceVersion:   w.ResourceVersion,
			CreationTimestamp: w.CreationTimestamp,
		},
		Spec:   autoscalingv1.ScaleSpec{Replicas: ptr.Deref(w.Spec.Replicas, 1)},
		Status: autoscalingv1.ScaleStatus{Replicas: w.Status.Replicas, Selector: selector.String()},
	}
}

// scaledWebsite converts an update of a Scale into an update of its Website.
type scaledWebsite struct {
	name  string
	scale rest.UpdatedObjectInfo
}

// Preconditions returns the client's preconditions for the Scale, which has the
// UID and resource version of the Website.
func (s *scaledWebsite) Preconditions() *metav1.Preconditions { return s.scale.Preconditions() }

// UpdatedObject applies the client's change to the Scale of old and returns the
// resulting Website.
func (s *scaledWebsite) UpdatedObject(ctx context.Context, old runtime.Object) (runtime.Object, error) {
	w := old.DeepCopyObject().(*website.Website)
	resource := website.Resource("websites/scale")
	if w.ResourceVersion == "" {
		return nil, apierrors.NewNotFound(resource, s.name)
	}
	owners := managedfields.NewScaleHandler(w.ManagedFields, requestGroupVersion(ctx), replicasPaths)

	var err error
	scale := scaleOf(w)
	if scale.ManagedFields, err = owners.ToSubresource(); err != nil {
		return nil, fmt.Errorf("finding the owners of the Scale's fields: %w", err)
	}
	updated, err := s.scale.UpdatedObject(ctx, scale)
	if err != nil {
		return nil, err
	}
	scale, ok := updated.(*autoscalingv1.Scale)
	if !ok {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("scaling Websites: got a %T", updated))
	}
	if err := rest.EnsureObjectNamespaceMatchesRequestNamespace(w.Namespace, scale); err != nil {
		return nil, err
	}
	if errs := validateScale(scale); len(errs) > 0 {
		return nil, apierrors.NewInvalid(autoscalingv1.SchemeGroupVersion.WithKind("Scale").GroupKind(), w.Name, errs)
	}
	if scale.UID != "" && scale.UID != w.UID {
		return nil, apierrors.NewConflict(resource, w.Name,
			fmt.Errorf("the UID in the precondition is %s, the object's UID is %s", scale.UID, w.UID))
	}

	w.Spec.Replicas = &scale.Spec.Replicas
	// The store compares it, as for any update.
	w.ResourceVersion = scale.ResourceVersion
	if w.ManagedFields, err = owners.ToParent(scale.ManagedFields); err != nil {
		return nil, fmt.Errorf("recording the owners of the Scale's fields: %w", err)
	}
	return w, nil
}

// requestGroupVersion is the version of Website in the path of the request.
func requestGroupVersion(ctx context.Context) schema.GroupVersion {
	if info, ok := genericapirequest.RequestInfoFrom(ctx); ok {
		requested := schema.GroupVersion{Group: info.APIGroup, Version: info.APIVersion}
		if _, served := replicasPaths[requested.String()]; served {
			return requested
		}
	}
	return v1beta1.SchemeGroupVersion
}

func validateScale(scale *autoscalingv1.Scale) field.ErrorList {
	errs := apivalidation.ValidateObjectMeta(&scale.ObjectMeta, true, apivalidation.NameIsDNSLabel,
		field.NewPath("metadata"))
	return append(errs, apivalidation.ValidateNonnegativeField(int64(scale.Spec.Replicas),
		field.NewPath("spec", "replicas"))...)
}
