package install

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/kubesites/website-apiserver/test/framework"
)

var withDeploy = flag.Bool("deploy", false, "run TestDeploy, which builds images")

// TestDeploy runs "make deploy" and "make undeploy" with only a kubeconfig and a command that
// loads images.
func TestDeploy(t *testing.T) {
	if !*withDeploy {
		t.Skip("-deploy is not set: the suite deploy of \"make test-long\" sets it")
	}
	framework.RequireCluster(t)
	keepSystem(t)
	provideVolumes(t, 1)
	repository, _ := push(t, "hello")
	start := time.Now()
	said := makeTarget(t, "deploy", "LOAD="+loadCommand(t), "REPO="+repository)
	t.Logf("make deploy took %s and printed:\n%s", time.Since(start).Round(time.Second), said)
	checkForwarded(t, said, page("hello"))

	t.Logf("make undeploy printed:\n%s", makeTarget(t, "undeploy", "ALL=1"))
	requireClean(t)
	if _, stderr, err := framework.Cluster.Kubectl(t.Context(), "get", "namespace", systemNamespace); err == nil ||
		!strings.Contains(stderr, "NotFound") {
		t.Errorf("the namespace is still there: %v: %s", err, stderr)
	}
	if left := framework.Kubectl(t, "get",
		"clusterroles,clusterrolebindings,validatingadmissionpolicies,flowschemas,priorityclasses",
		"--selector=app.kubernetes.io/part-of=website", "-o", "name"); left != "" {
		t.Errorf("left over: %s", left)
	}
}

// makeTarget runs make with the kubeconfig of the cluster.
func makeTarget(t *testing.T, target string, variables ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "make", append([]string{"--no-print-directory", target}, variables...)...)
	cmd.Dir = framework.Path()
	// The variables of a make that runs this test must not affect this one.
	cmd.Env = append(os.Environ(), "KUBECONFIG="+framework.Cluster.Kubeconfig(), "MAKEFLAGS=", "MAKEOVERRIDES=",
		"PATH="+filepath.Join(framework.Cluster.Dir(), "bin")+string(os.PathListSeparator)+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("make %s: %v\n%s", target, err, out)
	}
	return string(out)
}

// loadCommand writes a program that imports an image archive into the containerd of the node.
func loadCommand(t *testing.T) string {
	t.Helper()
	script := filepath.Join(t.TempDir(), "load")
	if err := framework.Cluster.WriteImporter(script); err != nil {
		t.Fatal(err)
	}
	return script
}

var (
	forwardCommand = regexp.MustCompile(`(?m)^  (kubectl .* port-forward .*) 8080:80$`)
	forwardedPort  = regexp.MustCompile(`Forwarding from (127\.0\.0\.1:[0-9]+)`)
)

// checkForwarded runs the printed command with a free port, and requests the page.
func checkForwarded(t *testing.T, said, want string) {
	t.Helper()
	command := forwardCommand.FindStringSubmatch(said)
	if command == nil {
		t.Fatal("no command was printed that opens the page")
	}
	args := append(strings.Fields(command[1])[1:], ":80")
	cmd := exec.CommandContext(t.Context(), filepath.Join(framework.Cluster.Dir(), "bin", "kubectl"),
		append(args, "--kubeconfig="+framework.Cluster.Kubeconfig())...)
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	line, err := bufio.NewReader(stdout).ReadString('\n')
	port := forwardedPort.FindStringSubmatch(line)
	if err != nil || port == nil {
		t.Fatalf("%s printed %q, %v", strings.Join(args, " "), line, err)
	}
	if body, err := get(t.Context(), "http://"+port[1]); err != nil || body != want {
		t.Errorf("the page is %q, %v", body, err)
	}
}

// requireClean fails the test unless the cluster is as without the API: discovery is complete, and namespaces can
// be deleted.
func requireClean(t *testing.T) {
	t.Helper()
	if _, stderr, err := framework.Cluster.Kubectl(t.Context(), "api-resources", "--cached=false"); err != nil ||
		len(complaints(stderr)) > 0 {
		t.Errorf("kubectl api-resources: %v: %s", err, stderr)
	}
	if left := framework.Kubectl(t, "get", "apiservices", "-o", "name"); strings.Contains(left,
		"mycontroller.nevermosby.io") {
		t.Errorf("APIServices are left: %s", left)
	}
	const name = "after-removal"
	framework.Kubectl(t, "create", "namespace", name)
	framework.Kubectl(t, "delete", "namespace", name, kubectlTimeout)
	framework.WaitFor(t, "the namespace is deleted", func(ctx context.Context) error {
		_, stderr, err := framework.Cluster.Kubectl(ctx, "get", "namespace", name)
		if err == nil || !strings.Contains(stderr, "NotFound") {
			return fmt.Errorf("it is still there: %w", err)
		}
		return nil
	})
}
