package resources

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/agent/requests"
	api "github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/branches"
	websitev1beta1ac "github.com/kubesites/website-apiserver/pkg/generated/applyconfiguration/website/v1beta1"
)

const (
	robotsHeader = "X-Robots-Tag"
	// maxHeaders is the maximum number of headers of a Website.
	maxHeaders = 100
)

// WantsPreviews reports whether a Website should have previews. A preview has none itself.
func WantsPreviews(website *v1beta1.Website) bool {
	return website.Spec.Previews != nil && api.PreviewOwner(website) == nil
}

// listedForPreviews returns the branches that the agents list.
func listedForPreviews(website *v1beta1.Website) requests.Previews {
	ref := Git(website).Ref
	return requests.Previews{Branches: website.Spec.Previews.Branches, Head: ref == nil || *ref == v1beta1.GitReference{}}
}

// BranchesID identifies the list of branches of a Website's agents.
func BranchesID(website *v1beta1.Website) string {
	return listedForPreviews(website).ID(Git(website).Repository)
}

// Preview builds the Website that is the preview of a branch. It has a host below domain,
// unless that is empty. spec.pin is not part of it: the rollback subresource sets it.
func Preview(website *v1beta1.Website, branch, domain string) (*websitev1beta1ac.WebsiteApplyConfiguration, error) {
	spec := website.Spec.DeepCopy()
	spec.DeploymentName = branches.DeploymentName(website.Name, branch)
	spec.Replicas = ptr.To[int32](1)
	spec.Source.Git = Git(website).DeepCopy()
	spec.Source.Git.Ref = &v1beta1.GitReference{Branch: branch}
	spec.Pin, spec.Suspend, spec.Previews = nil, nil, nil
	if users := website.Spec.Previews.Access.BasicAuth; users != nil {
		spec.Access.BasicAuth = users
	}
	spec.Service = previewService(website, domain)
	if spec.Hosts = nil; domain != "" {
		spec.Hosts = []v1beta1.WebsiteHost{{Name: branches.Host(website.Name, branch, domain), Role: v1beta1.HostRoleAlias}}
	} else {
		spec.Routing, spec.TLS = v1beta1.WebsiteRouting{}, nil
	}
	spec.Serving.Headers = slices.DeleteFunc(spec.Serving.Headers, func(header v1beta1.ResponseHeader) bool {
		return strings.EqualFold(header.Name, robotsHeader)
	})
	if len(spec.Serving.Headers) >= maxHeaders {
		return nil, fmt.Errorf("spec.serving.headers has %d entries, and previews need another one for %s: remove one",
			len(spec.Serving.Headers), robotsHeader)
	}
	spec.Serving.Headers = append(spec.Serving.Headers,
		v1beta1.ResponseHeader{Path: "/*", Name: robotsHeader, Value: "noindex"})
	applied, err := specConfiguration(spec)
	if err != nil {
		return nil, err
	}
	labels := supportLabels(website)
	labels[api.LabelPreviewOf] = website.Name
	return websitev1beta1ac.Website(branches.PreviewName(website.Name, branch), website.Namespace).
		WithLabels(labels).
		WithOwnerReferences(ownerReference(website)).
		WithSpec(applied), nil
}

// previewService returns the Service of a preview: a host needs no node port, and a load balancer
// costs money.
func previewService(website *v1beta1.Website, domain string) v1beta1.WebsiteService {
	if domain == "" && website.Spec.Service.Type == v1beta1.ServiceTypeNodePort {
		return v1beta1.WebsiteService{Type: v1beta1.ServiceTypeNodePort}
	}
	return v1beta1.WebsiteService{Type: v1beta1.ServiceTypeClusterIP}
}

// specConfiguration returns the apply configuration of a spec. Empty objects are omitted: the API
// server does not return them.
func specConfiguration(spec *v1beta1.WebsiteSpec) (*websitev1beta1ac.WebsiteSpecApplyConfiguration, error) {
	data, err := json.Marshal(spec)
	if err != nil {
		return nil, fmt.Errorf("encoding the spec of a preview: %w", err)
	}
	var content map[string]any
	// Unlike the standard library, it keeps large numbers.
	if err := utiljson.Unmarshal(data, &content); err != nil {
		return nil, fmt.Errorf("decoding the spec of a preview: %w", err)
	}
	removeEmpty(content)
	if data, err = json.Marshal(content); err != nil {
		return nil, fmt.Errorf("encoding the spec of a preview: %w", err)
	}
	applied := &websitev1beta1ac.WebsiteSpecApplyConfiguration{}
	if err := json.Unmarshal(data, applied); err != nil {
		return nil, fmt.Errorf("decoding the spec of a preview: %w", err)
	}
	return applied, nil
}

// removeEmpty removes the members that are empty objects.
func removeEmpty(content map[string]any) {
	maps.DeleteFunc(content, func(_ string, value any) bool {
		member, isObject := value.(map[string]any)
		if isObject {
			removeEmpty(member)
		}
		return isObject && len(member) == 0
	})
}
