package store

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/kubesites/website-apiserver/hack/devcluster"
	"github.com/kubesites/website-apiserver/pkg/apiserver/embeddedetcd"
	"github.com/kubesites/website-apiserver/test/framework"
)

// later is a number of Websites. A snapshot lacks those from all on.
const later = all + 5

// etcdOfADrill is the etcd of a cluster, which loses its data.
type etcdOfADrill struct {
	*environment
	// stop and start stop and start etcd, together with the server if it is embedded.
	stop, start func()
	// dataDir is etcd's data directory.
	dataDir string
	// restoreFlags are the flags of "store restore".
	restoreFlags []string
}

// TestBackupOfTheEmbeddedEtcd restores a snapshot, an export and the snapshot of another cluster,
// with running informers and load.
func TestBackupOfTheEmbeddedEtcd(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, devcluster.Options{})
	server := e.Process("website-apiserver")
	d := etcdOfADrill{
		environment: e,
		stop:        func() { t.Helper(); mustStop(t, server) },
		start:       func() { t.Helper(); mustStart(t, server) },
		dataDir:     filepath.Join(e.WebsiteDataDir(), "etcd", "data"),
	}
	d.createAndReconcile(t, 0, all)
	t.Run("scheduled", func(t *testing.T) {
		// The first snapshot is due at the start of the server.
		framework.WaitFor(t, "the server has taken a snapshot", func(context.Context) error {
			found, err := filepath.Glob(filepath.Join(e.WebsiteDataDir(), "snapshots", "*.db"))
			if err == nil && len(found) != 1 {
				err = fmt.Errorf("%d snapshots", len(found))
			}
			return err
		})
		d.mustHaveMetric(t, "website_apiserver_embedded_etcd_snapshots_total{result=\"success\"} 1",
			"website_apiserver_embedded_etcd_snapshot_last_failed 0")
	})
	t.Run("restore", d.restore)
	t.Run("import", d.importExport)
	t.Run("a snapshot of another cluster", func(t *testing.T) {
		snapshot := foreignSnapshot(t, e)
		children := e.mustHaveChildren(t)
		d.stop()
		right := replaceDirectory(t, d.dataDir)
		d.mustRun(t, "restore", snapshot)
		d.start()
		e.closed(t, server, e.WebsiteAPIServerURL(), "StoreForeign", 0)
		e.unharmed(t, children)
		d.stop()
		right()
		d.start()
		e.opens(t, all)
		e.unharmed(t, children)
	})
}

// backUpExternal does the same without a restart of the server.
func (e *environment) backUpExternal(t *testing.T) {
	etcd := e.Process("website-etcd")
	d := etcdOfADrill{
		environment: e,
		stop: func() {
			t.Helper()
			// On SIGTERM, etcd would wait for the watches of its clients.
			if err := etcd.Kill(t.Context()); err != nil {
				t.Fatal(err)
			}
		},
		start:        func() { t.Helper(); mustStart(t, etcd) },
		dataDir:      e.WebsiteEtcdDataDir(),
		restoreFlags: []string{"--output-dir=" + e.WebsiteEtcdDataDir()},
	}
	for _, arg := range etcd.Args()[1:] {
		if strings.HasPrefix(arg, "--name=") || strings.HasPrefix(arg, "--initial-") {
			d.restoreFlags = append(d.restoreFlags, arg)
		}
	}
	t.Run("the example of a CronJob", d.runCronJob)
	t.Run("restore", d.restore)
	t.Run("import", d.importExport)
}

// mustRun runs a command on the store, and returns its output.
func (d *etcdOfADrill) mustRun(t *testing.T, args ...string) string {
	t.Helper()
	output, err := d.offlineStoreCommand(t.Context(), d.Process("website-apiserver"), args...)
	if err != nil {
		t.Fatalf("store %s: %v: %s", strings.Join(args, " "), err, output)
	}
	t.Logf("website-apiserver store %s\n%s", strings.Join(args, " "), output)
	return output
}

