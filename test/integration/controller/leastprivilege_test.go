package controller

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/kubesites/website-apiserver/test/framework"
	"github.com/kubesites/website-apiserver/test/leastprivilege"
)

// controllerRoles is the manifest of the controller's roles in an installation.
var controllerRoles = framework.Path("artifacts", "rbac", "controller.yaml")

// withoutRequest maps rules that are authorized as part of another request, so that the audit logs
// do not show them, to the test that uses them.
var withoutRequest = map[string]string{
	"update websites.mycontroller.nevermosby.io/finalizers": "TestBlockingOwnerDeletionTakesFinalizers",
	"create configmaps":                  "TestApplyTakesCreate",
	"create services":                    "TestApplyTakesCreate",
	"create deployments.apps":            "TestApplyTakesCreate",
	"create poddisruptionbudgets.policy": "TestApplyTakesCreate",

	"create httproutes.gateway.networking.k8s.io":   "TestApplyTakesCreate",
	"create listenersets.gateway.networking.k8s.io": "TestApplyTakesCreate",
	"create ingresses.networking.k8s.io":            "TestApplyTakesCreate",
	"create websites.mycontroller.nevermosby.io":    "TestApplyTakesCreate",

	"preview websites.mycontroller.nevermosby.io": "TestPreviews",
}

// TestApplyTakesCreate applies missing children as a user with permission to patch them only.
func TestApplyTakesCreate(t *testing.T) {
	t.Parallel()
	framework.InstallGatewayAPI(t)
	namespace := framework.NewNamespace(t)
	user, resources := namespace+"-patches", []string{"configmaps", "services", "deployments", "poddisruptionbudgets",
		"httproutes", "listenersets", "ingresses", "websites"}
	groups := []string{"", "apps", "policy", "gateway.networking.k8s.io", "networking.k8s.io",
		"mycontroller.nevermosby.io"}
	framework.Allow(t, namespace, user, rbacv1.PolicyRule{Verbs: []string{"patch"}, APIGroups: groups,
		Resources: resources})
	const manifests = `
{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
---
{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {ports: [{port: 80}]}}
---
{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: a}, spec: {maxUnavailable: 1}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: a}, spec: {hostnames: [a.example.test]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: ListenerSet, metadata: {name: a},
 spec: {parentRef: {name: a}, listeners: [{name: a, port: 80, protocol: HTTP}]}}
---
{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: a},
 spec: {defaultBackend: {service: {name: a, port: {number: 80}}}}}
---
{apiVersion: mycontroller.nevermosby.io/v1beta1, kind: Website, metadata: {name: a},
 spec: {source: {git: {repository: "https://example.com/a.git"}}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: a}
spec:
  selector: {matchLabels: {a: a}}
  template: {metadata: {labels: {a: a}}, spec: {containers: [{name: a, image: a}]}}
`
	refused := framework.KubectlRefused(t, manifests, "apply", "--server-side", "--dry-run=server", "--as="+user,
		"--namespace="+namespace, "--filename=-")
	for _, resource := range resources {
		if want := fmt.Sprintf("cannot create resource %q", resource); !strings.Contains(refused, want) {
			t.Errorf("kubectl apply says %q, want %q in it", refused, want)
		}
	}
}

// checkPermissions compares the requests of the controller's ServiceAccount during all tests of
// this package with its roles: none was forbidden, and every permission was used or is in
// withoutRequest. A run of some tests cannot prove the latter.
func checkPermissions() error {
	used, forbidden, err := leastprivilege.Requests(framework.ControllerUser, auditLogs()...)
	if err != nil {
		return err
	}
	var problems []error
	for _, request := range forbidden {
		problems = append(problems, fmt.Errorf("%s was forbidden to: %s", framework.ControllerUser, request))
	}
	if flag.Lookup("test.run").Value.String() != "" || flag.Lookup("test.skip").Value.String() != "" ||
		flag.Lookup("test.short").Value.String() == "true" {
		return errors.Join(problems...)
	}
	allowed, err := leastprivilege.Rules(controllerRoles)
	if err != nil {
		return err
	}
	for rule := range allowed {
		test, exempt := withoutRequest[rule.String()]
		switch {
		case used.Has(rule) && exempt:
			problems = append(problems, fmt.Errorf("%s is used: delete it from withoutRequest (%s)", rule, test))
		case !used.Has(rule) && !exempt:
			problems = append(problems, fmt.Errorf("%s is allowed to %s, which no test made it use",
				framework.ControllerUser, rule))
		}
	}
	fmt.Fprintf(os.Stderr, "least privilege: %d rules, %d of them used by %s, %d authorized without a request, %d "+
		"requests forbidden\n",
		allowed.Len(), used.Intersection(allowed).Len(), framework.ControllerUser, len(withoutRequest), len(forbidden))
	return errors.Join(problems...)
}

// auditLogs returns the audit logs of both API servers.
func auditLogs() []string {
	return []string{framework.Cluster.AuditLog("kube-apiserver"), framework.Cluster.AuditLog("website-apiserver")}
}
