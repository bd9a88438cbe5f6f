package e2e

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kubesites/website-apiserver/test/framework"
)

// makeTimeout is for one run of make; Kubernetes and images are built by then.
const makeTimeout = 10 * time.Minute

var printedURL = regexp.MustCompile(`Page of the example: (http://\S+/)`)

// TestMakeUpAndDown is what a newcomer does. It is not parallel: it looks at
// the whole machine before and after.
func TestMakeUpAndDown(t *testing.T) {
	framework.RequireCluster(t)
	if _, err := exec.LookPath("make"); err != nil {
		t.Skipf("no make: install it from your system's packages: %v", err)
	}
	before, err := observeHost()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "cluster")
	arguments := []string{"CLUSTER_DIR=" + dir, "BASE_PORT=" + strconv.Itoa(freePorts(t, 12))}
	down := func(ctx context.Context) string { return runMake(ctx, t, "down", arguments...) }
	t.Cleanup(func() { down(context.Background()) })

	output := runMake(t.Context(), t, "up", arguments...)
	page := checkExample(t, output)
	if err := before.cluster(dir); err != nil {
		t.Fatal(err)
	}
	// Otherwise nothing would be seen of what is left behind, either.
	different, err := before.differences()
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"processes", "interfaces", "routes", "cgroups"} {
		if len(different[kind]) == 0 {
			t.Errorf("a cluster runs, and there are no new %s: %v", kind, different)
		}
	}

	// What has crashed is there again after another "make up", and the rest stays.
	kubelet, err := recordedPID(dir, "kubelet")
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(kubelet, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	output = runMake(t.Context(), t, "up", arguments...)
	if !strings.Contains(output, "kubelet: has ended since the last run") {
		t.Errorf("make up did not notice that the kubelet had ended:\n%s", output)
	}
	if again := checkExample(t, output); again != page {
		t.Errorf("the example has moved from %s to %s", page, again)
	}
	framework.WaitFor(t, "kubectl exec, which takes a kubelet, works", func(ctx context.Context) error {
		cmd := exec.CommandContext(ctx, filepath.Join(dir, "bin", "kubectl"), "--kubeconfig="+filepath.Join(dir, "kubeconfig"),
			"exec", "deployment/example-website", "--container=nginx", "--", "nginx", "-v")
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "nginx version") {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	})

	output = down(t.Context())
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("%s is still there (%v)", dir, err)
	}
	if err := before.restored(t.Context()); err != nil {
		t.Errorf("make down has left something behind: %v\n%s", err, output)
	}
	if again := down(t.Context()); !strings.Contains(again, "nothing to stop") {
		t.Errorf("a second make down printed %q", again)
	}
}

// checkExample opens the page that make up has printed the URL of.
func checkExample(t *testing.T, output string) (url string) {
	t.Helper()
	printed := printedURL.FindStringSubmatch(output)
	if printed == nil {
		t.Fatalf("make up printed no URL:\n%s", output)
	}
	want, err := os.ReadFile(framework.Path("artifacts", "examples", "site", "index.html"))
	if err != nil {
		t.Fatal(err)
	}
	// At once, not at some time: that is what printing it promises.
	if page := get(t.Context(), visitor, printed[1]); page.status != http.StatusOK || page.body != string(want) {
		t.Errorf("%s is %v, want the example's page", printed[1], page)
	}
	return printed[1]
}

// runMake runs a target of the Makefile with its defaults and these arguments.
func runMake(ctx context.Context, t *testing.T, target string, arguments ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, makeTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "make", append([]string{"--no-print-directory", target}, arguments...)...)
	cmd.Dir = framework.Path()
	// Variables of the caller, who may run these tests by make too.
	cmd.Env = slices.DeleteFunc(os.Environ(), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return slices.Contains([]string{"NODE", "IMAGES", "UP_FLAGS", "MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES"}, name)
	})
	// It gets the chance to say where it was.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 30 * time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("make %s: %v\n%s", target, err, out)
	}
	return string(out)
}

// freePorts finds consecutive ports that are free, below those from
// which the clusters of other tests choose theirs.
func freePorts(t *testing.T, count int) int {
	t.Helper()
	for base := 17443; base < 19943; base += 100 {
		if portsFree(t, base, count) == nil {
			return base
		}
	}
	t.Fatalf("no %d consecutive ports are free", count)
	return 0
}

func portsFree(t *testing.T, base, count int) error {
	t.Helper()
	for port := base; port < base+count; port++ {
		var config net.ListenConfig
		listener, err := config.Listen(t.Context(), "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			return fmt.Errorf("port %d: %w", port, err)
		}
		if err := listener.Close(); err != nil {
			return err
		}
	}
	return nil
}
