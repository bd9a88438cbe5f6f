package website

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/warning"
	"k8s.io/klog/v2"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// FieldAuthorizer rejects values of fields that require more than permission to write
// Websites: references to Secrets that the requesting user cannot read, which a pod would
// send to a server of the user's choice, exposure, hosts, tolerations, and the marks of a
// preview, which website-controller may delete.
type FieldAuthorizer struct {
	authorizer authorizer.UnconditionalAuthorizer
	rules      FieldRules
	stored     StoredWebsite
}

// StoredWebsite returns a Website of the namespace of a request, as it is stored.
type StoredWebsite func(ctx context.Context, name string) (*website.Website, error)

// NewFieldAuthorizer returns a FieldAuthorizer that uses authorizer, and gets the
// Websites of previews by stored. It returns an error if authorizer is nil, since no
// value would be rejected.
func NewFieldAuthorizer(authorizer authorizer.UnconditionalAuthorizer, rules FieldRules,
	stored StoredWebsite) (*FieldAuthorizer, error) {
	if authorizer == nil {
		return nil, errors.New("no authorizer is configured, so fields of Websites cannot be authorized: configure " +
			"authorization")
	}
	return &FieldAuthorizer{authorizer: authorizer, rules: rules, stored: stored}, nil
}

// Authorize checks the permissions for the fields of w that differ from old, which is nil on creation: only the user
// that sets a value needs the permission. It runs after the strategy and after admission.
func (a *FieldAuthorizer) Authorize(ctx context.Context, w, old *website.Website) error {
	before := &v1beta1.WebsiteSpec{}
	if old != nil {
		before = &old.Spec
	}
	errs := a.rules.validate(&w.Spec, before)
	required, forPreview := requiredPermissions(w, before, a.rules), requiredForPreview(w, old)
	if len(required) == 0 && len(forPreview) == 0 && len(errs) == 0 {
		return nil
	}
	requester, ok := genericapirequest.UserFrom(ctx)
	if !ok {
		return apierrors.NewInternalError(errors.New("authorizing the fields of Websites: the request has no user"))
	}
	required, err := a.withoutInherited(ctx, requester, w, required)
	if err != nil {
		return err
	}
	for _, p := range slices.Concat(required, forPreview) {
		allowed, err := a.allows(ctx, requester, w.Namespace, p)
		missing := fmt.Sprintf("requires %s in namespace %q: ask for a role that grants it%s", p, w.Namespace, p.orElse)
		switch {
		case allowed:
		case p.warnOnly:
			warnOfMissing(ctx, p, missing, err)
		case err != nil:
			return err
		default:
			errs = append(errs, field.Forbidden(p.path, missing))
		}
	}
	if len(errs) > 0 {
		return apierrors.NewInvalid(website.Kind("Website"), w.Name, errorsForVersion(requestVersion(ctx), errs))
	}
	return nil
}

// warnOfMissing warns the requester about a value that is accepted without the permission. There is no warning if the
// authorizer has failed with the error err.
func warnOfMissing(ctx context.Context, p permission, missing string, err error) {
	if err != nil {
		klog.FromContext(ctx).V(2).Info("The use of a host was not authorized: the authorizer is unavailable",
			"host", p.name, "err", err)
		return
	}
	path := fieldInVersion(requestVersion(ctx), p.path.String())
	warning.AddWarning(ctx, "", fmt.Sprintf(
		"%s: %s. It is accepted because website-apiserver has --host-authorization=Warn", path, missing))
}

// allows does not read the object, so that the decision does not reveal whether
// it exists. It returns an error if the authorizer does not decide.
func (a *FieldAuthorizer) allows(ctx context.Context, requester user.Info, namespace string,
	p permission) (bool, error) {
	decision, _, err := a.authorizer.Authorize(ctx, authorizer.AttributesRecord{
		User:            requester,
		Verb:            p.verb,
		Namespace:       namespace,
		APIGroup:        p.resource.Group,
		APIVersion:      p.resource.Version,
		Resource:        p.resource.Resource,
		Name:            p.name,
		ResourceRequest: true,
	})
	switch {
	case decision == authorizer.DecisionAllow:
		// As in the authorization of requests, an error is ignored if the decision is allow.
		return true, nil
	case err != nil:
		unavailable := apierrors.NewServiceUnavailable(
			fmt.Sprintf("%s: whether the user has %s in namespace %q is unknown, retry: %v", p.path, p, namespace, err),
		)
		unavailable.ErrStatus.Details = &metav1.StatusDetails{RetryAfterSeconds: 1}
		return false, unavailable
	}
	return false, nil
}
