package integration

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/kubesites/website-apiserver/test/leastprivilege"
)

// controllerRoles are what an installation lets the controller do.
var controllerRoles = filepath.Join("..", "..", "artifacts", "rbac", "controller.yaml")

// seenElsewhere are the rules of the controller's roles that leave no trace of
// their own in the audit logs, and where it shows that they are needed.
var seenElsewhere = map[string]string{
	"update websites.mycontroller.nevermosby.io/finalizers": "asked by an admission plugin that is off by default",
	"create configmaps":                  "asked for a patch that applies what does not exist: see TestApplyTakesCreate",
	"create services":                    "asked for a patch that applies what does not exist: see TestApplyTakesCreate",
	"create deployments.apps":            "asked for a patch that applies what does not exist: see TestApplyTakesCreate",
	"create poddisruptionbudgets.policy": "asked for a patch that applies what does not exist: see TestApplyTakesCreate",
	// test/e2e has such a node.
	"get pods/log":              "asked with commit observation, which takes a real node",
	"list events.events.k8s.io": "asked with commit observation, of pods that a real node has evicted",
	// The tests of faults have informers meet such servers.
	"list websites.mycontroller.nevermosby.io": "asked where an API server does not stream lists",
	"list configmaps":                          "asked where an API server does not stream lists",
	"list services":                            "asked where an API server does not stream lists",
	"list deployments.apps":                    "asked where an API server does not stream lists",
	"list poddisruptionbudgets.policy":         "asked where an API server does not stream lists",
	"list pods":                                "asked where an API server does not stream lists",
}

// TestApplyTakesCreate applies children that do not exist as a user who may patch them.
func TestApplyTakesCreate(t *testing.T) {
	t.Parallel()
	ctx, namespace := t.Context(), newNamespace(t)
	user, rbac := namespace+"-patches", admin(t).kubernetes.RbacV1()
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: user}, Rules: []rbacv1.PolicyRule{
		{Verbs: []string{"patch"}, APIGroups: []string{"", "apps", "policy"}, Resources: []string{"configmaps", "services", "deployments", "poddisruptionbudgets"}},
	}}
	if _, err := rbac.Roles(namespace).Create(ctx, role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := rbac.RoleBindings(namespace).Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: role.ObjectMeta,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	const manifests = `
{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
---
{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {ports: [{port: 80}]}}
---
{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: a}, spec: {maxUnavailable: 1}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: a}
spec:
  selector: {matchLabels: {a: a}}
  template: {metadata: {labels: {a: a}}, spec: {containers: [{name: a, image: a}]}}
`
	refused := kubectlRefused(t, manifests, "apply", "--server-side", "--dry-run=server", "--as="+user, "--namespace="+namespace, "--filename=-")
	for _, resource := range role.Rules[0].Resources {
		if want := fmt.Sprintf("cannot create resource %q", resource); !strings.Contains(refused, want) {
			t.Errorf("kubectl apply says %q, want %q in it", refused, want)
		}
	}
}

// checkPrivileges compares what the controller's ServiceAccount did while all the
// tests ran with what its roles allow: nothing was refused, and nothing is
// allowed that is neither used nor in seenElsewhere. A run of some tests only
// cannot show the latter.
func checkPrivileges() error {
	used, forbidden, err := requests(controllerUser)
	if err != nil {
		return err
	}
	var problems []error
	for _, request := range forbidden {
		problems = append(problems, fmt.Errorf("%s is not allowed to: %s", controllerUser, request))
	}
	if flag.Lookup("test.run").Value.String() != "" || flag.Lookup("test.skip").Value.String() != "" || flag.Lookup("test.short").Value.String() == "true" {
		return errors.Join(problems...)
	}
	allowed, err := leastprivilege.Rules(controllerRoles)
	if err != nil {
		return err
	}
	unused := 0
	for rule := range allowed {
		why, explained := seenElsewhere[rule.String()]
		switch {
		case used.Has(rule) && explained && !strings.HasPrefix(rule.String(), "list "):
			problems = append(problems, fmt.Errorf("%s is used, so it needs no explanation (%s)", rule, why))
		case !used.Has(rule) && !explained:
			problems = append(problems, fmt.Errorf("no test made %s use the right to %s, and seenElsewhere does not name it", controllerUser, rule))
			unused++
		}
	}
	fmt.Fprintf(os.Stderr, "least privilege: %d rules, %d of them used by %s, %d explained, %d unused, %d requests refused\n",
		allowed.Len(), used.Intersection(allowed).Len(), controllerUser, len(seenElsewhere), unused, len(forbidden))
	return errors.Join(problems...)
}

// requests returns what a user did according to the audit logs of both API
// servers, and what authorization refused.
func requests(user string) (used sets.Set[leastprivilege.Rule], forbidden []string, err error) {
	used = sets.New[leastprivilege.Rule]()
	for _, component := range []string{"kube-apiserver", "website-apiserver"} {
		files, err := auditFiles(component)
		if err != nil {
			return nil, nil, err
		}
		for _, file := range files {
			err := eachAuditEvent(file, func(event auditv1.Event) {
				if event.User.Username != user || event.ObjectRef == nil {
					return
				}
				ref := event.ObjectRef
				rule := leastprivilege.Rule{Verb: event.Verb, GroupResource: schema.GroupResource{Group: ref.APIGroup, Resource: ref.Resource}, Subresource: ref.Subresource}
				used.Insert(rule)
				// Quotas and admission refuse with the same code, but not so.
				if event.Annotations["authorization.k8s.io/decision"] == "forbid" {
					forbidden = append(forbidden, fmt.Sprintf("%s (%s/%s, by %s)", rule, ref.Namespace, ref.Name, component))
				}
			})
			if err != nil {
				return nil, nil, err
			}
		}
	}
	return used, forbidden, nil
}

// auditFiles are the audit log of a component and what was rotated out of it.
func auditFiles(component string) ([]string, error) {
	current := cluster.AuditLog(component)
	return filepath.Glob(strings.TrimSuffix(current, ".log") + "*.log")
}

func eachAuditEvent(path string, do func(auditv1.Event)) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	for decoder := json.NewDecoder(file); ; {
		var event auditv1.Event
		err := decoder.Decode(&event)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading %s: %w", path, err)
		}
		do(event)
	}
}
