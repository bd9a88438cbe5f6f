package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/kubesites/website-apiserver/test/framework"
	"github.com/kubesites/website-apiserver/test/monitoring"
)

// TestMonitoring has Prometheus scrape the running programs, and looks for each metric that
// the rules and the dashboard of artifacts/components/monitoring name. It makes a picture of the
// dashboard.
func TestMonitoring(t *testing.T) {
	t.Parallel()
	prometheus := monitoring.Program(t, "prometheus")
	s := newSite(t)
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

// TestKubeStateMetricsPaths looks for the fields that the configuration for kube-state-metrics
// names.
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
	if err := yaml.Unmarshal(data, &config); err != nil || len(config.Spec.Resources) != 1 || len(config.Spec.Resources[0].Metrics) == 0 {
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

// scrapeConfig is what the operator makes of the ServiceMonitors and the PodMonitor, for
// programs beside the cluster. A second server is closed, as its store has no owner of the
// site's children: only then there is the metric of that.
func scrapeConfig(t *testing.T, s *site, rules, dir string) []byte {
	t.Helper()
	_, store := framework.NewStore(t, "monitoring")
	closed, closedURL, err := framework.Cluster.StartAPIServer(t.Context(), "apiserver-monitoring", store, "--store-record-namespace="+framework.NewRecordNamespace(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := closed.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	admin := framework.AdminConfig(t)
	tls := map[string]string{}
	for name, content := range map[string][]byte{"cert": admin.CertData, "key": admin.KeyData, "ca": slices.Concat(admin.CAData, framework.Cluster.ServingCA())} {
		tls[name+"_file"] = filepath.Join(dir, name+".pem")
		framework.WriteFile(t, tls[name+"_file"], content)
	}
	job := func(name string, tls map[string]string, labels map[string]string, addresses ...string) map[string]any {
		target := map[string]any{"targets": []string{}, "labels": labels}
		scheme := "http"
		for _, address := range addresses {
			if parsed, err := url.Parse(address); err == nil && parsed.Host != "" {
				address, scheme = parsed.Host, parsed.Scheme
			}
			target["targets"] = append(target["targets"].([]string), address)
		}
		return map[string]any{"job_name": name, "scheme": scheme, "tls_config": tls, "static_configs": []any{target}}
	}
	pod := s.pod(t)
	config, err := yaml.Marshal(map[string]any{
		"global":     map[string]any{"scrape_interval": "1s", "evaluation_interval": "1s"},
		"rule_files": []string{rules},
		"scrape_configs": []any{
			job("kube-apiserver", tls, nil, admin.Host),
			job("website-apiserver", tls, nil, framework.Cluster.WebsiteAPIServerURL(), closedURL),
			job("website-controller", tls, nil, framework.ControllerURL()),
			job("website-etcd", nil, map[string]string{"pod": "website-etcd-0"}, startEtcd(t)),
			job("website-etcd-certificates", nil, nil, startEtcdCertificates(t)),
			job("website-nginx", nil, map[string]string{"namespace": s.namespace, "website": s.name}, net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(metricsPort))),
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return config
}

// startEtcd runs a member of an etcd cluster, and returns the address of its metrics.
func startEtcd(t *testing.T) (address string) {
	t.Helper()
	client, peer, metrics := "http://"+freeAddress(t), "http://"+freeAddress(t), "http://"+freeAddress(t)
	run(t, framework.Cluster.EtcdPath(), "--data-dir="+t.TempDir(), "--listen-client-urls="+client, "--advertise-client-urls="+client,
		"--listen-peer-urls="+peer, "--initial-advertise-peer-urls="+peer, "--initial-cluster=default="+peer, "--listen-metrics-urls="+metrics)
	return metrics
}

// startEtcdCertificates runs what keeps the certificates of an etcd cluster, and returns the
// address of its metrics.
func startEtcdCertificates(t *testing.T) (address string) {
	t.Helper()
	program := filepath.Join(t.TempDir(), "website-apiserver")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "./cmd/apiserver")
	build.Dir = framework.Path()
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building website-apiserver: %v\n%s", err, out)
	}
	host := freeAddress(t)
	run(t, program, "etcd-certificates", "--kubeconfig="+framework.Cluster.Kubeconfig(),
		"--namespace="+framework.NewNamespace(t), "--metrics-address="+host)
	return "http://" + host
}

// freeAddress is unused at this moment.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	return listener.Addr().String()
}

// run runs a program until the test ends.
func run(t *testing.T, program string, args ...string) {
	t.Helper()
	var log bytes.Buffer
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("%s: %s", filepath.Base(program), log.String())
		}
	})
}

// startPrometheus runs Prometheus with its state in dir, until the test ends.
func startPrometheus(t *testing.T, program, dir string) (address string) {
	t.Helper()
	host := freeAddress(t)
	run(t, program, "--config.file="+filepath.Join(dir, "prometheus.yaml"),
		"--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+host)
	return "http://" + host
}

// query returns how many series an expression has.
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
