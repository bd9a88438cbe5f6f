// Package ownerreferences is the admission plugin OwnerReferencesPermissionEnforcement for Websites: kube-apiserver,
// which has a plugin of this name, runs none for the resources of another API server.
package ownerreferences

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/initializer"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/utils/ptr"
)

// PluginName is the name of kube-apiserver's plugin.
const PluginName = "OwnerReferencesPermissionEnforcement"

// Register adds the plugin. It runs only where --enable-admission-plugins names it, as in kube-apiserver.
func Register(plugins *admission.Plugins) {
	plugins.Register(PluginName, func(io.Reader) (admission.Interface, error) {
		return &Plugin{Handler: admission.NewHandler(admission.Create, admission.Update)}, nil
	})
}

// Plugin rejects changes of owner references by users without permission to delete the object, and references that
// delay the deletion of an owner whose finalizers the user may not update.
type Plugin struct {
	*admission.Handler
	authorizer authorizer.UnconditionalAuthorizer
	mapper     meta.RESTMapper
}

var (
	_ admission.ValidationInterface            = &Plugin{}
	_ initializer.WantsUnconditionalAuthorizer = &Plugin{}
	_ initializer.WantsRESTMapper              = &Plugin{}
)

// SetUnconditionalAuthorizer sets the authorizer of requesting users.
func (p *Plugin) SetUnconditionalAuthorizer(a authorizer.UnconditionalAuthorizer) { p.authorizer = a }

// SetRESTMapper sets the mapper from kinds of owners to resources.
func (p *Plugin) SetRESTMapper(mapper meta.RESTMapper) { p.mapper = mapper }

// ValidateInitialization returns an error unless all of it is set.
func (p *Plugin) ValidateInitialization() error {
	if p.authorizer == nil || p.mapper == nil {
		return errors.New(PluginName + " needs an authorizer and a RESTMapper")
	}
	return nil
}

// Validate rejects references that the user may not set. A new object may have any owner: its author could have left
// it out.
func (p *Plugin) Validate(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	references, former := referencesOf(a.GetObject()), referencesOf(a.GetOldObject())
	if apiequality.Semantic.DeepEqual(references, former) {
		return nil
	}
	if a.GetOperation() == admission.Update {
		resource := a.GetResource()
		err := p.require(ctx, a, "delete", resource, a.GetSubresource(), a.GetNamespace(), a.GetName())
		if err != nil {
			err = fmt.Errorf("cannot set metadata.ownerReferences without permission to delete: %w", err)
			return admission.NewForbidden(a, err)
		}
	}
	for _, owner := range references {
		if !ptr.Deref(owner.BlockOwnerDeletion, false) || slices.ContainsFunc(former, func(other metav1.OwnerReference) bool {
			return other.UID == owner.UID && ptr.Deref(other.BlockOwnerDeletion, false)
		}) {
			continue
		}
		if err := p.mayBlock(ctx, a, owner); err != nil {
			err = fmt.Errorf("cannot set blockOwnerDeletion for %s %q: %w", owner.Kind, owner.Name, err)
			return admission.NewForbidden(a, err)
		}
	}
	return nil
}

// mayBlock returns an error unless the user may update the finalizers of an owner, in each resource of its kind.
func (p *Plugin) mayBlock(ctx context.Context, a admission.Attributes, owner metav1.OwnerReference) error {
	gv, err := schema.ParseGroupVersion(owner.APIVersion)
	if err != nil {
		return err
	}
	mappings, err := p.mapper.RESTMappings(schema.GroupKind{Group: gv.Group, Kind: owner.Kind}, gv.Version)
	if err != nil {
		return fmt.Errorf("finding the resource of %s: %w", owner.Kind, err)
	}
	for _, mapping := range mappings {
		namespace := a.GetNamespace()
		if mapping.Scope.Name() == meta.RESTScopeNameRoot {
			namespace = ""
		}
		if err := p.require(ctx, a, "update", mapping.Resource, "finalizers", namespace, owner.Name); err != nil {
			return err
		}
	}
	return nil
}

// require returns an error unless the user has a verb.
func (p *Plugin) require(
	ctx context.Context, a admission.Attributes, verb string,
	resource schema.GroupVersionResource, subresource, namespace, name string,
) error {
	decision, _, err := p.authorizer.Authorize(ctx, authorizer.AttributesRecord{
		User: a.GetUserInfo(), Verb: verb, Namespace: namespace, Name: name,
		APIGroup: resource.Group, APIVersion: resource.Version, Resource: resource.Resource, Subresource: subresource,
		ResourceRequest: true,
	})
	if decision == authorizer.DecisionAllow {
		return nil
	}
	if subresource != "" {
		subresource = "/" + subresource
	}
	return errors.Join(fmt.Errorf("requires %s on %s%s %q", verb, resource.Resource, subresource, name), err)
}

// referencesOf returns the owner references of an object, if it has metadata.
func referencesOf(obj runtime.Object) []metav1.OwnerReference {
	if obj == nil {
		return nil
	}
	object, err := meta.Accessor(obj)
	if err != nil {
		return nil
	}
	return object.GetOwnerReferences()
}
