package store

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

const (
	// recordInterval is the interval at which the nonce is replaced while something is
	// written. A copy of the store from before that is outdated.
	recordInterval = 2 * time.Second
	// idleRecords is after how many times without a write the host's record is read all the same: another store may
	// have been accepted.
	idleRecords = 5
	// closedInterval is the interval at which a closed server checks whether the
	// recorded store is back.
	closedInterval = time.Second
	// lastRecordTimeout bounds the record at shutdown: an etcd that hangs must not
	// hold up the end of the process.
	lastRecordTimeout = 3 * time.Second
)

// Run records the store every few seconds while something is written, and once
// more when ctx ends; while the server is closed, it checks instead whether the
// recorded store is back. It returns when ctx has ended and the last record is
// written. Nothing may be written to the store after ctx has ended.
func (g *Guard) Run(ctx context.Context, clock clock.Clock) {
	logger := klog.FromContext(ctx)
	client, err := g.dialer.client(g.config.Etcd.Transport.ServerList...)
	if err != nil {
		// New has read the same configuration.
		logger.Error(err, "Failed to connect to the store")
		return
	}
	defer client.Close() //nolint:errcheck // Every write was answered.
	var prober sync.WaitGroup
	prober.Go(func() { g.watchReachability(ctx, clock) })
	defer prober.Wait()

	r := recorder{guard: g, client: client, untidy: true}
	for {
		interval := recordInterval
		if g.Closed() != nil {
			interval = closedInterval
			g.verifyAll(ctx)
		} else if g.Outage() != nil {
			interval = closedInterval
		} else if err := r.record(ctx); err != nil && ctx.Err() == nil {
			logger.Error(err, "Failed to record the store, retrying")
		}
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastRecordTimeout)
			defer cancel()
			if g.Closed() != nil || g.Outage() != nil {
				return
			}
			if err := r.record(last); err != nil {
				logger.Error(err, "Failed to record the store at shutdown")
			}
			return
		case <-clock.After(interval):
		}
	}
}

// recorder replaces the nonce of the store.
type recorder struct {
	guard  *Guard
	client *clientv3.Client
	// untidy is set while the host's record may name a nonce besides the nonce of the
	// store.
	untidy bool
	// idle counts the times in a row that nothing was written.
	idle int
}

// record replaces the nonce if something was written since it was last replaced.
//
// The host's record names the next nonce before the store holds it, and the
// previous one until then, so that a server that ends at any point leaves a store
// that its record names. Only then does the record give up the previous nonce:
// copies of the store that were taken before are outdated from then on. Several
// servers may record at once. The one whose record the host takes decides on the
// next nonce, and each of them may bring it into the store.
func (r *recorder) record(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, verifyTimeout)
	defer cancel()
	g := r.guard
	if err := g.writable(); err != nil {
		return err
	}
	since, err := g.keys.since(ctx, r.client)
	if err != nil {
		return err
	}
	if since.nonce != g.lastNonce() {
		// Another server has recorded, or uses the store for another cluster.
		r.untidy = true
	}
	if r.idle++; !since.changed && !r.untidy && r.idle < idleRecords {
		return nil
	}
	r.untidy, r.idle = true, 0

	// The host first: if the store names another nonce than this record does, then
	// it was replaced after.
	host, err := g.config.Host.Get(ctx)
	if err != nil {
		return err
	}
	c, err := g.keys.read(ctx, etcdserverpb.NewKVClient(r.client.ActiveConnection()))
	if err != nil {
		return err
	}
	if host == nil || !host.names(c.record) {
		return r.restore(ctx, host, c)
	}

	next := host.Nonces[0]
	if c.record.Nonce == next && since.changed {
		next = newNonce()
		at := recordTime(host.RecordedAt, c.record.RecordedAt)
		if host, err = g.config.Host.Put(ctx, host,
			HostRecord{Identity: host.Identity, Nonces: []string{next, c.record.Nonce}, RecordedAt: at}); err != nil {
			return ignoreConflict(err)
		}
	}
	if c.record.Nonce != next {
		replaced, err := g.keys.write(ctx, r.client, c,
			Record{Identity: host.Identity, Nonce: next, Compactions: since.compactions, RecordedAt: host.RecordedAt})
		if err != nil || !replaced {
			return err
		}
	}
	g.setLastNonce(next)
	if len(host.Nonces) > 1 {
		if _, err := g.config.Host.Put(ctx, host,
			HostRecord{Identity: host.Identity, Nonces: []string{next}, RecordedAt: host.RecordedAt}); err != nil {
			return ignoreConflict(err)
		}
	}
	r.untidy = false
	return nil
}

// restore handles a record of the host that does not name the store. If the store
// holds the nonce that this process has seen in it last, the record was deleted or
// overwritten, and restore writes it again; otherwise another server uses the store with
// another record, or another server has recorded meanwhile. A record of another store was
// accepted: the objects of that one would be deleted if both were served.
func (r *recorder) restore(ctx context.Context, host *HostRecord, c content) error {
	g := r.guard
	nonce := g.lastNonce()
	if c.record == nil || c.record.Nonce != nonce || host != nil && host.Identity != c.record.Identity {
		// What one member answered before keeps the server open no longer.
		g.forget()
		var failures []error
		for _, endpoint := range g.config.Etcd.Transport.ServerList {
			failures = append(failures, g.verifyEndpoint(ctx, endpoint))
		}
		return errors.Join(failures...)
	}
	klog.FromContext(ctx).Info("The record of the store in the host cluster was deleted or overwritten, writing it again",
		"record", g.config.Host.String(), "identity", c.record.Identity)
	_, err := g.config.Host.Put(ctx, host, HostRecord{Identity: c.record.Identity, Nonces: []string{nonce},
		RecordedAt: c.record.RecordedAt})
	return ignoreConflict(err)
}

// ignoreConflict ignores conflicts: another server has recorded, the next record follows.
func ignoreConflict(err error) error {
	for e := err; e != nil; e = errors.Unwrap(e) {
		if apierrors.IsConflict(e) || apierrors.IsAlreadyExists(e) {
			return nil
		}
	}
	return err
}
