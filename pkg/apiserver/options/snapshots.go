package options

import (
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/pflag"

	"github.com/kubesites/website-apiserver/pkg/apiserver/backup"
	"github.com/kubesites/website-apiserver/pkg/apiserver/embeddedetcd"
	"github.com/kubesites/website-apiserver/pkg/apiserver/store"
)

const (
	defaultSnapshotInterval = 6 * time.Hour
	// defaultSnapshotCount covers a day.
	defaultSnapshotCount = 4
)

func (o *Options) addSnapshotFlags(flags *pflag.FlagSet) {
	flags.DurationVar(&o.SnapshotInterval, "embedded-etcd-snapshot-interval", o.SnapshotInterval,
		"The interval at which the server takes snapshots of the embedded etcd. 0 disables them. None are taken while the "+
			"server is closed, or if it would leave less than 128 MiB free on the disk.")
	flags.IntVar(&o.SnapshotCount, "embedded-etcd-snapshot-count", o.SnapshotCount,
		"The number of snapshots of the embedded etcd to keep. Older ones of the same store are removed.")
	flags.StringVar(&o.SnapshotDirectory, "embedded-etcd-snapshot-directory", o.SnapshotDirectory,
		"The directory for snapshots of the embedded etcd. Defaults to the directory snapshots in --data-dir.")
}

func (o CompletedOptions) validateSnapshots() error {
	switch {
	case o.SnapshotInterval < 0:
		return fmt.Errorf("--embedded-etcd-snapshot-interval=%s: must not be negative", o.SnapshotInterval)
	case o.SnapshotInterval > 0 && o.SnapshotCount < 1:
		return fmt.Errorf("--embedded-etcd-snapshot-count=%d: must be at least 1", o.SnapshotCount)
	}
	return nil
}

// snapshots returns the schedule of the embedded etcd, nil without one.
func (o CompletedOptions) snapshots(guard *store.Guard, record storeEvents) *backup.Schedule {
	if !o.EmbeddedEtcd() || o.SnapshotInterval == 0 {
		return nil
	}
	directory := o.SnapshotDirectory
	if directory == "" {
		directory = filepath.Join(o.DataDir, "snapshots")
	}
	transport, prefix := o.Etcd()
	return &backup.Schedule{
		Snapshotter: backup.Snapshotter{Transport: transport, Prefix: prefix, Space: embeddedetcd.SpaceFor},
		Directory:   directory,
		Interval:    o.SnapshotInterval,
		Keep:        o.SnapshotCount,
		Closed:      func() bool { return guard.Closed() != nil },
		Failed:      record.snapshotFailed,
	}
}
