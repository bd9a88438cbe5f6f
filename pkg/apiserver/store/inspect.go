package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Report is the result of Inspect.
type Report struct {
	// Store is the record in the store, nil if there is none.
	Store *Record
	// Host is the record in the host cluster, nil if there is none.
	Host *HostRecord
	// Closed is the reason why a server does not open with this store; nil if it does.
	Closed *Closed
	// Websites is the number of Websites in the store.
	Websites int
	// Owned is the number of objects of the host cluster that a Website owns.
	Owned int
	// Unknown are the owned objects without an owner in the store. The garbage
	// collector deletes them once the server is open.
	Unknown []OwnedObject
	// Incomplete describes an import into the store that was not completed; empty if
	// there is none.
	Incomplete string
	// Accepted is whether Accept has recorded the store. It does not if the store is the recorded one already.
	Accepted bool
}

// Inspect reports on the store and the host cluster, and changes nothing. It
// returns an error when one of them cannot be read.
func Inspect(ctx context.Context, config Config) (Report, error) {
	m, err := firstMember(ctx, config)
	if err != nil {
		return Report{}, err
	}
	defer m.client.Close() //nolint:errcheck // Nothing was sent that could be lost.
	report, _, err := inspect(ctx, config, m)
	return report, err
}

// member is a member of etcd.
type member struct {
	endpoint string
	client   *clientv3.Client
}

// memberTimeout is the time that one of several members may take to answer.
const memberTimeout = 5 * time.Second

// firstMember returns the first member of etcd that answers: one that has lost its node must not keep a store from
// being accepted that the others have. The caller closes its client.
func firstMember(ctx context.Context, config Config) (member, error) {
	dialer, err := newDialer(config.Etcd.Transport)
	if err != nil {
		return member{}, err
	}
	var errs []error
	for i, endpoint := range config.Etcd.Transport.ServerList {
		client, err := dialer.client(endpoint)
		if err != nil {
			return member{}, err
		}
		answering, cancel := ctx, context.CancelFunc(func() {})
		if i < len(config.Etcd.Transport.ServerList)-1 {
			answering, cancel = context.WithTimeout(ctx, memberTimeout)
		}
		_, err = keys{config.Etcd.Prefix}.read(answering, etcdserverpb.NewKVClient(client.ActiveConnection()))
		cancel()
		if err == nil {
			return member{endpoint, client}, nil
		}
		errs = append(errs, fmt.Errorf("%s: %w", endpoint, err), client.Close())
	}
	return member{}, fmt.Errorf("%w (an embedded etcd is reached in the --data-dir of a running server)",
		errors.Join(errs...))
}

func inspect(ctx context.Context, config Config, m member) (Report, content, error) {
	var report Report
	var err error
	if report.Host, err = config.Host.Get(ctx); err != nil {
		return Report{}, content{}, err
	}
	c, err := keys{config.Etcd.Prefix}.read(ctx, etcdserverpb.NewKVClient(m.client.ActiveConnection()))
	if err != nil {
		return Report{}, content{}, err
	}
	report.Store = c.record
	if report.Incomplete, err = (keys{config.Etcd.Prefix}).incomplete(ctx, m.client); err != nil {
		return Report{}, content{}, err
	}
	owned, err := config.Owned(ctx)
	if err != nil {
		return Report{}, content{}, err
	}
	uids, err := config.Websites(ctx, m.endpoint)
	if err != nil {
		return Report{}, content{}, err
	}
	report.Websites, report.Owned, report.Unknown = len(uids), len(owned), unknownOwners(owned, uids)
	if report.Host != nil {
		report.Closed = compare(*report.Host, c)
	} else {
		report.Closed = adoptable(c, owned, report.Unknown, len(uids))
	}
	return report, c, nil
}

// errChanged is returned when the store or the record changed during Accept.
var errChanged = errors.New("another server has recorded meanwhile: run the command again")

// Accept records the store in the host cluster, whatever store was recorded there
// before, so that servers open within a second. Objects whose owner is not
// in it are deleted by the garbage collector from then on. It returns the former
// state, and an error when something was written meanwhile, or when an import
// into the store was not completed, unless withIncompleteImport is set. It changes nothing if the store is the
// recorded one: servers are open with it, and would close until a new record is complete.
func Accept(ctx context.Context, config Config, withIncompleteImport bool) (Report, error) {
	m, err := firstMember(ctx, config)
	if err != nil {
		return Report{}, err
	}
	defer m.client.Close() //nolint:errcheck // The write was answered.
	report, c, err := inspect(ctx, config, m)
	if err != nil {
		return Report{}, err
	}
	if report.Incomplete != "" && !withIncompleteImport {
		return Report{}, fmt.Errorf("an import into the store was not completed (%s): the objects of missing Websites "+
			"would be deleted; run \"website-apiserver store import\" again, or accept the store --with-incomplete-import",
			report.Incomplete)
	}
	if report.Host != nil && report.Closed == nil {
		return report, nil
	}
	// The identity is a new one: a store with the former one may still be served, by servers of another
	// cluster, or of this one that the restored copy has not reached. They close, and do not take the record back.
	record := Record{Identity: newIdentity(), Nonce: newNonce(), RecordedAt: recordTime()}
	if config.Writable != nil {
		if err := config.Writable(); err != nil {
			return Report{}, err
		}
	}
	// The store first: until the host names it, servers stay closed.
	written, err := keys{config.Etcd.Prefix}.write(ctx, m.client, c, record)
	if err != nil {
		return Report{}, ExplainNoSpace(err)
	}
	if !written {
		return Report{}, errChanged
	}
	err = beginCompactions(ctx, m.client)
	if err == nil {
		_, err = config.Host.Put(ctx, report.Host, HostRecord{Identity: record.Identity, Nonces: []string{record.Nonce},
			RecordedAt: record.RecordedAt})
	}
	if err != nil {
		if err := notRecorded(ctx, config, m, record, c, err); err != nil {
			return Report{}, err
		}
	}
	report.Store, report.Accepted = &record, true
	return report, nil
}

// notRecorded handles a record that was not written to the host cluster, and returns nil if the host cluster has it
// all the same. If it was rejected, the store gets its former record back: it may be the right one of another cluster.
// Otherwise it may still be written, and then names the store as it is.
func notRecorded(ctx context.Context, config Config, m member, record Record, former content, failure error) error {
	host, err := config.Host.Get(ctx)
	switch {
	case err == nil && host != nil && host.names(&record):
		return nil
	case err == nil && rejected(failure):
		err = keys{config.Etcd.Prefix}.revert(ctx, m.client, record, former)
	}
	switch {
	case ignoreConflict(failure) == nil:
		failure = errChanged
	case err == nil && rejected(failure):
		failure = fmt.Errorf("%w; nothing was changed", failure)
	default:
		failure = fmt.Errorf("%w; the store is not accepted before the host cluster has its record: run the command again",
			ExplainNoSpace(failure))
	}
	return errors.Join(failure, err)
}

// rejected reports whether the host cluster has certainly not made the write.
func rejected(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && status.Status().Code >= 400 && status.Status().Code < 500
}
