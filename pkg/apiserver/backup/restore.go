package backup

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
	"go.etcd.io/etcd/etcdutl/v3/snapshot"
	"go.etcd.io/etcd/server/v3/lease"
	"go.etcd.io/etcd/server/v3/storage/backend"
	"go.etcd.io/etcd/server/v3/storage/mvcc"
	"go.etcd.io/etcd/server/v3/storage/schema"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"k8s.io/klog/v2"

	"github.com/kubesites/website-apiserver/pkg/apiserver/store"
)

// lockTimeout is the timeout for the lock of a database.
const lockTimeout = time.Second

// DefaultBumpRevision is more than the writes to a store of Websites between a snapshot
// and its restoration.
const DefaultBumpRevision = 1_000_000_000

// Member is the member of an etcd cluster that is restored.
type Member struct {
	// Name is the name of the member.
	Name string
	// PeerURLs are its advertised peer URLs.
	PeerURLs []string
	// InitialCluster has the names and peer URLs of all members, in the form of
	// etcd's --initial-cluster.
	InitialCluster string
	// ClusterToken distinguishes the restored cluster from the former one. Empty: a
	// token that is the same for all members restored from one snapshot.
	ClusterToken string
}

// Restorer restores snapshots.
type Restorer struct {
	// Prefix is the value of --etcd-prefix.
	Prefix string
	// BumpRevision is added to the revision. All earlier ones are marked as
	// compacted, so that clients list again instead of waiting for revisions that
	// they have seen already.
	BumpRevision uint64
	// Space returns an error if a directory has no space for files of a size. etcd's
	// libraries end the process when the disk is full.
	Space func(dir string, bytes int64) error
	// RenameExisting is the new name of existing data, in its directory. Empty: existing data is
	// an error.
	RenameExisting string
}

// Restore makes the data directory of a member from a snapshot, in dir, which no server may use. If it
// fails, everything is as before. The store gets a nonce that no host cluster has recorded: servers are
// closed until it is accepted. Every member of a cluster must be restored from the same snapshot.
func (r Restorer) Restore(ctx context.Context, path, dir string, member Member) (Snapshot, error) {
	latest, err := r.mayReplace(dir)
	if err != nil {
		return Snapshot{}, err
	}
	s, err := Verify(ctx, path, r.Prefix)
	if err != nil {
		return Snapshot{}, err
	}
	// Only the new nonce is written in addition. Restored data without later writes is replaced by
	// the same.
	if restored := uint64(s.Revision) + r.BumpRevision + 1; latest > restored {
		return Snapshot{}, fmt.Errorf("the data that is there is at revision %d, which clients have seen, and the restored "+
			"one would be at %d: pass --bump-revision=%d or more, for all members", latest, restored,
			latest-uint64(s.Revision)+DefaultBumpRevision)
	}
	klog.FromContext(ctx).Info("The snapshot is intact", "file", path, "revision", s.Revision, "websites", s.Websites,
		"identity", s.Identity())
	parent := filepath.Dir(filepath.Clean(dir))
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return Snapshot{}, fmt.Errorf("creating the directory for the restored data: %w", err)
	}
	// The snapshot is copied, and etcd's library copies it again.
	if err := r.Space(parent, 2*s.Bytes); err != nil {
		return Snapshot{}, err
	}
	// A killed process may have left one.
	building := filepath.Join(parent, "."+filepath.Base(dir)+".restoring")
	if err := os.RemoveAll(building); err != nil {
		return Snapshot{}, fmt.Errorf("removing the rest of an earlier restoration: %w", err)
	}
	defer os.RemoveAll(building) //nolint:errcheck // The next restoration removes it.
	if err := os.Mkdir(building, 0o700); err != nil {
		return Snapshot{}, fmt.Errorf("creating the directory for the restored data: %w", err)
	}
	copied := filepath.Join(building, "snapshot"+suffix)
	if err := copyDatabase(ctx, s, copied); err != nil {
		return Snapshot{}, err
	}
	if err := r.prepare(s, copied); err != nil {
		return Snapshot{}, err
	}
	if err := r.build(s, copied, filepath.Join(building, "data"), member); err != nil {
		return Snapshot{}, err
	}
	if err := r.replace(dir, filepath.Join(building, "data")); err != nil {
		return Snapshot{}, err
	}
	return s, syncDirectory(parent)
}

// existing returns the new path of existing data in dir.
func (r Restorer) existing(dir string) string {
	return filepath.Join(filepath.Dir(filepath.Clean(dir)), r.RenameExisting)
}

// mayReplace returns the revision of the data in dir, 0 if it is unknown, and an error if it cannot be renamed.
func (r Restorer) mayReplace(dir string) (uint64, error) {
	name := r.RenameExisting
	if name == "" {
		return 0, empty(dir)
	}
	if filepath.Base(name) != name || name == "." || name == ".." {
		return 0, fmt.Errorf("%q is not a file name", name)
	}
	if _, err := os.Lstat(r.existing(dir)); err == nil {
		return 0, fmt.Errorf("%s exists, and is not overwritten", r.existing(dir))
	}
	// etcd locks its database.
	database, err := bolt.Open(filepath.Join(dir, "member", "snap", "db"), 0o600,
		&bolt.Options{ReadOnly: true, Timeout: lockTimeout})
	if errors.Is(err, bolterrors.ErrTimeout) {
		return 0, fmt.Errorf("the data in %s is in use: stop the member first", dir)
	}
	if err == nil {
		return latestRevision(database), database.Close()
	}
	return 0, nil
}

