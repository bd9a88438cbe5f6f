package app

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/component-base/cli"

	"github.com/kubesites/website-apiserver/pkg/apiserver/embeddedetcd"
	"github.com/kubesites/website-apiserver/pkg/apiserver/store"
)

// newStore starts an empty etcd, and returns its data directory and a client.
func newStore(t *testing.T) (string, *clientv3.Client) {
	t.Helper()
	dataDir, err := os.MkdirTemp("/tmp", "backup-") // The path is short, as it contains a Unix socket.
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dataDir) })
	return dataDir, startStore(t, dataDir)
}

// startStore starts an etcd with its data in dataDir, and returns a client.
func startStore(t *testing.T, dataDir string) *clientv3.Client {
	t.Helper()
	etcd, err := embeddedetcd.Start(t.Context(), embeddedetcd.Config{DataDir: dataDir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := etcd.Close(); err != nil {
			t.Error(err)
		}
	})
	endpoint, err := embeddedetcd.Endpoint(dataDir)
	if err != nil {
		t.Fatal(err)
	}
	client, err := store.NewClient(storagebackend.TransportConfig{}, endpoint)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// asCommand makes the test binary run as the command.
const asCommand = "TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) == "" {
		os.Exit(m.Run())
	}
	cmd, err := NewCommand()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	cmd.SetContext(genericapiserver.SetupSignalContext())
	os.Exit(cli.Run(cmd))
}

// run runs a command with the standard input, and returns its output. The error
// contains its standard error. The command is a process of its own, as commands
// configure the log of the process.
func run(ctx context.Context, stdin io.Reader, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, os.Args[0], append([]string{"store"}, args...)...)
	cmd.Env = append(os.Environ(), asCommand+"=yes")
	cmd.Stdin = stdin
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	var out, failure bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &failure
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("%w: %s", err, failure.String())
	}
	return out.String(), nil
}

func mustRun(t *testing.T, args ...string) string {
	t.Helper()
	out, err := run(t.Context(), nil, args...)
	if err != nil {
		t.Fatalf("store %s: %v", strings.Join(args, " "), err)
	}
	return out
}

// fails runs a command that must fail, with an error that contains all of want.
func fails(t *testing.T, args []string, want ...string) {
	t.Helper()
	_, err := run(t.Context(), nil, args...)
	if err == nil {
		t.Errorf("store %s succeeded, want an error", strings.Join(args, " "))
		return
	}
	for _, want := range want {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("store %s: %v, want %q", strings.Join(args, " "), err, want)
		}
	}
}

// document returns a Website with all fields that an export keeps.
func document(name, uid string) string {
	return fmt.Sprintf(`---
apiVersion: mycontroller.nevermosby.io/v1beta1
kind: Website
metadata:
  name: "%[1]s"
  namespace: default
  uid: %[2]s
  generation: 7
  creationTimestamp: "2025-01-02T03:04:05Z"
  deletionTimestamp: "2025-02-02T03:04:05Z"
  deletionGracePeriodSeconds: 0
  finalizers: [example.com/keep]
  managedFields:
  - {apiVersion: mycontroller.nevermosby.io/v1beta1, fieldsType: FieldsV1, fieldsV1: {"f:spec": {"f:replicas": {}}},
    manager: kubectl, operation: Apply, time: "2025-01-02T03:04:05Z"}
spec:
  deploymentName: "%[1]s"
  replicas: 3
  source: {git: {repository: "https://example.com/site.git"}}
status: {observedGeneration: 7, replicas: 3, commit: "%[3]s"}
`, name, uid, strings.Repeat("a", 40))
}

// documents returns Websites a, b, ... z, za, zb, ... with UIDs uid-a, uid-b, ...
func documents(count int) string {
	var all strings.Builder
	for i := range count {
		name := strings.Repeat("z", i/26) + string(rune('a'+i%26))
		all.WriteString(document(name, "uid-"+name))
	}
	fmt.Fprintf(&all, "# end: %d Websites\n", count)
	return all.String()
}

