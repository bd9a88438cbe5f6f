// Package storage serves Websites and their subresources from etcd.
package storage

import (
	"context"
	"fmt"

	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/registry/generic"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	registry "github.com/kubesites/website-apiserver/pkg/registry/website"
)

// WebsiteStorage holds the REST storage of the resource and its subresources.
type WebsiteStorage struct {
	// Website serves the resource "websites".
	Website *REST
	// Status serves the subresource "websites/status".
	Status *StatusREST
	// Scale serves the subresource "websites/scale".
	Scale *ScaleREST
	// Sync serves the subresource "websites/sync".
	Sync *SyncREST
	// Rollback serves the subresource "websites/rollback".
	Rollback *RollbackREST
}

// REST serves Websites.
type REST struct {
	*genericregistry.Store
	fields  *registry.FieldAuthorizer
	names   deploymentNames
	hosts   hostHolders
	printer registry.TableConvertor
}

var (
	_ rest.StandardStorage      = &REST{}
	_ rest.ShortNamesProvider   = &REST{}
	_ rest.SingularNameProvider = &REST{}
)

// ShortNames lets users type "kubectl get ws".
func (*REST) ShortNames() []string { return []string{"ws"} }

// List returns the selected Websites, as a Table if the context asks for that.
func (r *REST) List(ctx context.Context, options *metainternalversion.ListOptions) (runtime.Object, error) {
	list, err := r.Store.List(ctx, options)
	if err != nil {
		return nil, err
	}
	return r.printer.AsRequested(ctx, list), nil
}

// Create stores a new Website if the requesting user may set its fields and its
// Deployment's name is free.
func (r *REST) Create(ctx context.Context, obj runtime.Object, createValidation rest.ValidateObjectFunc,
	options *metav1.CreateOptions) (runtime.Object, error) {
	ctx = registry.WithFieldValidation(ctx, options.FieldValidation)
	return r.Store.Create(ctx, obj, r.onCreate(createValidation), options)
}

// Update changes a Website, or creates it by server-side apply, if the requesting
// user may set the fields that change.
func (r *REST) Update(
	ctx context.Context, name string, objInfo rest.UpdatedObjectInfo, createValidation rest.ValidateObjectFunc,
	updateValidation rest.ValidateObjectUpdateFunc, forceAllowCreate bool, options *metav1.UpdateOptions,
) (runtime.Object, bool, error) {
	ctx = registry.WithFieldValidation(ctx, options.FieldValidation)
	obj, created, err := r.Store.Update(ctx, name, objInfo, r.onCreate(createValidation),
		onUpdate(updateValidation, r.fields.Authorize, r.hosts.warn), forceAllowCreate, options)
	return obj, created, publicConflict(err)
}

func (r *REST) onCreate(validate rest.ValidateObjectFunc) rest.ValidateObjectFunc {
	return onCreate(validate, r.fields.Authorize, r.names.check, r.hosts.warn)
}

// check returns an error if a Website may not be written in place of old, which is nil on creation.
type check func(ctx context.Context, w, old *website.Website) error

// onCreate returns a validation of new Websites that runs the checks and then validate, which may be nil.
func onCreate(validate rest.ValidateObjectFunc, checks ...check) rest.ValidateObjectFunc {
	return func(ctx context.Context, obj runtime.Object) error {
		for _, check := range checks {
			if err := check(ctx, obj.(*website.Website), nil); err != nil {
				return err
			}
		}
		if validate == nil {
			return nil
		}
		return validate(ctx, obj)
	}
}

// onUpdate is like onCreate for changes.
func onUpdate(validate rest.ValidateObjectUpdateFunc, checks ...check) rest.ValidateObjectUpdateFunc {
	return func(ctx context.Context, obj, old runtime.Object) error {
		for _, check := range checks {
			if err := check(ctx, obj.(*website.Website), old.(*website.Website)); err != nil {
				return err
			}
		}
		if validate == nil {
			return nil
		}
		return validate(ctx, obj, old)
	}
}

