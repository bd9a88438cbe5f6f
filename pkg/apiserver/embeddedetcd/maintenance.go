package embeddedetcd

import (
	"context"
	"fmt"
	"slices"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"
)

// maintenanceInterval is short, because objects of a megabyte fill a history
// in seconds.
const maintenanceInterval = 500 * time.Millisecond

// maintainer keeps the database below its quota. Kubernetes API servers compact
// by time only: writing large objects fills the quota in between.
type maintainer struct {
	server *Server
	// measured is the size of the data, and revision the current revision, when
	// half of the history was last full.
	measured, revision int64
}

// Maintain compacts and defragments the database and disarms alarms without a
// cause, until ctx ends.
func (s *Server) Maintain(ctx context.Context) {
	m := &maintainer{server: s}
	reported := ""
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		err := m.maintain(ctx)
		switch {
		case err == nil:
			reported = ""
		case ctx.Err() == nil && err.Error() != reported:
			klog.FromContext(ctx).Error(err, "Failed to maintain the embedded etcd, retrying")
			reported = err.Error()
		}
	}, maintenanceInterval)
}

func (m *maintainer) maintain(ctx context.Context) error {
	size, used := m.sizes()
	recordSizes(size, used)
	alarms := m.server.alarms()
	recordAlarms(alarms)
	if err := Writable(m.server.config.DataDir); err != nil {
		return err // Removing revisions requires writes as well.
	}
	full := slices.Contains(alarms, etcdserverpb.AlarmType_NOSPACE)

	if err := m.compact(ctx, used, full); err != nil {
		return err
	}
	size, used = m.sizes()
	switch {
	// With less space to gain, the next writes would fill it again.
	case full && used > m.server.config.QuotaBytes-m.server.config.QuotaBytes/10:
		return fmt.Errorf("the database is full of objects, its quota is %d bytes: delete Websites, or restart with a "+
			"higher --embedded-etcd-quota-backend-bytes", m.server.config.QuotaBytes)
	case full:
		if err := m.defragment(ctx); err != nil {
			return err
		}
		return m.disarm(ctx)
	case fragmented(size, used, m.server.config.QuotaBytes):
		return m.defragment(ctx)
	}
	return nil
}

// sizes returns the size of the file, and the size of the pages in use.
func (m *maintainer) sizes() (size, used int64) {
	backend := m.server.etcd.Server.Backend()
	return backend.Size(), backend.SizeInUse()
}

// compact removes superseded revisions up to the point at which half of the
// history was full, or all of them if the database is full. Watches resume from
// the kept half.
func (m *maintainer) compact(ctx context.Context, used int64, full bool) error {
	if m.revision == 0 || used < m.measured {
		m.measure()
	}
	target := m.revision
	switch {
	case full:
		target = m.server.etcd.Server.KV().Rev()
	case used-m.measured < m.server.config.HistoryBytes/2:
		return nil
	}
	m.measure()
	current := m.revision
	if target <= m.server.etcd.Server.KV().FirstRev() {
		return nil
	}
	start := time.Now()
	if _, err := m.server.etcd.Server.Compact(ctx,
		&etcdserverpb.CompactionRequest{Revision: target, Physical: true}); err != nil {
		return fmt.Errorf("compacting to revision %d: %w", target, err)
	}
	_, m.measured = m.sizes()
	klog.FromContext(ctx).V(2).Info("Compacted the embedded etcd", "revision", target, "currentRevision", current,
		"bytesBefore", used, "bytes", m.measured, "duration", time.Since(start))
	return nil
}

// measure records the revision and the size of the data up to it. Without a commit the
// size lacks the latest revisions, which would then count as growth, and be removed
// too early.
func (m *maintainer) measure() {
	m.revision = m.server.etcd.Server.KV().Rev()
	m.server.etcd.Server.Backend().ForceCommit()
	_, m.measured = m.sizes()
}

// fragmented reports whether defragmentation, which blocks all writes, is worth
// it: unless the free pages are a large part of a quota that is filling up,
// writes reuse them.
func fragmented(size, used, quota int64) bool {
	return size > quota/2 && size-used > quota/4
}

// defragment rewrites the file without its free pages.
func (m *maintainer) defragment(ctx context.Context) error {
	logger, start := klog.FromContext(ctx), time.Now()
	before, used := m.sizes()
	// etcd writes the file a second time, while reads and writes wait. If the space is missing, it
	// would fail and be retried at once.
	if err := SpaceFor(m.server.config.DataDir, used); err != nil {
		return fmt.Errorf("defragmenting: %w", err)
	}
	logger.Info("Defragmenting the embedded etcd, writes wait for it", "bytes", before, "bytesInUse", used)
	if err := m.server.etcd.Server.Defragment(); err != nil {
		return fmt.Errorf("defragmenting: %w", err)
	}
	after, _ := m.sizes()
	logger.Info("Defragmented the embedded etcd", "bytesBefore", before, "bytes", after, "duration", time.Since(start))
	return nil
}

// disarm permits writes to the database again. Data that other tools have restored has the alarms of its
// former members.
func (m *maintainer) disarm(ctx context.Context) error {
	server := m.server.etcd.Server
	for _, alarm := range server.Alarms() {
		if alarm.GetAlarm() != etcdserverpb.AlarmType_NOSPACE {
			continue
		}
		if _, err := server.Alarm(ctx, &etcdserverpb.AlarmRequest{
			Action: etcdserverpb.AlarmRequest_DEACTIVATE, MemberID: alarm.GetMemberID(), Alarm: alarm.GetAlarm(),
		}); err != nil {
			return fmt.Errorf("disarming the alarm NOSPACE: %w", err)
		}
	}
	klog.FromContext(ctx).Info("The embedded etcd has space again, writes succeed", "quotaBytes",
		m.server.config.QuotaBytes)
	return nil
}
