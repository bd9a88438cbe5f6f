package install

import (
	"context"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/kubesites/website-apiserver/test/framework"
)

// snapshots is the directory of the snapshots in the volume of website-apiserver.
const snapshots = "/var/lib/website-apiserver/etcd/snapshots"

// storeCommand returns a command on the store in the pod of website-apiserver.
func storeCommand(args ...string) []string {
	command := []string{"exec", "--stdin", "--namespace=" + systemNamespace, "website-apiserver-0", "--",
		"/website-apiserver", "store"}
	return append(append(command, args...), "--data-dir=/var/lib/website-apiserver/etcd")
}

// testBackup restores an export and a snapshot with the means of an installation: images without
// a shell.
func testBackup(t *testing.T, sites string, names ...string) {
	before := children(t, sites)
	export := framework.Kubectl(t, storeCommand("export")...)
	if said := framework.KubectlWith(t, framework.Stdin(export), storeCommand("import", "-")...); !strings.Contains(said,
		"imported: 0 Websites, ") {
		t.Errorf("an import of existing Websites said: %s", said)
	}
	framework.Kubectl(t, storeCommand("snapshot", snapshots)...)
	framework.Kubectl(t, "scale", "--namespace="+systemNamespace, "statefulset/website-apiserver", "--replicas=0")
	framework.Kubectl(t, "wait", "--namespace="+systemNamespace, kubectlTimeout, "--for=delete", "pod/website-apiserver-0")

	said := runRestore(t, snapshots, "Failed")
	found := regexp.MustCompile(`name one of them: ([^,\s]+)`).FindStringSubmatch(said)
	if found == nil {
		t.Fatalf("the command does not name the snapshots: %s", said)
	}
	runRestore(t, snapshots+"/"+found[1], "Succeeded")

	framework.Kubectl(t, "scale", "--namespace="+systemNamespace, "statefulset/website-apiserver", "--replicas=1")
	framework.WaitFor(t, "the restored store is accepted", func(ctx context.Context) error {
		_, _, err := framework.Cluster.Kubectl(ctx, storeCommand("accept")...)
		return err
	})
	waitServed(t)
	for _, name := range names {
		framework.WaitReady(t, sites, name)
		waitPage(t, sites, name)
	}
	requireSame(t, sites, before)
}

// runRestore runs the pod of the example until it reaches a phase, and returns its log.
func runRestore(t *testing.T, snapshot, phase string) string {
	t.Helper()
	manifest, err := os.ReadFile(framework.Path("artifacts", "examples", "backup", "restore.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	edited := strings.Replace(string(manifest), "- "+snapshots+"\n", "- "+snapshot+"\n", 1)
	framework.KubectlWith(t, framework.Stdin(edited), "apply", "-f", "-")
	framework.Kubectl(t, "wait", "--namespace="+systemNamespace, kubectlTimeout, "--for=jsonpath={.status.phase}="+phase,
		"pod/website-store-restore")
	said := framework.Kubectl(t, "logs", "--namespace="+systemNamespace, "website-store-restore")
	framework.Kubectl(t, "delete", "--namespace="+systemNamespace, "pod/website-store-restore")
	return said
}
