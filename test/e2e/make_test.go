package e2e

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/kubesites/website-apiserver/test/framework"
)

var printedURL = regexp.MustCompile(`Page of the example: (https?://\S+/)`)

// TestMakeUp takes a newcomer's steps. "make up" has started the cluster of all tests; TestMain checks the
// machine after "make down". The test is not parallel: "make up" restarts every component.
func TestMakeUp(t *testing.T) {
	framework.RequireCluster(t)
	if framework.Joined() {
		t.Skip("the cluster is of another command: leave out -cluster")
	}
	page := checkExample(t)
	// Without differences now, the check after "make down" would prove nothing.
	different, err := hostBefore.differences()
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"processes", "interfaces", "routes", "cgroups"} {
		if len(different[kind]) == 0 {
			t.Errorf("a cluster runs, and there are no new %s: %v", kind, different)
		}
	}

	dir := framework.Cluster.Dir()
	kubelet, err := recordedPID(dir, "kubelet")
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(kubelet, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	framework.WaitFor(t, "the kubelet has ended", func(context.Context) error {
		if framework.Cluster.Process("kubelet").Running() {
			return fmt.Errorf("pid %d runs", kubelet)
		}
		return nil
	})
	if err := framework.MakeUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := hostBefore.cluster(dir); err != nil {
		t.Fatal(err)
	}
	if output := framework.MakeUpOutput; !strings.Contains(output, "kubelet: not running") {
		t.Errorf("make up did not notice that the kubelet had ended:\n%s", output)
	}
	if again := checkExample(t); again != page {
		t.Errorf("the example has moved from %s to %s", page, again)
	}
	framework.WaitFor(t, "kubectl exec, which takes a kubelet, works", func(ctx context.Context) error {
		stdout, stderr, err := framework.Cluster.Kubectl(ctx, "exec", "deployment/example-website", "--container=nginx",
			"--", "nginx", "-v")
		if err != nil || !strings.Contains(stdout+stderr, "nginx version") {
			return fmt.Errorf("%w: %s%s", err, stdout, stderr)
		}
		return nil
	})
	if _, err := os.Lstat(filepath.Join(dir, "bin", "kubectl")); err != nil {
		t.Errorf("there is no kubectl for users: %v", err)
	}
}

// checkExample opens the page at the URL that make up has printed.
func checkExample(t *testing.T) (url string) {
	t.Helper()
	printed := printedURL.FindStringSubmatch(framework.MakeUpOutput)
	if printed == nil {
		t.Fatalf("make up printed no URL:\n%s", framework.MakeUpOutput)
	}
	want, err := os.ReadFile(framework.Path("artifacts", "examples", "site", "index.html"))
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{DisableKeepAlives: true}
	if err := framework.Cluster.ThroughGateway(transport); err != nil {
		t.Fatal(err)
	}
	// A printed URL must be served at once.
	if page := get(t.Context(), &http.Client{Transport: transport}, printed[1]); page.status != http.StatusOK ||
		page.body != string(want) {
		t.Errorf("%s is %v, want the example's page", printed[1], page)
	}
	return printed[1]
}
