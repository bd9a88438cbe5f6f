package framework

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Bind binds a user to a Role or ClusterRole in a namespace, and waits until kube-apiserver grants
// the permissions.
func Bind(t *testing.T, namespace, user, kind, role string) {
	t.Helper()
	rbac := Admin(t).Kubernetes.RbacV1()
	if _, err := rbac.RoleBindings(namespace).Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: user + "-" + role},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: role},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	var rules []rbacv1.PolicyRule
	if kind == "Role" {
		found, err := rbac.Roles(namespace).Get(t.Context(), role, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		rules = found.Rules
	} else {
		found, err := rbac.ClusterRoles().Get(t.Context(), role, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		rules = found.Rules
	}
	waitForRules(t, namespace, user, rules)
}

// BindCluster binds a user to a ClusterRole in all namespaces until the test ends, and waits until
// kube-apiserver grants the permissions. A website-apiserver that requests the decision earlier
// caches the denial for seconds.
func BindCluster(t *testing.T, user, role string) {
	t.Helper()
	rbac := Admin(t).Kubernetes.RbacV1()
	if _, err := rbac.ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: user},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	DeleteAfter(t, rbac.ClusterRoleBindings(), user)
	found, err := rbac.ClusterRoles().Get(t.Context(), role, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	waitForRules(t, metav1.NamespaceAll, user, found.Rules)
}

// waitForRules waits until kube-apiserver grants permissions to a user. The first rule is checked
// for all.
func waitForRules(t *testing.T, namespace, user string, rules []rbacv1.PolicyRule) {
	t.Helper()
	i := slices.IndexFunc(rules, func(rule rbacv1.PolicyRule) bool { return len(rule.Resources) > 0 })
	if i < 0 {
		return
	}
	rule := rules[i]
	resource, subresource, _ := strings.Cut(rule.Resources[0], "/")
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: user, ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: namespace, Verb: rule.Verbs[0], Group: rule.APIGroups[0], Resource: resource, Subresource: subresource,
		},
	}}
	if len(rule.ResourceNames) > 0 {
		review.Spec.ResourceAttributes.Name = rule.ResourceNames[0]
	}
	WaitFor(t, "kube-apiserver knows the RoleBinding", func(ctx context.Context) error {
		answer, err := Admin(t).Kubernetes.AuthorizationV1().SubjectAccessReviews().Create(ctx, review,
			metav1.CreateOptions{})
		if err == nil && !answer.Status.Allowed {
			err = fmt.Errorf("%s may not %s %s", user, rule.Verbs[0], rule.Resources[0])
		}
		return err
	})
}

// Allow grants a user permissions in a namespace, by a Role with the name of the user.
func Allow(t *testing.T, namespace, user string, rules ...rbacv1.PolicyRule) {
	t.Helper()
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: user}, Rules: rules}
	if _, err := Admin(t).Kubernetes.RbacV1().Roles(namespace).Create(t.Context(), role,
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	Bind(t, namespace, user, "Role", user)
}