// runCronJob validates the examples at kube-apiserver, and runs the command of the CronJob twice
// with the etcd of this cluster.
func (d *etcdOfADrill) runCronJob(t *testing.T) {
	restore, err := os.ReadFile(framework.Path("artifacts", "examples", "backup", "restore-member.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, member := range []string{"-0", "-1", "-2"} {
		pod := strings.ReplaceAll(string(restore), "-N", member)
		if _, stderr, err := d.KubectlWith(t.Context(), devcluster.KubectlOptions{Stdin: strings.NewReader(pod)}, "apply",
			"--dry-run=server", "--validate=strict", "-f", "-"); err != nil || stderr != "" {
			t.Errorf("kubectl apply of the pod that restores member %s: %v: %s", member, err, stderr)
		}
	}
	manifest := framework.Path("artifacts", "components", "snapshots-etcd", "cronjob.yaml")
	if _, stderr, err := d.Kubectl(t.Context(), "apply", "--dry-run=server", "--validate=strict", "-f",
		manifest); err != nil || stderr != "" {
		t.Errorf("kubectl apply: %v: %s", err, stderr)
	}
	content, err := os.ReadFile(manifest)
	if err != nil {
		t.Fatal(err)
	}
	var job batchv1.CronJob
	if err := yaml.UnmarshalStrict(content, &job); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var args []string
	for _, arg := range job.Spec.JobTemplate.Spec.Template.Spec.Containers[0].Args[1:] {
		if !strings.HasPrefix(arg, "--etcd-") {
			args = append(args, strings.ReplaceAll(arg, "/backup", dir))
		}
	}
	for range 2 {
		d.mustRun(t, args...)
	}
	if found, err := filepath.Glob(filepath.Join(dir, "*.db")); err != nil || len(found) != 2 {
		t.Errorf("the directory has %v, %v, want two snapshots", found, err)
	}
}

// mustHaveMetric fails the test unless the metrics of the server have these lines.
func (d *etcdOfADrill) mustHaveMetric(t *testing.T, lines ...string) {
	t.Helper()
	config := *d.config
	config.Host = d.WebsiteAPIServerURL()
	client, err := rest.HTTPClientFor(&config)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Get(config.Host + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	metrics, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range lines {
		if !strings.Contains(string(metrics), line+"\n") {
			t.Errorf("the metrics lack %s", line)
		}
	}
}

// lose removes the data of etcd.
func (d *etcdOfADrill) lose(t *testing.T) {
	t.Helper()
	if err := os.RemoveAll(d.dataDir); err != nil {
		t.Fatal(err)
	}
}

// accept makes the servers accept their current store.
func (d *etcdOfADrill) accept(t *testing.T) {
	t.Helper()
	output, err := d.storeCommand(t.Context(), d.Process("website-apiserver"), "accept")
	if err != nil {
		t.Fatalf("\"store accept\" failed: %v: %s", err, output)
	}
	t.Logf("website-apiserver store accept\n%s", output)
}

// restore restores a snapshot that was taken under load.
func (d *etcdOfADrill) restore(t *testing.T) {
	server, url := d.Process("website-apiserver"), d.WebsiteAPIServerURL()
	client := d.websites.WebsiteV1beta1().Websites(namespace)
	informers := d.inform(t)
	endLoad := d.load(t)
	snapshot := filepath.Join(t.TempDir(), "snapshot.db")
	if output := d.mustRun(t, "snapshot", snapshot); !strings.Contains(output, fmt.Sprintf("%d Websites", all)) {
		t.Errorf("\"store snapshot\" printed %s, want %d Websites", output, all)
	}
	d.createAndReconcile(t, all, later)
	// The snapshot still has this Website.
	const deleted = 1
	if err := client.Delete(t.Context(), websiteName(deleted), metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	framework.WaitFor(t, "the children of the deleted Website are deleted", func(ctx context.Context) error {
		children, err := d.children(ctx)
		if err == nil && len(children) != (later-1)*childrenOfEach {
			err = fmt.Errorf("%d children", len(children))
		}
		return err
	})
	endLoad()
	children := d.mustHaveChildren(t)
	last, err := client.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}

	d.stop()
	d.lose(t)
	d.mustRun(t, append([]string{"restore", snapshot}, d.restoreFlags...)...)
	d.start()
	d.closed(t, server, url, "StoreOutdated", closedTime)
	d.unharmed(t, children)
	output, _ := d.storeCommand(t.Context(), server, "check")
	if want := fmt.Sprintf("%d, of which %d by Websites that this store does not have", len(children),
		(later-all)*childrenOfEach); !strings.Contains(output, want) {
		t.Errorf("\"store check\" printed %s, want %q", output, want)
	}
	d.accept(t)
	d.opens(t, all)

	// The operator has accepted their deletion.
	maps.DeleteFunc(children, func(_ types.UID, c child) bool { return c.index(t) >= all })
	framework.WaitFor(t, "only the restored Websites have children", func(ctx context.Context) error {
		got, err := d.children(ctx)
		if err != nil {
			return err
		}
		for uid, c := range children {
			if _, ok := got[uid]; !ok {
				t.Fatalf("%s %s of Website %s was deleted", c.resource, c.name, c.website)
			}
		}
		for _, c := range got {
			// Their number alone could be right before the restored Website has its children.
			if c.index(t) >= all {
				return fmt.Errorf("%s %s of Website %s is still there", c.resource, c.name, c.website)
			}
		}
		if len(got) != all*childrenOfEach {
			return fmt.Errorf("%d children", len(got))
		}
		return nil
	})
	for _, i := range informers {
		i.mustMatch(t)
		for n := all; n < later; n++ {
			if !i.isDeleted(websiteName(n)) {
				t.Errorf("%s: Website %s is gone, and was not seen being deleted", i.name, websiteName(n))
			}
		}
	}
	mustExpire(t, d.environment, last.ResourceVersion)
	mustExpire(t, d.environment, "9000000000000000000")
}

// mustExpire watches from a revision of another store.
func mustExpire(t *testing.T, e *environment, resourceVersion string) {
	t.Helper()
	w, err := e.websites.WebsiteV1beta1().Websites(namespace).Watch(t.Context(),
		metav1.ListOptions{ResourceVersion: resourceVersion})
	if err == nil {
		defer w.Stop()
		select {
		case event := <-w.ResultChan():
			err = apierrors.FromObject(event.Object)
		case <-time.After(openTimeout):
		}
	}
	if !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) {
		t.Errorf("a watch from resource version %s got %v, want 410", resourceVersion, err)
	}
}

// importExport imports all Websites into an empty store.
func (d *etcdOfADrill) importExport(t *testing.T) {
	server, url := d.Process("website-apiserver"), d.WebsiteAPIServerURL()
	client := d.websites.WebsiteV1beta1().Websites(namespace)
	export := filepath.Join(t.TempDir(), "websites.yaml")
	d.mustRun(t, "export", export)
	informers := d.inform(t)
	children, versions, before := d.mustHaveChildren(t), d.versions(t), d.uids(t)

	d.stop()
	d.lose(t)
	d.start()
	d.closed(t, server, url, "StoreEmpty", 0)
	d.mustRun(t, "import", export)
	d.closed(t, server, url, "StoreForeign", 0)
	d.unharmed(t, children)
	if output, _ := d.storeCommand(t.Context(), server, "check"); !strings.Contains(output,
		"of which 0 by Websites that this store does not have") {
		t.Errorf("\"store check\" printed %s, want that nothing is deleted", output)
	}
	d.accept(t)
	d.opens(t, all)
	for _, i := range informers {
		i.mustMatch(t)
	}
	if after := d.uids(t); !maps.Equal(before, after) {
		t.Errorf("the UIDs are %v, want %v", after, before)
	}
	// The controller has reconciled all Websites once this one has its children.
	d.createAndReconcile(t, all, all+1)
	if err := client.Delete(t.Context(), websiteName(all), metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	d.haveChildren(t, children)
	after := d.versions(t)
	for uid, version := range versions {
		if after[uid] != version {
			t.Errorf("%s %s of Website %s was written", children[uid].resource, children[uid].name, children[uid].website)
		}
	}
}

// versions returns the resource versions of all children.
func (e *environment) versions(t *testing.T) map[types.UID]string {
	t.Helper()
	versions := map[types.UID]string{}
	for _, resource := range childResources {
		list, err := e.metadata.Resource(resource).Namespace(namespace).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range list.Items {
			if metav1.GetControllerOf(&item) != nil {
				versions[item.UID] = item.ResourceVersion
			}
		}
	}
	return versions
}

// uids returns the UIDs of all Websites.
func (e *environment) uids(t *testing.T) map[string]types.UID {
	t.Helper()
	list, err := e.websites.WebsiteV1beta1().Websites(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	uids := map[string]types.UID{}
	for _, w := range list.Items {
		uids[w.Name] = w.UID
	}
	return uids
}

// foreignSnapshot returns a snapshot of the store of another cluster.
func foreignSnapshot(t *testing.T, e *environment) string {
	t.Helper()
	dataDir, err := os.MkdirTemp("/tmp", "websites-") // The path is short, as it contains a Unix socket.
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dataDir) })
	etcd, err := embeddedetcd.Start(t.Context(), embeddedetcd.Config{DataDir: dataDir})
	if err != nil {
		t.Fatal(err)
	}
	defer etcd.Close() //nolint:errcheck // The snapshot is complete by then.
	endpoint, err := embeddedetcd.Endpoint(dataDir)
	if err != nil {
		t.Fatal(err)
	}
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{endpoint}})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close() //nolint:errcheck // All responses have arrived by then.
	if _, err := client.Put(t.Context(), "/registry/website-apiserver/store",
		`{"identity":"theirs","nonce":"theirs"}`); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "foreign.db")
	program := e.Process("website-apiserver").Args()[0]
	if output, err := exec.CommandContext(t.Context(), program, "store", "snapshot", path, "--data-dir="+dataDir).
		CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	return path
}
