package backup

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	bolt "go.etcd.io/bbolt"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/server/v3/storage/mvcc"
	"go.etcd.io/etcd/server/v3/storage/schema"
	"google.golang.org/protobuf/proto"

	"github.com/kubesites/website-apiserver/pkg/apiserver/store"
)

// sectorSize divides the length of every database. etcd appends the SHA-256 of
// the database to a snapshot of it.
const sectorSize = 512

// maxReported is the largest number of errors in a message.
const maxReported = 10

// Snapshot describes a verified snapshot.
type Snapshot struct {
	// Path is the path of the file.
	Path string
	// Bytes is the size of the file.
	Bytes int64
	// SHA256 is the hash of the database in it, in hexadecimal.
	SHA256 string
	// Revision is etcd's, at the time of the snapshot.
	Revision int64
	// Websites is the number of Websites in it.
	Websites int
	// Record is the record of the store, nil without one.
	Record *store.Record
}

// Identity names the store in messages.
func (s Snapshot) Identity() string {
	if s.Record == nil {
		return "without identity"
	}
	return s.Record.Identity
}

// Verify reads a snapshot as a whole: it checks the SHA-256 that etcd has appended
// to it and the structure of the database, and counts the Websites below prefix. It
// returns an error if the file is damaged, truncated or not a snapshot of a store
// of Websites.
func Verify(ctx context.Context, path, prefix string) (Snapshot, error) {
	s := Snapshot{Path: path}
	if err := s.verifyChecksum(ctx); err != nil {
		return Snapshot{}, err
	}
	if err := s.readDatabase(ctx, prefix); err != nil {
		return Snapshot{}, fmt.Errorf("reading the database in %s: %w", path, err)
	}
	if s.Record == nil && s.Websites == 0 {
		return Snapshot{}, fmt.Errorf("%s is not a snapshot of a store of Websites: it has neither an identity at %s nor "+
			"Websites: check --etcd-prefix", path, store.RecordKey(prefix))
	}
	return s, nil
}

// verifyChecksum is first: a damaged database must not be opened.
func (s *Snapshot) verifyChecksum(ctx context.Context) error {
	f, err := os.Open(s.Path)
	if err != nil {
		return fmt.Errorf("opening the snapshot: %w", err)
	}
	defer f.Close() //nolint:errcheck // It is only read.
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("reading the size of %s: %w", s.Path, err)
	}
	if info.IsDir() {
		return directoryError(s.Path)
	}
	s.Bytes = info.Size()
	if !info.Mode().IsRegular() || s.Bytes <= sha256.Size || s.Bytes%sectorSize != sha256.Size {
		return fmt.Errorf("%s has %d bytes, and is not a snapshot of etcd with its SHA-256 at the end: it is truncated, or "+
			"another file", s.Path, s.Bytes)
	}
	hash := sha256.New()
	if _, err := io.Copy(hash, readerWithContext(ctx, io.LimitReader(f, s.Bytes-sha256.Size))); err != nil {
		return fmt.Errorf("reading %s: %w", s.Path, err)
	}
	appended := make([]byte, sha256.Size)
	if _, err := io.ReadFull(f, appended); err != nil {
		return fmt.Errorf("reading the SHA-256 at the end of %s: %w", s.Path, err)
	}
	sum := hash.Sum(nil)
	if !bytes.Equal(sum, appended) {
		return fmt.Errorf("%s is damaged or truncated: the SHA-256 of its content is %x, at its end it has %x",
			s.Path, sum, appended)
	}
	s.SHA256 = hex.EncodeToString(sum)
	return nil
}

// readDatabase checks the structure of the database, and reads its keys.
func (s *Snapshot) readDatabase(ctx context.Context, prefix string) error {
	db, err := bolt.Open(s.Path, 0o400, &bolt.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	defer db.Close() //nolint:errcheck // It is only read.
	return db.View(func(tx *bolt.Tx) error {
		var damages []error
		// All errors are read: otherwise the check would continue in the background.
		for err := range tx.Check() {
			if len(damages) < maxReported {
				damages = append(damages, err)
			}
		}
		if len(damages) > 0 {
			return errors.Join(damages...)
		}
		bucket := tx.Bucket(schema.Key.Name())
		if bucket == nil {
			return errors.New("it has no keys: this is no database of etcd")
		}
		return s.readKeys(ctx, bucket, prefix)
	})
}

// readKeys reads all revisions. The last one is the current value of a key.
func (s *Snapshot) readKeys(ctx context.Context, bucket *bolt.Bucket, prefix string) error {
	recordKey, websites := store.RecordKey(prefix), store.WebsitesPrefix(prefix)
	var record []byte
	names := map[string]bool{}
	err := bucket.ForEach(func(revision, value []byte) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		var kv mvccpb.KeyValue
		if err := proto.Unmarshal(value, &kv); err != nil {
			return fmt.Errorf("revision %x: %w", revision, err)
		}
		s.Revision = mvcc.BytesToRev(revision).Main
		deleted := mvcc.IsTombstone(revision)
		switch name := string(kv.Key); {
		case name == recordKey && deleted:
			record = nil
		case name == recordKey:
			record = bytes.Clone(kv.Value)
		case strings.HasPrefix(name, websites) && deleted:
			delete(names, name)
		case strings.HasPrefix(name, websites):
			names[name] = true
		}
		return nil
	})
	if err != nil {
		return err
	}
	s.Websites = len(names)
	if record != nil {
		s.Record, err = store.DecodeRecord(prefix, record)
	}
	return err
}

// readerWithContext returns a reader that fails once ctx ends.
func readerWithContext(ctx context.Context, r io.Reader) io.Reader {
	return readerFunc(func(p []byte) (int, error) {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		return r.Read(p)
	})
}

type readerFunc func([]byte) (int, error)

// Read calls the function.
func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