// NewStorage returns the storage of Websites in the versions of scheme, in the
// backend that optsGetter describes. authorizer and rules decide which fields users
// may set. It returns an error if authorizer is nil, or if the configuration of the
// backend is incomplete.
func NewStorage(scheme *runtime.Scheme, optsGetter generic.RESTOptionsGetter,
	authorizer authorizer.UnconditionalAuthorizer, rules registry.FieldRules) (*WebsiteStorage, error) {
	store := &genericregistry.Store{}
	fields, err := registry.NewFieldAuthorizer(authorizer, rules, storedIn(store))
	if err != nil {
		return nil, err
	}
	strategy, printer := registry.NewStrategy(scheme), registry.NewTableConvertor(clock.RealClock{})
	*store = genericregistry.Store{
		NewFunc:                   func() runtime.Object { return &website.Website{} },
		NewListFunc:               func() runtime.Object { return &website.WebsiteList{} },
		PredicateFunc:             registry.MatchWebsite,
		DefaultQualifiedResource:  website.Resource("websites"),
		SingularQualifiedResource: website.Resource("website"),

		CreateStrategy:      strategy,
		UpdateStrategy:      strategy,
		DeleteStrategy:      strategy,
		ResetFieldsStrategy: strategy,

		TableConvertor: printer,
	}
	options := &generic.StoreOptions{
		RESTOptions: optsGetter,
		AttrFunc:    registry.GetAttrs,
		TriggerFunc: registry.Triggers(),
		Indexers:    registry.Indexers(),
	}
	if err := store.CompleteWithOptions(options); err != nil {
		return nil, fmt.Errorf("completing the store of websites: %w", err)
	}

	statusStrategy := registry.NewStatusStrategy(strategy)
	statusStore := *store
	statusStore.UpdateStrategy = statusStrategy
	statusStore.ResetFieldsStrategy = statusStrategy

	syncStore := *store
	syncStore.UpdateStrategy = registry.NewSyncStrategy(strategy)

	pins, err := registry.NewPinManager(scheme)
	if err != nil {
		return nil, fmt.Errorf("creating the field manager of rollbacks: %w", err)
	}
	named := describer{authorizer}
	return &WebsiteStorage{
		Website: &REST{Store: store, fields: fields, names: deploymentNames{store, named}, hosts: hostHolders{store, named},
			printer: printer},
		Status:   &StatusREST{store: &statusStore},
		Scale:    &ScaleREST{store: store, TableConvertor: registry.NewScaleTableConvertor(clock.RealClock{})},
		Sync:     newSyncREST(&syncStore, scheme, rules, clock.RealClock{}),
		Rollback: &RollbackREST{store: store, fields: fields, manager: pins},
	}, nil
}

// storedIn reads Websites from etcd, and not from the watch cache: the permissions of a
// preview depend on them.
func storedIn(store *genericregistry.Store) registry.StoredWebsite {
	return func(ctx context.Context, name string) (*website.Website, error) {
		obj, err := store.Get(ctx, name, &metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		return obj.(*website.Website), nil
	}
}

// StatusREST serves the status of Websites: it can be read and updated, never
// created or deleted on its own.
type StatusREST struct {
	store *genericregistry.Store
}

var (
	_ rest.Getter              = &StatusREST{}
	_ rest.Updater             = &StatusREST{}
	_ rest.Patcher             = &StatusREST{}
	_ rest.ResetFieldsStrategy = &StatusREST{}
	_ rest.TableConvertor      = &StatusREST{}
)

// New returns an empty Website to decode a request into.
func (r *StatusREST) New() runtime.Object { return &website.Website{} }

// Destroy does nothing: the store underneath belongs to REST, which closes it.
func (r *StatusREST) Destroy() {}

// Get returns the whole Website, as the status subresource of every type does.
func (r *StatusREST) Get(ctx context.Context, name string, options *metav1.GetOptions) (runtime.Object, error) {
	return r.store.Get(ctx, name, options)
}

// Update changes the status of an existing Website. forceAllowCreate is not
// passed on: server-side apply to a status must not create a Website.
func (r *StatusREST) Update(
	ctx context.Context, name string, objInfo rest.UpdatedObjectInfo, createValidation rest.ValidateObjectFunc,
	updateValidation rest.ValidateObjectUpdateFunc, _ bool, options *metav1.UpdateOptions,
) (runtime.Object, bool, error) {
	ctx = registry.WithFieldValidation(ctx, options.FieldValidation)
	obj, created, err := r.store.Update(ctx, name, objInfo, createValidation, updateValidation, false, options)
	return obj, created, publicConflict(err)
}

// GetResetFields returns the fields that a status update cannot change.
func (r *StatusREST) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return r.store.GetResetFields()
}

// ConvertToTable prints the Website as the main resource does.
func (r *StatusREST) ConvertToTable(ctx context.Context, object, tableOptions runtime.Object) (*metav1.Table, error) {
	return r.store.ConvertToTable(ctx, object, tableOptions)
}
