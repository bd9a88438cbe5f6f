package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/kubesites/website-apiserver/test/framework"
	"github.com/kubesites/website-apiserver/test/monitoring"
)

// TestMonitoring makes Prometheus scrape the running programs, and looks up each metric that
// the rules and the dashboard of artifacts/components/monitoring use. It takes a picture of
// the dashboard.
func TestMonitoring(t *testing.T) {
	t.Parallel()
	prometheus := monitoring.Program(t, "prometheus")
	s := exampleSite()
	rules, file := monitoring.Rules(t)
	dir := t.TempDir()
	framework.WriteFile(t, filepath.Join(dir, "prometheus.yaml"), scrapeConfig(t, s, file, dir))
	address := startPrometheus(t, prometheus, dir)

	expressions := map[string]string{}
	for _, rule := range rules {
		expressions["alert "+rule.Alert] = rule.Expr
	}
	for panel, queries := range monitoring.Queries(t) {
		for i, query := range queries {
			expressions[fmt.Sprintf("panel %s, %d", panel, i)] = query
		}
	}
	framework.WaitFor(t, "Prometheus has every metric", func(ctx context.Context) error {
		var failed []error
		for name, expression := range expressions {
			if _, err := query(ctx, address, expression); err != nil {
				failed = append(failed, fmt.Errorf("%s: %w", name, err))
			}
			for _, metric := range monitoring.Metrics(expression) {
				if found, err := query(ctx, address, metric); err != nil || found == 0 {
					failed = append(failed, fmt.Errorf("%s: there is no metric %s (%v)", name, metric, err))
				}
			}
		}
		return errors.Join(failed...)
	})
	const answered = `website_http_requests_total{job="website-nginx",code="2xx"} > 0`
	framework.WaitFor(t, "Prometheus has the requests to the site", func(ctx context.Context) error {
		if page := adminGet(ctx, s.pod(t), httpPort, "/"); page.status != http.StatusOK {
			return fmt.Errorf("the page: %v", page)
		}
		if found, err := query(ctx, address, answered); err != nil || found == 0 {
			return fmt.Errorf("%d series of %s (%w)", found, answered, err)
		}
		return nil
	})
	framework.WaitFor(t, "Prometheus has evaluated every rule", func(ctx context.Context) error {
		a := get(ctx, http.DefaultClient, address+"/api/v1/rules")
		if a.err != nil {
			return a.err
		}
		if evaluated := strings.Count(a.body, `"health":"ok"`); evaluated != len(rules) {
			return fmt.Errorf("%d of %d rules are ok: %s", evaluated, len(rules), a.body)
		}
		return nil
	})
	t.Run("dashboard", func(t *testing.T) { testDashboard(t, address) })
}

// TestKubeStateMetricsPaths looks up the fields in the configuration of kube-state-metrics.
func TestKubeStateMetricsPaths(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(monitoring.File("kube-state-metrics.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	type each struct {
		Path           []string            `json:"path"`
		LabelsFromPath map[string][]string `json:"labelsFromPath"`
		ValueFrom      []string            `json:"valueFrom"`
	}
	var config struct {
		Spec struct {
			Resources []struct {
				Metrics []struct {
					Name string `json:"name"`
					Each struct{ Info, Gauge each }
				} `json:"metrics"`
			} `json:"resources"`
		} `json:"spec"`
	}
	if err := yaml.Unmarshal(data, &config); err != nil || len(config.Spec.Resources) != 1 ||
		len(config.Spec.Resources[0].Metrics) == 0 {
		t.Fatalf("the configuration has no metrics: %v", err)
	}
	for _, metric := range config.Spec.Resources[0].Metrics {
		for _, each := range []each{metric.Each.Info, metric.Each.Gauge} {
			paths := [][]string{each.Path, append(slices.Clone(each.Path), each.ValueFrom...)}
			for _, path := range each.LabelsFromPath {
				paths = append(paths, append(slices.Clone(each.Path), path...))
			}
			for _, path := range paths {
				if len(path) > 0 {
					framework.Kubectl(t, "explain", "websites."+strings.Join(path, "."))
				}
			}
		}
	}
}

// query returns the number of series of an expression.
func query(ctx context.Context, address, expression string) (int, error) {
	a := get(ctx, http.DefaultClient, address+"/api/v1/query?query="+url.QueryEscape(expression))
	if a.err != nil {
		return 0, a.err
	}
	var response struct {
		Status, Error string
		Data          struct{ Result []any }
	}
	if err := json.Unmarshal([]byte(a.body), &response); err != nil {
		return 0, fmt.Errorf("%s: %w", a, err)
	}
	if response.Status != "success" {
		return 0, errors.New(response.Error)
	}
	return len(response.Data.Result), nil
}
