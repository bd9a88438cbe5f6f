package store

import (
	"context"
	"errors"
	"fmt"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
)

// Report is what Inspect found.
type Report struct {
	// Store is the record in the store, nil if there is none.
	Store *Record
	// Host is the record in the host cluster, nil if there is none.
	Host *HostRecord
	// Closed is why a server does not open with this store; nil if it does.
	Closed *Closed
	// Websites is how many Websites the store has.
	Websites int
	// Owned is how many objects of the host cluster are owned by a Website.
	Owned int
	// Unknown are those of them whose owner the store does not have. The garbage
	// collector deletes them once the server is open.
	Unknown []OwnedObject
	// Incomplete describes an import into the store that was not completed; empty if
	// there is none.
	Incomplete string
}

// Inspect reports on the store and the host cluster, and changes nothing. It
// returns an error when one of them cannot be read.
func Inspect(ctx context.Context, config Config) (Report, error) {
	report, _, err := inspect(ctx, config)
	return report, err
}

func inspect(ctx context.Context, config Config) (Report, content, error) {
	dialer, err := newDialer(config.Etcd.Transport)
	if err != nil {
		return Report{}, content{}, err
	}
	endpoint := config.Etcd.Transport.ServerList[0]
	client, err := dialer.client(endpoint)
	if err != nil {
		return Report{}, content{}, err
	}
	defer client.Close() //nolint:errcheck // Nothing was sent that could be lost.

	var report Report
	if report.Host, err = config.Host.Get(ctx); err != nil {
		return Report{}, content{}, err
	}
	c, err := keys{config.Etcd.Prefix}.read(ctx, etcdserverpb.NewKVClient(client.ActiveConnection()))
	if err != nil {
		return Report{}, content{}, fmt.Errorf("%w (an embedded etcd is reached in the --data-dir of a running server)", err)
	}
	report.Store = c.record
	if report.Incomplete, err = (keys{config.Etcd.Prefix}).incomplete(ctx, client); err != nil {
		return Report{}, content{}, err
	}
	owned, err := config.Owned(ctx)
	if err != nil {
		return Report{}, content{}, err
	}
	uids, err := config.Websites(ctx, endpoint)
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
// in it are deleted by the garbage collector from then on. It returns what it
// found before, and an error when something was written meanwhile, or when an import
// into the store was not completed, unless withIncompleteImport is set.
func Accept(ctx context.Context, config Config, withIncompleteImport bool) (Report, error) {
	report, c, err := inspect(ctx, config)
	if err != nil {
		return Report{}, err
	}
	if report.Incomplete != "" && !withIncompleteImport {
		return Report{}, fmt.Errorf("an import into the store was not completed (%s): the objects of missing Websites would be deleted; run \"website-apiserver store import\" again, or accept the store --with-incomplete-import", report.Incomplete)
	}
	// A store that another cluster may still be served from gets a new identity,
	// so that the servers of that cluster report it.
	record := Record{Identity: newIdentity(), Nonce: newNonce()}
	if report.Host != nil && c.record != nil && c.record.Identity == report.Host.Identity {
		record.Identity = c.record.Identity
	}
	dialer, err := newDialer(config.Etcd.Transport)
	if err != nil {
		return Report{}, err
	}
	client, err := dialer.client(config.Etcd.Transport.ServerList[0])
	if err != nil {
		return Report{}, err
	}
	defer client.Close() //nolint:errcheck // The write was answered.
	// The store first: until the host names it, servers stay closed.
	written, err := keys{config.Etcd.Prefix}.write(ctx, client, c, record)
	if err != nil {
		return Report{}, err
	}
	if !written {
		return Report{}, errChanged
	}
	if _, err := config.Host.Put(ctx, report.Host, HostRecord{Identity: record.Identity, Nonces: []string{record.Nonce}}); err != nil {
		if ignoreConflict(err) == nil {
			return Report{}, errChanged
		}
		return Report{}, err
	}
	report.Store = &record
	return report, nil
}
