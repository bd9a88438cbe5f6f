package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/klog/v2"

	"github.com/kubesites/website-apiserver/pkg/apiserver/store"
)

// reachTimeout bounds the wait for one endpoint of etcd.
const reachTimeout = 10 * time.Second

// Snapshotter takes snapshots of a store, while servers use it.
type Snapshotter struct {
	// Transport is the configuration of the connection to etcd.
	Transport storagebackend.TransportConfig
	// Prefix is the value of --etcd-prefix.
	Prefix string
	// Space returns an error if a directory has no space for a file of a size. Nil: the
	// disk may be filled up.
	Space func(dir string, bytes int64) error
}

// Save takes a snapshot, verifies it, and renames it to its name, which must be free.
// If path is a directory, the snapshot is named after the store and the time. A
// failed snapshot is removed.
func (s Snapshotter) Save(ctx context.Context, path string) (Snapshot, error) {
	dir := path
	if !isDirectory(path) {
		dir = filepath.Dir(path)
		if err := vacant(path); err != nil {
			return Snapshot{}, err
		}
	}
	if dir == path {
		// Files of killed processes may be the reason for the lack of space.
		if err := removeStale(dir); err != nil {
			return Snapshot{}, err
		}
	}
	f, err := createIn(dir)
	if err != nil {
		return Snapshot{}, err
	}
	defer f.discard()
	taken := time.Now()
	if err := s.copyTo(ctx, f); err != nil {
		return Snapshot{}, err
	}
	if err := f.sync(); err != nil {
		return Snapshot{}, err
	}
	snapshot, err := Verify(ctx, f.Name(), s.Prefix)
	if err != nil {
		return Snapshot{}, fmt.Errorf("verifying the snapshot: %w", err)
	}
	snapshot.Path = path
	if dir == path {
		name, err := name(snapshot.Record, taken)
		if err != nil {
			return Snapshot{}, err
		}
		snapshot.Path = filepath.Join(dir, name)
	}
	if err := f.publish(snapshot.Path); err != nil {
		return Snapshot{}, err
	}
	return snapshot, nil
}

// copyTo copies the database of the first member that answers. A member that lags
// behind its cluster does not.
func (s Snapshotter) copyTo(ctx context.Context, f *file) error {
	var errs []error
	for _, endpoint := range s.Transport.ServerList {
		err := s.copyFrom(ctx, endpoint, f)
		if err == nil {
			return nil
		}
		errs = append(errs, err)
		if ctx.Err() != nil {
			break
		}
		if err := rewind(f); err != nil {
			return err
		}
	}
	return errors.Join(errs...)
}

func (s Snapshotter) copyFrom(ctx context.Context, endpoint string, f *file) error {
	client, err := store.NewClient(s.Transport, endpoint)
	if err != nil {
		return err
	}
	defer client.Close() //nolint:errcheck // No write can be lost.
	status, err := s.reach(ctx, client, endpoint)
	if err != nil {
		return err
	}
	if s.Space != nil {
		if err := s.Space(filepath.Dir(f.Name()), status.DbSize); err != nil {
			return err
		}
	}
	klog.FromContext(ctx).Info("Taking a snapshot", "endpoint", endpoint, "etcdVersion", status.Version,
		"bytes", status.DbSize)
	stream, err := client.Snapshot(ctx)
	if err != nil {
		return fmt.Errorf("taking a snapshot of etcd at %s: %w", endpoint, err)
	}
	defer stream.Close() //nolint:errcheck // It is only read.
	if _, err := io.Copy(io.MultiWriter(f, newProgress(ctx, status.DbSize)), stream); err != nil {
		return fmt.Errorf("copying the database of etcd at %s to %s: %w", endpoint, filepath.Dir(f.Name()), err)
	}
	return nil
}

// record returns the record of the store, nil without one.
func (s Snapshotter) record(ctx context.Context) (*store.Record, error) {
	client, err := store.NewClient(s.Transport, s.Transport.ServerList...)
	if err != nil {
		return nil, err
	}
	defer client.Close() //nolint:errcheck // No write can be lost.
	return readRecord(ctx, client, s.Transport, s.Prefix)
}

// readRecord returns the record of the store, nil without one.
func readRecord(ctx context.Context, client *clientv3.Client, transport storagebackend.TransportConfig,
	prefix string) (*store.Record, error) {
	ctx, cancel := context.WithTimeout(ctx, reachTimeout)
	defer cancel()
	response, err := client.Get(ctx, store.RecordKey(prefix))
	if err != nil {
		return nil, fmt.Errorf("reading the identity of the store in etcd at %v (an embedded etcd is reached in the "+
			"--data-dir of a running server): %w", transport.ServerList, err)
	}
	if len(response.Kvs) == 0 {
		return nil, nil
	}
	return store.DecodeRecord(prefix, response.Kvs[0].Value)
}

// reach waits for the member, by a read that a lagging member does not answer.
func (s Snapshotter) reach(ctx context.Context, client *clientv3.Client,
	endpoint string) (*clientv3.StatusResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, reachTimeout)
	defer cancel()
	if _, err := client.Get(ctx, store.RecordKey(s.Prefix)); err != nil {
		return nil, fmt.Errorf("reading from etcd at %s (an embedded etcd is reached in the --data-dir of a running "+
			"server): %w", endpoint, err)
	}
	status, err := client.Status(ctx, endpoint)
	if err != nil {
		return nil, fmt.Errorf("reading the status of etcd at %s: %w", endpoint, err)
	}
	return status, nil
}

func rewind(f *file) error {
	if err := f.Truncate(0); err != nil {
		return fmt.Errorf("emptying %s: %w", f.Name(), err)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("emptying %s: %w", f.Name(), err)
	}
	return nil
}
