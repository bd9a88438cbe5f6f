package install

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/kubesites/website-apiserver/test/framework"
)

// chartValues are the values of the charts that kube-apiserver checks.
var chartValues = map[string]string{
	"chart":       "ha=false",
	"chart of ha": "ha=true",
	"chart, all of it": "ha=true,certManager=true,monitoring=true,defaultDeny=true," +
		"snapshots.enabled=true,staticRegistration=true",
}

// helm runs a helm command in the namespace of the installation, and returns its output.
func helm(t *testing.T, program string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program,
		append(args, "--namespace="+systemNamespace, "--kubeconfig="+framework.Cluster.Kubeconfig())...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	// Helm uses directories of its own, so that the user's stay unchanged.
	home := t.TempDir()
	cmd.Env = append(cmd.Environ(), "HELM_CACHE_HOME="+home, "HELM_CONFIG_HOME="+home, "HELM_DATA_HOME="+home)
	stdout, err := cmd.Output()
	if err != nil {
		t.Fatalf("helm %s: %v\n%s%s", strings.Join(args, " "), err, stdout, stderr.String())
	}
	return string(stdout)
}

// testChart installs the chart, runs its tests, and removes it.
func testChart(t *testing.T, sites string) {
	program := framework.BuildProgram(t, framework.Path("test", "clients", "wait"), "helm.sh/helm/v4/cmd/helm")
	start := time.Now()
	framework.Kubectl(t, "create", "namespace", systemNamespace)
	framework.Kubectl(t, "label", "namespace", systemNamespace, "pod-security.kubernetes.io/enforce=restricted")
	helm(t, program, "install", "website", framework.Path("artifacts", "chart"), "--wait")
	waitServed(t)
	publish(t, sites, "first")
	waitPage(t, sites, "first")
	t.Logf("%s from helm install to a served page", time.Since(start).Round(time.Second))
	framework.WaitReady(t, sites, "first")
	said := helm(t, program, "test", "website", "--logs")
	if !strings.Contains(said, "mycontroller.nevermosby.io/v1beta1 is served") {
		t.Errorf("helm test printed: %s", said)
	}
	t.Run("kube-apiserver accepts every overlay", func(t *testing.T) { testDryRun(t, program) })

	before := children(t, sites)
	// It waits until the API has been available for registration.MinimumAge.
	helm(t, program, "uninstall", "website")
	requireClean(t)
	waitRemoved(t)
	requireKept(t)
	waitPage(t, sites, "first")
	requireSame(t, sites, before)
}
