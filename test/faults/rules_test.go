package faults

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/restmapper"

	"github.com/kubesites/website-apiserver/test/framework"
	"github.com/kubesites/website-apiserver/test/leastprivilege"
)

// roles is the manifest of the controller's roles in an installation.
var roles = framework.Path("artifacts", "rbac", "controller.yaml")

// rules returns the verbs and resources of the controller's roles, in the form of site.rule.
func rules() (sets.Set[string], error) {
	found, err := leastprivilege.Rules(roles)
	if err != nil {
		return nil, err
	}
	names := sets.New[string]()
	for rule := range found {
		names.Insert(rule.String())
	}
	return names, nil
}

// childResources returns the kinds that the controller applies in the scenarios, from its roles, in
// the versions that the API server prefers.
func childResources() ([]schema.GroupVersionResource, error) {
	found, err := leastprivilege.Rules(roles)
	if err != nil {
		return nil, err
	}
	groups, err := restmapper.GetAPIGroupResources(kube.Discovery())
	if err != nil {
		return nil, err
	}
	mapper := restmapper.NewDiscoveryRESTMapper(groups)
	var kinds []schema.GroupVersionResource
	for rule := range found {
		if _, never := notCalled[rule.String()]; never || rule.Verb != "patch" || rule.Subresource != "" {
			continue
		}
		kind, err := mapper.ResourceFor(rule.WithVersion(""))
		if err != nil {
			return nil, err
		}
		kinds = append(kinds, kind)
	}
	slices.SortFunc(kinds, func(a, b schema.GroupVersionResource) int { return cmp.Compare(a.String(), b.String()) })
	return kinds, nil
}
