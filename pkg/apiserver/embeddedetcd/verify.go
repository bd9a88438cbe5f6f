package embeddedetcd

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	bolt "go.etcd.io/bbolt"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.etcd.io/etcd/server/v3/storage/wal/walpb"
	"go.uber.org/zap"
)

// databaseTimeout is the timeout for the lock of the database. etcd waits without end.
const databaseTimeout = 5 * time.Second

// verify returns an error if the data in dir cannot be read. etcd would end the process, or panic in a goroutine of
// its own, although a server without etcd must serve discovery.
func verify(dir string) (err error) {
	member := filepath.Join(dir, "member")
	if !wal.Exist(filepath.Join(member, "wal")) {
		return nil // A new member; etcd creates the rest.
	}
	// The libraries panic when they read damaged data, and map a file that may be truncated.
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if damage := recover(); damage != nil {
			err = fmt.Errorf("%v", damage)
		}
		if err != nil {
			err = fmt.Errorf("the data of the embedded etcd in %s cannot be read, if it is damaged restore a snapshot with "+
				"\"website-apiserver store restore\": %w", dir, err)
		}
	}()
	if err := verifyLog(filepath.Join(member, "wal")); err != nil {
		return err
	}
	return verifyDatabase(filepath.Join(member, "snap", "db"))
}

// verifyLog reads the write-ahead log from etcd's starting point. etcd repairs an incomplete record
// at its end.
func verifyLog(dir string) error {
	logger := zap.NewNop()
	snapshots, err := wal.ValidSnapshotEntries(logger, dir)
	if err != nil {
		return fmt.Errorf("reading the write-ahead log: %w", err)
	}
	begin := &walpb.Snapshot{}
	if len(snapshots) > 0 {
		begin = snapshots[len(snapshots)-1]
	}
	if _, err := wal.Verify(logger, dir, begin); err != nil {
		return fmt.Errorf("reading the write-ahead log: %w", err)
	}
	return nil
}

// verifyDatabase reads all keys. Large values are not read.
func verifyDatabase(path string) error {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the write-ahead log has no database beside it: %w", err)
	}
	// The library reads pages one by one. In this order, a large database that is not in memory
	// takes seconds.
	if err := readAll(path); err != nil {
		return fmt.Errorf("reading the database: %w", err)
	}
	database, err := bolt.Open(path, 0o600, &bolt.Options{ReadOnly: true, Timeout: databaseTimeout})
	if err != nil {
		return fmt.Errorf("opening the database: %w", err)
	}
	defer database.Close() //nolint:errcheck // It is only read.
	return database.View(func(tx *bolt.Tx) error {
		return tx.ForEach(func(_ []byte, bucket *bolt.Bucket) error {
			return bucket.ForEach(func(_, _ []byte) error { return nil })
		})
	})
}

func readAll(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // It is only read.
	_, err = io.Copy(io.Discard, file)
	return err
}
