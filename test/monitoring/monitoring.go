// Package monitoring reads the files for Prometheus in artifacts/components/monitoring,
// and locates Prometheus itself.
package monitoring

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/kubesites/website-apiserver/test/framework"
)

// Rule is an alert of the PrometheusRule.
type Rule struct {
	Alert       string            `json:"alert"`
	Expr        string            `json:"expr"`
	For         string            `json:"for,omitempty"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

// Program returns the path of prometheus or promtool, and skips the test if this machine
// does not have it. hack/test-tools.sh unpacks Debian's package.
func Program(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		path, err = exec.LookPath(framework.Path("bin", "prometheus", "usr", "bin", name))
	}
	if err != nil {
		t.Skipf("%s is not installed: %v", name, err)
	}
	return path
}

// File returns the path of a file of the component.
func File(name string) string {
	return framework.Path("artifacts", "components", "monitoring", name)
}

// Rules returns the alerts, and the path of the file with them in Prometheus' format.
func Rules(t *testing.T) (rules []Rule, file string) {
	t.Helper()
	var content struct {
		Spec json.RawMessage `json:"spec"`
	}
	read(t, "rules.yaml", &content)
	var spec struct {
		Groups []struct {
			Name  string `json:"name"`
			Rules []Rule `json:"rules"`
		} `json:"groups"`
	}
	if err := yaml.UnmarshalStrict(content.Spec, &spec); err != nil {
		t.Fatalf("reading the rules: %v", err)
	}
	for _, group := range spec.Groups {
		rules = append(rules, group.Rules...)
	}
	file = filepath.Join(t.TempDir(), "rules.yaml")
	framework.WriteFile(t, file, content.Spec)
	return rules, file
}

// Panels returns the panels of the dashboard.
func Panels(t *testing.T) []Panel {
	t.Helper()
	var dashboard struct {
		Panels []Panel `json:"panels"`
	}
	read(t, "websites.json", &dashboard)
	return dashboard.Panels
}

// Queries returns the queries of the dashboard, by panel.
func Queries(t *testing.T) map[string][]string {
	t.Helper()
	queries := map[string][]string{}
	for _, panel := range Panels(t) {
		for _, target := range panel.Targets {
			queries[panel.Title] = append(queries[panel.Title], target.Expr)
		}
	}
	return queries
}

// read decodes a file of the component.
func read(t *testing.T, name string, into any) {
	t.Helper()
	data, err := os.ReadFile(File(name))
	if err == nil {
		err = yaml.Unmarshal(data, into)
	}
	if err != nil {
		t.Fatal(fmt.Errorf("reading %s: %w", name, err))
	}
}

var (
	// notMetrics are the parts of an expression with other names than metrics': strings,
	// selectors, ranges, and the labels of a grouping.
	notMetrics = regexp.MustCompile(`"[^"]*"|\{[^}]*\}|\[[^\]]*\]|\b(?:by|without|on|ignoring)\s*\([^)]*\)`)
	// identifier is a name, with the parenthesis that follows the name of a function.
	identifier = regexp.MustCompile(`[a-zA-Z_:][a-zA-Z0-9_:]*\s*\(?`)
	operators  = []string{"and", "or", "unless", "bool"}
)

// Metrics returns the names of the metrics in an expression.
func Metrics(expression string) []string {
	var names []string
	for _, name := range identifier.FindAllString(notMetrics.ReplaceAllString(expression, " "), -1) {
		name = regexp.MustCompile(`\s`).ReplaceAllString(name, "")
		if name[len(name)-1] != '(' && !slices.Contains(operators, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