func writeFile(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// body returns an export without its first and last line, which depend on the store.
func body(t *testing.T, export string) string {
	t.Helper()
	begin, end := strings.Index(export, "---\n"), strings.LastIndex(export, "# end: ")
	if begin < 0 || end < 0 {
		t.Fatalf("not an export: %s", export)
	}
	return export[begin:end]
}

func exportFile(t *testing.T, flags ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "export")
	mustRun(t, append([]string{"export", path}, flags...)...)
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// TestExportAndImport moves Websites from one store to another.
func TestExportAndImport(t *testing.T) {
	first, _ := newStore(t)
	mustRun(t, "import", writeFile(t, documents(4)), "--data-dir="+first)
	export := exportFile(t, "--data-dir="+first)
	for _, kept := range []string{"uid: uid-c", "generation: 7", "creationTimestamp: \"2025-01-02T03:04:05Z\"",
		"deletionTimestamp:", "example.com/keep", "manager: kubectl", "f:replicas: {}", "observedGeneration: 7",
		"commit: aaaa"} {
		if !strings.Contains(export, kept) {
			t.Errorf("the export lacks %s:\n%s", kept, export)
		}
	}
	if strings.Contains(export, "resourceVersion") {
		t.Error("the export has resource versions")
	}

	second, client := newStore(t)
	if out := mustRun(t, "import", writeFile(t, export), "--data-dir="+second); !strings.Contains(out,
		"imported: 4 Websites, 0 were there before") {
		t.Errorf("the import printed %s", out)
	}
	if again := exportFile(t, "--data-dir="+second); body(t, again) != body(t, export) {
		t.Errorf("the export of the second store is\n%s\nwant\n%s", body(t, again), body(t, export))
	}
	// Clients with a revision of the first store list again.
	if response := <-client.Watch(t.Context(), "/registry", clientv3.WithPrefix(),
		clientv3.WithRev(2)); response.CompactRevision == 0 {
		t.Errorf("a watch from an earlier revision got %v, want that it was compacted", response)
	}

	// The import is repeated, from the standard input, which cannot be read twice.
	out, err := run(t.Context(), io.MultiReader(strings.NewReader(export)), "import", "-", "--data-dir="+second)
	if err != nil || !strings.Contains(out, "imported: 0 Websites, 4 were there before") {
		t.Errorf("the repeated import printed %s, %v", out, err)
	}
	// To the standard output.
	out, err = run(t.Context(), nil, "export", "--data-dir="+second)
	if err != nil || !strings.Contains(out, body(t, export)) {
		t.Errorf("the export printed %s, %v", out, err)
	}
}

// TestImportRejects: a rejected import writes nothing.
func TestImportRejects(t *testing.T) {
	dataDir, client := newStore(t)
	mustRun(t, "import", writeFile(t, documents(1)), "--data-dir="+dataDir)
	export := exportFile(t, "--data-dir="+dataDir)
	valid := documents(3)
	tests := map[string]struct {
		content string
		want    []string
	}{
		"truncated between Websites": {valid[:strings.LastIndex(valid, "---\n")], []string{"is truncated"}},
		"truncated in a Website":     {valid[:len(valid)-150], []string{"is truncated"}},
		"empty":                      {"", []string{"is truncated"}},
		"a Website less": {strings.Replace(valid, document("b", "uid-b"), "", 1),
			[]string{"has 2 Websites, and according to its last line 3"}},
		"damaged": {strings.Replace(export, "replicas: 3", "replicas: 7", 1),
			[]string{"is damaged, or was edited"}},
		"two exports": {valid + valid, []string{"continues after its end"}},
		"no YAML":     {"{\n# end: 1 Websites\n", []string{"line 1", "reading YAML"}},
		"an unknown field": {strings.Replace(valid, "  replicas: 3", "  replica: 3", 1),
			[]string{"line 2", "unknown field \"spec.replica\""}},
		"another kind": {"apiVersion: v1\nkind: Status\n# end: 1 Websites\n", []string{"want a Website"}},
		"another UID, and another spec": {strings.Replace(document("a", "uid-x")+document("b", "uid-b")+"# end: 2 Websites\n",
			"replicas: 3", "replicas: 4", 1), []string{"Website default/a exists with another uid, uid-a"}},
		"another spec": {strings.Replace(documents(2), "replicas: 3", "replicas: 4", 1),
			[]string{"Website default/a exists with another spec"}},
		"no UID": {strings.Replace(valid, "  uid: uid-b\n", "", 1), []string{"default/b has no uid"}},
		"one UID twice": {strings.Replace(valid, "uid-b", "uid-c", 1),
			[]string{"Website default/c is in the file twice"}},
		"two invalid ones": {strings.ReplaceAll(valid, "https://example.com/site.git", "--upload-pack=evil"),
			[]string{"4 problems", "default/a is invalid", "default/b is invalid", "spec.source.git.repository"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			fails(t, []string{"import", writeFile(t, test.content), "--data-dir=" + dataDir}, test.want...)
			got, err := client.Get(t.Context(), "/registry/", clientv3.WithPrefix(), clientv3.WithKeysOnly())
			if err != nil {
				t.Fatal(err)
			}
			if len(got.Kvs) != 1 {
				t.Errorf("the store has %v", got.Kvs)
			}
		})
	}
	t.Run("invalid ones on request", func(t *testing.T) {
		earlier := strings.ReplaceAll(valid[strings.Index(valid, document("b", "uid-b")):], "https://example.com/site.git",
			"--upload-pack=evil")
		earlier = strings.Replace(earlier, "3 Websites", "2 Websites", 1)
		if out := mustRun(t, "import", writeFile(t, earlier), "--data-dir="+dataDir, "--keep-invalid"); !strings.Contains(out,
			"imported: 2 Websites") {
			t.Errorf("printed %s", out)
		}
	})
}

// encryption returns the flag of a configuration that writes with a key.
func encryption(t *testing.T, key string) string {
	t.Helper()
	return "--encryption-provider-config=" + writeFile(t, fmt.Sprintf(`
apiVersion: apiserver.config.k8s.io/v1
kind: EncryptionConfiguration
resources:
  - resources: [websites.mycontroller.nevermosby.io]
    providers:
      - aesgcm: {keys: [{name: %s, secret: %s}]}
`, key, base64.StdEncoding.EncodeToString([]byte(strings.Repeat(key, 32)))))
}

// TestExportAndImportEncrypted imports with another key than the export's store has.
func TestExportAndImportEncrypted(t *testing.T) {
	dataDir, client := newStore(t)
	right, wrong := encryption(t, "a"), encryption(t, "b")
	mustRun(t, "import", writeFile(t, documents(2)), "--data-dir="+dataDir, right)
	got, err := client.Get(t.Context(), "/registry/mycontroller.nevermosby.io/websites/default/a")
	if err != nil || len(got.Kvs) != 1 || !bytes.HasPrefix(got.Kvs[0].Value, []byte("k8s:enc:aesgcm:v1:a:")) {
		t.Fatalf("the imported Website is stored as %v, %v", got, err)
	}
	for _, flags := range [][]string{{wrong}, nil} {
		path := filepath.Join(t.TempDir(), "export")
		fails(t, append([]string{"export", path, "--data-dir=" + dataDir}, flags...),
			"/registry/mycontroller.nevermosby.io/websites/default/a")
		if entries, _ := os.ReadDir(filepath.Dir(path)); len(entries) > 0 {
			t.Errorf("the failed export left %v", entries)
		}
		fails(t, append([]string{"import", writeFile(t, documents(3)), "--data-dir=" + dataDir}, flags...),
			"reading the Website default/a")
	}
	other, _ := newStore(t)
	export := exportFile(t, "--data-dir="+dataDir, right)
	mustRun(t, "import", writeFile(t, export), "--data-dir="+other, wrong)
	if again := exportFile(t, "--data-dir="+other, wrong); body(t, again) != body(t, export) {
		t.Errorf("the store with another key has\n%s\nwant\n%s", body(t, again), body(t, export))
	}
}

// TestSnapshotAndRestoreCommands takes snapshots of one store, and restores one.
func TestSnapshotAndRestoreCommands(t *testing.T) {
	dataDir, client := newStore(t)
	mustRun(t, "import", writeFile(t, documents(4)), "--data-dir="+dataDir)
	if _, err := client.Put(t.Context(), store.RecordKey("/registry"), `{"identity":"ours","nonce":"last"}`); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var saved []string
	for range 3 {
		out := mustRun(t, "snapshot", dir, "--keep=2", "--data-dir="+dataDir)
		match := regexp.MustCompile(`(?m)^saved: (.*/ours-\d{8}T\d{6}\.\d{3}Z\.db)\nstore: ours, 4 Websites at ` +
			`revision \d+$`).FindStringSubmatch(out)
		if match == nil {
			t.Fatalf("printed %s", out)
		}
		saved = append(saved, match[1])
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 || filepath.Join(dir, entries[1].Name()) != saved[2] {
		t.Errorf("the directory has %v, %v, want the last two of %v", entries, err, saved)
	}
	fails(t, []string{"snapshot", saved[2], "--data-dir=" + dataDir}, "is not overwritten")
	fails(t, []string{"restore", saved[2], "--data-dir=" + dataDir}, "in use by another process")
	fails(t, []string{"restore", saved[2], "--etcd-servers=https://127.0.0.1:1"}, "--output-dir")
	restored := t.TempDir()
	if out := mustRun(t, "restore", saved[2], "--data-dir="+restored); !strings.Contains(out, "store: ours, 4 Websites") ||
		!strings.Contains(out, "store accept") {
		t.Errorf("printed %s", out)
	}
	fails(t, []string{"restore", saved[2], "--data-dir=" + restored}, "is not empty")
	fails(t, []string{"restore", dir, "--data-dir=" + t.TempDir()},
		"a directory with 2 snapshots, name one of them: "+filepath.Base(saved[2]))
	mustRun(t, "restore", saved[2], "--data-dir="+restored, "--rename-existing=data.old")
	for args, want := range map[string]string{"--rename-existing=data.old": "data.old exists",
		"--rename-existing=../data": "not a file name"} {
		fails(t, []string{"restore", saved[2], "--data-dir=" + restored, args}, want)
	}
	fails(t, []string{"restore", filepath.Join(dir, "missing.db"), "--data-dir=" + restored,
		"--rename-existing=data.older"}, "no such file")
	for name, want := range map[string]bool{"data": true, "data.old": true, "data.older": false} {
		if _, err := os.Stat(filepath.Join(restored, "etcd", name)); (err == nil) != want {
			t.Errorf("%s exists: %t, want %t", name, err == nil, want)
		}
	}
	member := filepath.Join(t.TempDir(), "member")
	mustRun(t, "restore", saved[2], "--output-dir="+member, "--name=a",
		"--initial-cluster=a=https://a:2380,b=https://b:2380", "--initial-advertise-peer-urls=https://a:2380")
	mustRun(t, "restore", saved[2], "--output-dir="+member, "--rename-existing=member.old", "--name=a",
		"--initial-cluster=a=https://a:2380", "--initial-advertise-peer-urls=https://a:2380")
	for _, dir := range []string{member, member + ".old"} {
		if _, err := os.Stat(filepath.Join(dir, "member", "snap", "db")); err != nil {
			t.Error(err)
		}
	}
}

// TestInterruptedImport cancels an import after its first write, and repeats it.
func TestInterruptedImport(t *testing.T) {
	dataDir, client := newStore(t)
	const count = 500
	file := writeFile(t, documents(count))
	ctx, cancel := context.WithCancel(t.Context())
	written := client.Watch(ctx, store.WebsitesPrefix("/registry"), clientv3.WithPrefix())
	go func() {
		<-written
		cancel()
	}()
	_, err := run(ctx, nil, "import", file, "--data-dir="+dataDir)
	if err == nil || !strings.Contains(err.Error(), "run the command again") {
		t.Fatalf("the interrupted import = %v, want an error", err)
	}
	imported := func(key string) int64 {
		t.Helper()
		got, err := client.Get(t.Context(), key, clientv3.WithPrefix(), clientv3.WithCountOnly())
		if err != nil {
			t.Fatal(err)
		}
		return got.Count
	}
	const marker = "/registry/website-apiserver/import"
	first := imported(store.WebsitesPrefix("/registry"))
	if first == 0 || first == count || imported(marker) != 1 {
		t.Fatalf("%d Websites were imported, and there are %d marks, want some and one", first, imported(marker))
	}
	want := fmt.Sprintf("imported: %d Websites, %d were there before", count-first, first)
	if out := mustRun(t, "import", file, "--data-dir="+dataDir); !strings.Contains(out, want) {
		t.Errorf("the repeated import printed %s, want %q", out, want)
	}
	if imported(store.WebsitesPrefix("/registry")) != count || imported(marker) != 0 {
		t.Error("the repeated import is not complete")
	}
}
