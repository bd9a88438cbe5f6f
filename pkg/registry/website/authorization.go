package website

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
)

// ReferenceAuthorizer refuses Websites that refer to what the requesting user
// may not read: a pod would read it for them and send it where they say.
type ReferenceAuthorizer struct {
	authorizer authorizer.UnconditionalAuthorizer
}

// NewReferenceAuthorizer returns one that asks authorizer. It returns an error
// when there is none, since nothing would be refused.
func NewReferenceAuthorizer(authorizer authorizer.UnconditionalAuthorizer) (*ReferenceAuthorizer, error) {
	if authorizer == nil {
		return nil, errors.New("there is no authorizer to ask whether users may read what Websites refer to: configure authorization")
	}
	return &ReferenceAuthorizer{authorizer: authorizer}, nil
}

// OnCreate returns a validation of new Websites that authorizes their references
// and then runs validate, which may be nil. It is for objects that the strategy
// has accepted and that admission changes no more.
func (a *ReferenceAuthorizer) OnCreate(validate rest.ValidateObjectFunc) rest.ValidateObjectFunc {
	return func(ctx context.Context, obj runtime.Object) error {
		if err := a.authorize(ctx, obj, nil); err != nil || validate == nil {
			return err
		}
		return validate(ctx, obj)
	}
}

// OnUpdate is as OnCreate for changes. References that stay as they were pass,
// so that the permission is that of the user who has set them.
func (a *ReferenceAuthorizer) OnUpdate(validate rest.ValidateObjectUpdateFunc) rest.ValidateObjectUpdateFunc {
	return func(ctx context.Context, obj, old runtime.Object) error {
		if err := a.authorize(ctx, obj, old); err != nil || validate == nil {
			return err
		}
		return validate(ctx, obj, old)
	}
}

// authorize checks the references of obj that old, which is nil on creation, does
// not have.
func (a *ReferenceAuthorizer) authorize(ctx context.Context, obj, old runtime.Object) error {
	w, ok := obj.(*website.Website)
	if !ok {
		return apierrors.NewInternalError(fmt.Errorf("authorizing the references of Websites: got a %T", obj))
	}
	var oldSpec *website.WebsiteSpec
	if old != nil {
		previous, ok := old.(*website.Website)
		if !ok {
			return apierrors.NewInternalError(fmt.Errorf("authorizing the references of Websites: got a %T", old))
		}
		oldSpec = &previous.Spec
	}
	changed := changedReferences(&w.Spec, oldSpec)
	if len(changed) == 0 {
		return nil
	}
	requester, ok := genericapirequest.UserFrom(ctx)
	if !ok {
		return apierrors.NewInternalError(errors.New("authorizing the references of Websites: the request has no user"))
	}
	var errs field.ErrorList
	for _, r := range changed {
		allowed, err := a.mayGet(ctx, requester, w.Namespace, r)
		if err != nil {
			return err
		}
		if !allowed {
			errs = append(errs, field.Forbidden(r.path, fmt.Sprintf("requires get on %s %q in namespace %q: ask for a role that grants it", r.resource.Resource, r.name, w.Namespace)))
		}
	}
	if len(errs) > 0 {
		return apierrors.NewInvalid(website.Kind("Website"), w.Name, errorsForVersion(requestVersion(ctx), errs))
	}
	return nil
}

// mayGet asks without looking at the object, so that the answer does not tell
// whether it exists. It returns an error when there is no answer.
func (a *ReferenceAuthorizer) mayGet(ctx context.Context, requester user.Info, namespace string, r objectReference) (bool, error) {
	decision, _, err := a.authorizer.Authorize(ctx, authorizer.AttributesRecord{
		User:            requester,
		Verb:            "get",
		Namespace:       namespace,
		APIGroup:        r.resource.Group,
		APIVersion:      r.resource.Version,
		Resource:        r.resource.Resource,
		Name:            r.name,
		ResourceRequest: true,
	})
	switch {
	case decision == authorizer.DecisionAllow:
		// As in the authorization of requests, an error besides does not matter.
		return true, nil
	case err != nil:
		unavailable := apierrors.NewServiceUnavailable(fmt.Sprintf("%s: whether the user may get %s %q in namespace %q is unknown, retry: %v", r.path, r.resource.Resource, r.name, namespace, err))
		unavailable.ErrStatus.Details = &metav1.StatusDetails{RetryAfterSeconds: 1}
		return false, unavailable
	}
	return false, nil
}
