package website

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/branches"
)

// withoutInherited returns the required permissions that remain for a preview. The fields
// that it inherits were permitted to the users who set them on its Website, so the requester
// only needs the verb preview on that Website. website-controller has it, and has no
// permission to get Secrets; other users gain nothing by naming an owner.
func (a *FieldAuthorizer) withoutInherited(ctx context.Context, requester user.Info, w *website.Website,
	required []permission) ([]permission, error) {
	owner := website.PreviewOwner(w)
	if owner == nil || len(required) == 0 {
		return required, nil
	}
	parent, err := a.stored(ctx, owner.Name)
	if apierrors.IsNotFound(err) {
		return required, nil
	}
	if err != nil {
		return nil, err
	}
	inherited := inheritedSpec(parent, w)
	if parent.UID != owner.UID || inherited == nil {
		return required, nil
	}
	remaining := remainingPermissions(parent, w, required, requiredPermissions(w, inherited, a.rules))
	allowed, err := a.allows(ctx, requester, w.Namespace, permission{
		path: field.NewPath("metadata", "ownerReferences"), verb: verbPreview, resource: websites, name: parent.Name,
	})
	if err != nil || !allowed {
		return required, err
	}
	return remaining, nil
}

// inheritedSpec returns the spec that a preview may have without further permissions: its
// Website's, with a branch and host of its own. It is nil if w is no preview of parent.
func inheritedSpec(parent, w *website.Website) *v1beta1.WebsiteSpec {
	previews, git := parent.Spec.Previews, w.Spec.Source.Git
	if git == nil || parent.Spec.Source.Git == nil {
		return nil
	}
	ref := git.Ref
	switch {
	case previews == nil || !parent.DeletionTimestamp.IsZero() || website.PreviewOwner(parent) != nil ||
		parent.Namespace != w.Namespace:
		return nil
	case ref == nil || *ref != v1beta1.GitReference{Branch: ref.Branch}:
		return nil
	case !branches.IsValid(ref.Branch) || !branches.Match(previews.Branches, ref.Branch) ||
		w.Name != branches.PreviewName(parent.Name, ref.Branch):
		return nil
	}
	spec := parent.Spec.DeepCopy()
	spec.Source.Git.Ref, spec.Previews, spec.Hosts = ref, nil, nil
	if previews.Access.BasicAuth != nil {
		spec.Access.BasicAuth = previews.Access.BasicAuth
	}
	if _, ok := previewDomain(parent, w); ok {
		spec.Hosts = w.Spec.Hosts
	}
	return spec
}

// previewDomain returns the domain of the host of a preview. It reports false for hosts that
// do not follow from its branch.
func previewDomain(parent, w *website.Website) (domain string, ok bool) {
	if len(w.Spec.Hosts) != 1 {
		return "", false
	}
	host := w.Spec.Hosts[0].Name
	domain, ok = branches.HostDomain(parent.Name, host)
	if set := parent.Spec.Previews.Domain; set != "" {
		ok = domain == set
	}
	return domain, ok && host == branches.Host(parent.Name, w.Spec.Source.Git.Ref.Branch, domain)
}

// remainingPermissions returns the required permissions that inherited fields require as
// well. The domain in a flag of website-controller was permitted to no user, so it requires
// the permission.
func remainingPermissions(parent, w *website.Website, required, beyond []permission) []permission {
	var remaining []permission
	for _, p := range required {
		isBeyond := slices.ContainsFunc(beyond, func(other permission) bool {
			return other.path.String() == p.path.String() && other.String() == p.String()
		})
		switch {
		case isBeyond:
			remaining = append(remaining, p)
		case p.resource == websiteHosts && parent.Spec.Previews.Domain == "":
			domain, _ := previewDomain(parent, w)
			p.name = "*." + domain
			remaining = append(remaining, p)
		}
	}
	return remaining
}
