// Package leastprivilege reads the permissions of the roles in artifacts/rbac, and the
// requests of users in audit logs, for tests that compare the two.
package leastprivilege

import (
	"fmt"
	"os"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"sigs.k8s.io/yaml"
)

// Rule is a verb and a resource.
type Rule struct {
	Verb string
	schema.GroupResource
	Subresource string
}

// String returns "patch deployments.apps" or "update websites.example.com/status".
func (r Rule) String() string {
	if r.Subresource == "" {
		return r.Verb + " " + r.GroupResource.String()
	}
	return r.Verb + " " + r.GroupResource.String() + "/" + r.Subresource
}

// RuleOf returns the permission that a request needs.
func RuleOf(event auditv1.Event) Rule {
	ref := event.ObjectRef
	return Rule{event.Verb, schema.GroupResource{Group: ref.APIGroup, Resource: ref.Resource}, ref.Subresource}
}

// Rules returns the permissions of the ClusterRoles and Roles in a file of manifests.
func Rules(file string) (sets.Set[Rule], error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	all := sets.New[Rule]()
	for _, document := range strings.Split(string(data), "\n---\n") {
		// A Role has the same relevant fields as a ClusterRole.
		var role rbacv1.ClusterRole
		if err := yaml.Unmarshal([]byte(document), &role); err != nil {
			return nil, fmt.Errorf("reading %s: %w", file, err)
		}
		if role.Kind != "ClusterRole" && role.Kind != "Role" {
			continue
		}
		for _, policy := range role.Rules {
			for _, group := range policy.APIGroups {
				for _, resource := range policy.Resources {
					name, subresource, _ := strings.Cut(resource, "/")
					for _, verb := range policy.Verbs {
						all.Insert(Rule{verb, schema.GroupResource{Group: group, Resource: name}, subresource})
					}
				}
			}
		}
	}
	if all.Len() == 0 {
		return nil, fmt.Errorf("%s has no rules", file)
	}
	return all, nil
}
