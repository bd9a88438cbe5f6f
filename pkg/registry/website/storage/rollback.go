package storage

import (
	"context"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/utils/clock"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	registry "github.com/kubesites/website-apiserver/pkg/registry/website"
)

// RollbackREST sets spec.pin of a Website: by default to the release before.
type RollbackREST struct {
	store  *genericregistry.Store
	fields *registry.FieldAuthorizer
	clock  clock.PassiveClock
}

var (
	_ rest.Connecter       = &RollbackREST{}
	_ rest.StorageMetadata = &RollbackREST{}
)

// New returns the type of the options, as for all subresources that connect: admission
// sees it.
func (*RollbackREST) New() runtime.Object { return &website.WebsiteRollbackOptions{} }

// Destroy does nothing: the store underneath belongs to REST, which closes it.
func (*RollbackREST) Destroy() {}

// NewConnectOptions returns empty query parameters.
func (*RollbackREST) NewConnectOptions() (runtime.Object, bool, string) {
	return &website.WebsiteRollbackOptions{}, false, ""
}

// ConnectMethods returns POST, which RBAC calls create.
func (*RollbackREST) ConnectMethods() []string { return []string{http.MethodPost} }

// ProducesMIMETypes returns nothing: the types of the API are served.
func (*RollbackREST) ProducesMIMETypes(string) []string { return nil }

// ProducesObject returns the type of responses, for OpenAPI.
func (*RollbackREST) ProducesObject(string) any { return v1beta1.WebsiteRollback{} }

// Connect returns the handler of a request.
func (r *RollbackREST) Connect(ctx context.Context, name string, options runtime.Object, responder rest.Responder) (http.Handler, error) {
	opts, ok := options.(*website.WebsiteRollbackOptions)
	if !ok {
		return nil, apierrors.NewInternalError(fmt.Errorf("rolling back: got options of type %T", options))
	}
	return http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		response, err := r.serve(ctx, name, opts, req)
		if err != nil {
			responder.Error(err)
			return
		}
		responder.Object(http.StatusOK, response)
	}), nil
}

func (r *RollbackREST) serve(ctx context.Context, name string, opts *website.WebsiteRollbackOptions, req *http.Request) (runtime.Object, error) {
	dryRun := registry.DryRunFrom(ctx)
	if err := validateDryRun("WebsiteRollbackOptions", name, dryRun); err != nil {
		return nil, err
	}
	if errs := metav1validation.ValidateFieldManager(opts.FieldManager, field.NewPath("fieldManager")); len(errs) > 0 {
		return nil, apierrors.NewInvalid(website.Kind("WebsiteRollbackOptions"), name, errs)
	}
	body, err := readBody(req)
	if err != nil {
		return nil, err
	}
	wants, err := readRollback(genericapirequest.NamespaceValue(ctx), name, body)
	if err != nil {
		return nil, err
	}
	manager := registry.FieldManager(opts.FieldManager, req.UserAgent())

	var replaced string
	change := rest.DefaultUpdatedObjectInfo(nil, func(_ context.Context, _, old runtime.Object) (runtime.Object, error) {
		w, err := toWebsite(old.DeepCopyObject())
		if err != nil {
			return nil, err
		}
		if w.ResourceVersion == "" {
			return nil, apierrors.NewNotFound(website.Resource("websites"), name)
		}
		if err := wants.preconditions.Check(name, w); err != nil {
			return nil, err
		}
		replaced = w.Status.Commit
		return w, registry.RollBack(w, wants.commit, manager, r.clock.Now())
	})
	obj, _, err := r.store.Update(ctx, name, change, rest.ValidateAllObjectFunc, r.fields.OnUpdate(rest.ValidateAllObjectUpdateFunc), false, &metav1.UpdateOptions{DryRun: dryRun})
	if err != nil {
		return nil, err
	}
	w, err := toWebsite(obj)
	if err != nil {
		return nil, err
	}
	return registry.NewRollback(w, replaced), nil
}