// latestRevision returns the revision of a database, or 0 if it is damaged, which may be the reason
// for its replacement.
func latestRevision(database *bolt.DB) (revision uint64) {
	// The library panics when it reads a damaged page, and maps a file that may be truncated.
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if recover() != nil {
			revision = 0
		}
	}()
	_ = database.View(func(tx *bolt.Tx) error {
		bucket := tx.Bucket(schema.Key.Name())
		if bucket == nil {
			return nil
		}
		if key, _ := bucket.Cursor().Last(); len(key) >= 8 {
			revision = binary.BigEndian.Uint64(key)
		}
		return nil
	})
	return revision
}

// replace renames restored data to dir.
func (r Restorer) replace(dir, restored string) error {
	back := func() error { return nil }
	if r.RenameExisting != "" {
		switch err := os.Rename(dir, r.existing(dir)); {
		case errors.Is(err, os.ErrNotExist):
		case err != nil:
			return fmt.Errorf("renaming the data that is there: %w", err)
		default:
			back = func() error { return os.Rename(r.existing(dir), dir) }
		}
	}
	if err := os.Rename(restored, dir); err != nil {
		return errors.Join(fmt.Errorf("naming the restored data: %w", err), back())
	}
	return nil
}

// build makes etcd's own library create the data directory.
func (r Restorer) build(s Snapshot, copied, dir string, member Member) error {
	token := member.ClusterToken
	if token == "" {
		token = "restored-" + s.SHA256
	}
	err := snapshot.NewV3(newLogger()).Restore(snapshot.RestoreConfig{
		SnapshotPath:        copied,
		Name:                member.Name,
		OutputDataDir:       dir,
		PeerURLs:            member.PeerURLs,
		InitialCluster:      member.InitialCluster,
		InitialClusterToken: token,
		// The checksum was verified before the record was replaced.
		SkipHashCheck: true,
		RevisionBump:  r.BumpRevision,
		MarkCompacted: r.BumpRevision > 0,
	})
	if err != nil {
		return fmt.Errorf("restoring %s: %w", s.Path, err)
	}
	return nil
}

// prepare writes a record that no host cluster names, and removes alarms: the restored members have other IDs than
// the members that raised them, and deactivate only their own. All members of a cluster must have the same record,
// therefore it is derived from the snapshot.
func (r Restorer) prepare(s Snapshot, database string) error {
	logger := newLogger()
	be := backend.NewDefaultBackend(logger, database)
	removeAlarms(be)
	err := r.replaceNonce(s, logger, be)
	if err := errors.Join(err, be.Close()); err != nil {
		return fmt.Errorf("preparing the database: %w", err)
	}
	return nil
}

func removeAlarms(be backend.Backend) {
	tx := be.BatchTx()
	tx.LockOutsideApply()
	defer tx.Unlock()
	tx.UnsafeDeleteBucket(schema.Alarm)
	tx.UnsafeCreateBucket(schema.Alarm)
}

func (r Restorer) replaceNonce(s Snapshot, logger *zap.Logger, be backend.Backend) error {
	if s.Record == nil {
		return nil
	}
	record := *s.Record
	record.Nonce = store.RestoredNonce + s.SHA256
	value, err := json.Marshal(record)
	if err != nil {
		return fmt.Errorf("encoding the identity of the store: %w", err)
	}
	kv := mvcc.NewStore(logger, be, &lease.FakeLessor{}, mvcc.StoreConfig{})
	kv.Put([]byte(store.RecordKey(r.Prefix)), value, lease.NoLease)
	kv.Commit()
	return kv.Close()
}

// copyDatabase copies the database in a snapshot, without the SHA-256 behind it.
func copyDatabase(ctx context.Context, s Snapshot, to string) error {
	from, err := os.Open(s.Path)
	if err != nil {
		return fmt.Errorf("opening the snapshot: %w", err)
	}
	defer from.Close() //nolint:errcheck // It is only read.
	copied, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("copying the snapshot: %w", err)
	}
	size := s.Bytes - s.Bytes%sectorSize
	_, err = io.Copy(io.MultiWriter(copied, newProgress(ctx, size)), readerWithContext(ctx, io.LimitReader(from, size)))
	if err := errors.Join(err, copied.Close()); err != nil {
		return fmt.Errorf("copying the snapshot: %w", err)
	}
	return nil
}

// empty returns an error if dir has any entry.
func empty(dir string) error {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("looking for data in %s: %w", dir, err)
	case len(entries) > 0:
		return fmt.Errorf("%s is not empty, and is not overwritten: stop the server that uses it and move it away, for "+
			"example to %s.old", dir, filepath.Clean(dir))
	}
	return nil
}

// newLogger returns a logger for etcd's libraries, which end the process after they
// have logged that they cannot write.
func newLogger() *zap.Logger {
	config := zap.NewProductionEncoderConfig()
	config.TimeKey = zapcore.OmitKey
	return zap.New(zapcore.NewCore(zapcore.NewConsoleEncoder(config), zapcore.Lock(os.Stderr), zap.ErrorLevel))
}
