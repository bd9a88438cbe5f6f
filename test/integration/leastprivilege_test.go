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
	// Without them no child comes into being, and most tests fail.
	"create configmaps":                  "asked for a patch that applies what does not exist",
	"create services":                    "asked for a patch that applies what does not exist",
	"create deployments.apps":            "asked for a patch that applies what does not exist",
	"create poddisruptionbudgets.policy": "asked for a patch that applies what does not exist",
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

// checkPrivileges compares what the controller's ServiceAccount did while all the
// tests ran with what its roles allow: nothing was refused, and nothing is
// allowed that is not used. A run of some tests only cannot show the latter.
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
			problems = append(problems, fmt.Errorf("no test made %s use the right to %s", controllerUser, rule))
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
