package storage

import (
	"context"
	"fmt"

	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// describer names Websites in messages, for users with permission to read them.
type describer struct {
	authorizer authorizer.UnconditionalAuthorizer
}

// describe returns the name of another Website, for a message to the user that writes w. It returns no name if the
// user has no permission to get that Website.
func (d describer) describe(ctx context.Context, w, other *website.Website) string {
	const withoutName = "another Website"
	requester, ok := genericapirequest.UserFrom(ctx)
	if !ok {
		return withoutName
	}
	resource := v1beta1.SchemeGroupVersion.WithResource("websites")
	decision, _, _ := d.authorizer.Authorize(ctx, authorizer.AttributesRecord{
		User: requester, Verb: "get", Namespace: other.Namespace, Name: other.Name,
		APIGroup: resource.Group, APIVersion: resource.Version, Resource: resource.Resource, ResourceRequest: true,
	})
	switch {
	case decision != authorizer.DecisionAllow:
		return withoutName
	case other.Namespace == w.Namespace:
		return fmt.Sprintf("the Website %q of this namespace", other.Name)
	default:
		return fmt.Sprintf("the Website %q of namespace %q", other.Name, other.Namespace)
	}
}
