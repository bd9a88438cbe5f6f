package backup

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/kubesites/website-apiserver/pkg/apiserver/embeddedetcd"
	"github.com/kubesites/website-apiserver/pkg/apiserver/store"
)

// restoreEmbedded restores as the command does.
func restoreEmbedded(t *testing.T, path, dataDir string) error {
	t.Helper()
	return embeddedetcd.Restore(dataDir, func(dir string, m embeddedetcd.Member) error {
		_, err := Restorer{Prefix: prefix, BumpRevision: DefaultBumpRevision,
			Space: embeddedetcd.SpaceFor}.Restore(t.Context(), path, dir,
			Member{Name: m.Name, PeerURLs: []string{m.PeerURL}, InitialCluster: m.Name + "=" + m.PeerURL})
		return err
	})
}

func TestRestore(t *testing.T) {
	s, revision := newSnapshot(t)
	dataDir := newDataDir(t)
	if err := restoreEmbedded(t, s.Path, dataDir); err != nil {
		t.Fatal(err)
	}
	client, stop := startEtcd(t, dataDir)
	got, err := client.Get(t.Context(), store.WebsitesPrefix(prefix), clientv3.WithPrefix())
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Kvs) != s.Websites {
		t.Errorf("%d Websites were restored, want %d", len(got.Kvs), s.Websites)
	}
	if got.Header.Revision < revision+DefaultBumpRevision {
		t.Errorf("the revision is %d, want at least %d", got.Header.Revision, revision+DefaultBumpRevision)
	}
	watch := client.Watch(t.Context(), store.WebsitesPrefix(prefix), clientv3.WithPrefix(), clientv3.WithRev(revision))
	if response := <-watch; !errors.Is(response.Err(), rpctypes.ErrCompacted) {
		t.Errorf("a watch that resumes gets %v, want %v", response.Err(), rpctypes.ErrCompacted)
	}
	value, err := client.Get(t.Context(), store.RecordKey(prefix))
	if err != nil || len(value.Kvs) != 1 {
		t.Fatalf("the record = %v, %v", value, err)
	}
	record, err := store.DecodeRecord(prefix, value.Kvs[0].Value)
	if err != nil {
		t.Fatal(err)
	}
	if record.Identity != ours || record.Nonce != "restored-"+s.SHA256 || record.Compactions != 3 {
		t.Errorf("record = %+v, want a nonce of its own", record)
	}

	// A second restoration would reduce revisions that clients have seen.
	again, directory := Restorer{Prefix: prefix, BumpRevision: 50, Space: embeddedetcd.SpaceFor},
		filepath.Join(t.TempDir(), "data")
	member := Member{Name: "a", PeerURLs: []string{"http://a:2380"}, InitialCluster: "a=http://a:2380"}
	if _, err := again.Restore(t.Context(), s.Path, directory, member); err != nil {
		t.Fatal(err)
	}
	again.RenameExisting, again.BumpRevision = "first", 40
	if _, err := again.Restore(t.Context(), s.Path, directory, member); err == nil ||
		!strings.Contains(err.Error(), "pass --bump-revision=") {
		t.Errorf("restoring again with an earlier revision = %v", err)
	}
	again.BumpRevision = 50
	if _, err := again.Restore(t.Context(), s.Path, directory, member); err != nil {
		t.Errorf("restoring again with the same one: %v", err)
	}

	// The data of a server without our lock is not renamed either.
	renaming := Restorer{Prefix: prefix, BumpRevision: 1, Space: embeddedetcd.SpaceFor, RenameExisting: "old"}
	if _, err := renaming.Restore(t.Context(), s.Path, filepath.Join(dataDir, "etcd", "data"), Member{}); err == nil ||
		!strings.Contains(err.Error(), "stop the member first") {
		t.Errorf("restoring over a running etcd = %v", err)
	}
	// The directory is in use, and not empty once it is not.
	for _, want := range []string{"in use by another process", "is not empty"} {
		if err := restoreEmbedded(t, s.Path, dataDir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("restoring again = %v, want an error with %q", err, want)
		}
		stop()
	}
}

// TestRestoreMembers restores two members of a cluster: they must not differ.
func TestRestoreMembers(t *testing.T) {
	s, _ := newSnapshot(t)
	restorer := Restorer{Prefix: prefix, BumpRevision: DefaultBumpRevision, Space: embeddedetcd.SpaceFor}
	var hashes []Snapshot
	for _, name := range []string{"a", "b"} {
		dir := filepath.Join(t.TempDir(), "member")
		member := Member{Name: name, PeerURLs: []string{"http://" + name + ":2380"},
			InitialCluster: "a=http://a:2380,b=http://b:2380"}
		if _, err := restorer.Restore(t.Context(), s.Path, dir, member); err != nil {
			t.Fatal(err)
		}
		restored := Snapshot{Path: filepath.Join(dir, "member", "snap", "db")}
		if err := restored.readDatabase(t.Context(), prefix); err != nil {
			t.Fatal(err)
		}
		hashes = append(hashes, restored)
	}
	if a, b := hashes[0], hashes[1]; *a.Record != *b.Record || a.Revision != b.Revision || a.Websites != b.Websites {
		t.Errorf("the members have %+v %+v and %+v %+v, want the same", a, a.Record, b, b.Record)
	}
}

// TestRestoreOfAFullStore takes the snapshot while etcd has the alarm NOSPACE, which has the ID of its member.
func TestRestoreOfAFullStore(t *testing.T) {
	full, restored := newDataDir(t), newDataDir(t)
	client, _ := startEtcd(t, full)
	putRecord(t, client)
	members, err := client.MemberList(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := etcdserverpb.NewMaintenanceClient(client.ActiveConnection()).Alarm(t.Context(),
		&etcdserverpb.AlarmRequest{
			Action: etcdserverpb.AlarmRequest_ACTIVATE, MemberID: members.Members[0].ID, Alarm: etcdserverpb.AlarmType_NOSPACE,
		}); err != nil {
		t.Fatal(err)
	}
	s, err := Snapshotter{Transport: transport(t, full), Prefix: prefix}.Save(t.Context(),
		filepath.Join(t.TempDir(), "snapshot"))
	if err != nil {
		t.Fatal(err)
	}
	if err := restoreEmbedded(t, s.Path, restored); err != nil {
		t.Fatal(err)
	}
	client, _ = startEtcd(t, restored)
	if alarms, err := client.AlarmList(t.Context()); err != nil || len(alarms.Alarms) > 0 {
		t.Errorf("the restored store has the alarms %v, %v", alarms, err)
	}
	if _, err := client.Put(t.Context(), store.RecordKey(prefix), recorded); err != nil {
		t.Errorf("writing to the restored store: %v", err)
	}
}

func TestRestoreOfADamagedSnapshot(t *testing.T) {
	s, _ := newSnapshot(t)
	content, err := os.ReadFile(s.Path)
	if err != nil {
		t.Fatal(err)
	}
	content[len(content)/3] ^= 1
	if err := os.WriteFile(s.Path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	member := Member{Name: "a", PeerURLs: []string{"http://a:2380"}, InitialCluster: "a=http://a:2380"}
	_, err = Restorer{Prefix: prefix, BumpRevision: 1, Space: embeddedetcd.SpaceFor}.Restore(t.Context(), s.Path,
		filepath.Join(dir, "data"), member)
	if err == nil || !strings.Contains(err.Error(), "damaged or truncated") {
		t.Errorf("Restore = %v, want an error", err)
	}
	mustBeEmpty(t, dir)
}
