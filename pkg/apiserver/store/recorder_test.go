package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apiserver/pkg/storage/etcd3"
)

// newRecorder returns a recorder of an adopted store.
func newRecorder(t *testing.T, endpoint string, host *configMaps) *recorder {
	t.Helper()
	g := newGuard(t, newConfig(endpoint, host))
	g.Start(t.Context())
	if closed := g.Closed(); closed != nil {
		t.Fatalf("the store was not adopted: %v", closed)
	}
	return &recorder{guard: g, client: etcdClient(t, endpoint), untidy: true}
}

func mustRecord(t *testing.T, r *recorder) {
	t.Helper()
	if err := r.record(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// stored returns the record of the store.
func stored(ctx context.Context, client *clientv3.Client) (content, error) {
	return keys{"/registry"}.read(ctx, etcdserverpb.NewKVClient(client.ActiveConnection()))
}

func mustStored(t *testing.T, client *clientv3.Client) Record {
	t.Helper()
	c, err := stored(t.Context(), client)
	if err != nil {
		t.Fatal(err)
	}
	return *c.record
}

func hostRecord(t *testing.T, host *configMaps) HostRecord {
	t.Helper()
	record, err := HostRecords{ConfigMaps: host}.Get(t.Context())
	if err != nil || record == nil {
		t.Fatalf("the record of the host: %v, %v", record, err)
	}
	return *record
}

// TestRecordOutdatesCopies takes a copy of the store before a write: it must be
// distinguished from the store after the next record.
func TestRecordOutdatesCopies(t *testing.T) {
	host, endpoint := &configMaps{}, newEtcd(t)
	r := newRecorder(t, endpoint, host)
	mustRecord(t, r)
	first := hostRecord(t, host)
	copied := mustStored(t, r.client)

	put(t, r.client, "a")
	mustRecord(t, r)
	after := hostRecord(t, host)
	if after.names(&copied) {
		t.Errorf("the host still names a copy from before the write: %v", after)
	}
	if current := mustStored(t, r.client); !after.names(&current) || len(after.Nonces) != 1 {
		t.Errorf("the host has %v, the store %v", after, current)
	}
	if after.Identity != first.Identity {
		t.Errorf("the identity changed from %s to %s", first.Identity, after.Identity)
	}
}

// TestRecordOnlyWhenSomethingWasWritten has nothing written, and only by the
// compactor.
func TestRecordOnlyWhenSomethingWasWritten(t *testing.T) {
	host, endpoint := &configMaps{}, newEtcd(t)
	r := newRecorder(t, endpoint, host)
	put(t, r.client, "a")
	mustRecord(t, r)
	before, version := mustStored(t, r.client), hostRecord(t, host).resourceVersion
	calls := host.counted()
	for range idleRecords/2 - 1 {
		mustRecord(t, r)
		if _, err := r.client.Put(t.Context(), compactRevisionKey, "1"); err != nil {
			t.Fatal(err)
		}
		mustRecord(t, r)
	}
	if got := host.counted() - calls; got != 0 {
		t.Errorf("%d calls to the host with nothing to record, want 0", got)
	}
	if after := mustStored(t, r.client); after != before || hostRecord(t, host).resourceVersion != version {
		t.Errorf("the record changed from %v to %v with nothing to record", before, after)
	}
	put(t, r.client, "b")
	mustRecord(t, r)
	if after := mustStored(t, r.client); after.Nonce == before.Nonce {
		t.Error("the nonce is the same after a write")
	}
}

// TestRecordCrashes ends a server at every call to the host: the next one must
// find a store that the host names, and must leave no copy that it names.
func TestRecordCrashes(t *testing.T) {
	for call := 1; call <= 3; call++ {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprintf("call %d, after it took effect: %t", call, after), func(t *testing.T) {
				host, endpoint := &configMaps{}, newEtcd(t)
				r := newRecorder(t, endpoint, host)
				mustRecord(t, r)
				copied := mustStored(t, r.client)
				put(t, r.client, "a")
				host.setFault(func(n int, done bool) error {
					if n == call && done == after {
						return errors.New("the server crashed")
					}
					return nil
				})
				if err := r.record(t.Context()); err == nil {
					t.Fatal("the fault did not come")
				}
				host.setFault(nil)
				current := mustStored(t, r.client)
				if record := hostRecord(t, host); !record.names(&current) {
					t.Fatalf("the host has %v, the store %v", record, current)
				}

				next := newRecorder(t, endpoint, host)
				mustRecord(t, next)
				// The state after a crash may take a second record.
				next.untidy = true
				mustRecord(t, next)
				current = mustStored(t, r.client)
				record := hostRecord(t, host)
				if !record.names(&current) || record.names(&copied) || len(record.Nonces) != 1 {
					t.Errorf("the host has %v, the store %v, the copy %v", record, current, copied)
				}
			})
		}
	}
}

// TestManyRecorders has servers record at once, while one that starts verifies.
func TestManyRecorders(t *testing.T) {
	host, endpoint := &configMaps{}, newEtcd(t)
	var recorders sync.WaitGroup
	stop := make(chan struct{})
	observed := &changes{}
	observer := newGuard(t, newConfig(endpoint, host, withChanges(observed)))
	observer.Start(t.Context())
	for i := range 4 {
		r := newRecorder(t, endpoint, host)
		recorders.Go(func() {
			for n := range 60 {
				put(t, r.client, fmt.Sprintf("%d-%d", i, n))
				if err := r.record(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	var verifications sync.WaitGroup
	count := 0
	verifications.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				observer.Start(t.Context())
				count++
			}
		}
	})
	recorders.Wait()
	close(stop)
	verifications.Wait()
	if got := observed.all(); len(got) != 0 {
		t.Errorf("%d verifications beside recorders found %v", count, got)
	}
	if count < 10 {
		t.Errorf("%d verifications only", count)
	}
	r := newRecorder(t, endpoint, host)
	current := mustStored(t, r.client)
	if record := hostRecord(t, host); !record.names(&current) {
		t.Errorf("the host has %v, the store %v", record, current)
	}
}

// TestDeletedHostRecordIsWrittenAgain deletes the record of the host under a server
// that has it.
func TestDeletedHostRecordIsWrittenAgain(t *testing.T) {
	host, endpoint := &configMaps{}, newEtcd(t)
	r := newRecorder(t, endpoint, host)
	mustRecord(t, r)
	before := hostRecord(t, host)
	host.remove()
	put(t, r.client, "a")
	mustRecord(t, r)
	mustRecord(t, r)
	current, after := mustStored(t, r.client), hostRecord(t, host)
	if !after.names(&current) || after.Identity != before.Identity {
		t.Errorf("the host has %v, the store %v", after, current)
	}
}

// TestAnotherClusterTakesTheStore has a second cluster accept the store of a
// running server: the server must not use it any longer.
func TestAnotherClusterTakesTheStore(t *testing.T) {
	ours, theirs, endpoint := &configMaps{}, &configMaps{}, newEtcd(t)
	r := newRecorder(t, endpoint, ours)
	mustRecord(t, r)
	if _, err := Accept(t.Context(), newConfig(endpoint, theirs), false); err != nil {
		t.Fatal(err)
	}
	if err := r.record(t.Context()); err == nil {
		t.Error("the server records a store that is another cluster's")
	}
	if got := reasonOf(r.guard.Closed()); got != ReasonForeign {
		t.Errorf("reason = %q, want %q", got, ReasonForeign)
	}
}

// TestReplacedStoreOfSeveralMembers replaces the store behind two endpoints. One of them
// does not answer: the server must close, although the last answer of that one was right.
func TestReplacedStoreOfSeveralMembers(t *testing.T) {
	host, endpoint := &configMaps{}, newEtcd(t)
	config := newConfig(endpoint, host)
	unreachable := "http://127.0.0.1:1"
	config.Etcd.Transport.ServerList = []string{endpoint, unreachable}
	g := newGuard(t, config)
	g.Start(t.Context())
	g.setVerdict(t.Context(), nil, unreachable)
	if closed := g.Closed(); closed != nil {
		t.Fatalf("the store was not adopted: %v", closed)
	}
	r := &recorder{guard: g, client: etcdClient(t, endpoint), untidy: true}
	mustRecord(t, r)
	if _, err := r.client.Put(t.Context(), (keys{"/registry"}).record(),
		`{"identity":"`+hostRecord(t, host).Identity+`","nonce":"earlier"}`); err != nil {
		t.Fatal(err)
	}
	if err := r.record(t.Context()); err == nil || !strings.Contains(err.Error(), "earlier copy") {
		t.Errorf("recording = %v, want that the store is an earlier copy", err)
	}
	if got := reasonOf(g.Closed()); got != ReasonOutdated {
		t.Errorf("reason = %q, want %q", got, ReasonOutdated)
	}
}

// TestAnotherStoreIsAccepted has another store, or a restored copy, accepted under a server that is open, also one to
// which nothing is written: it must close, and not take the record back.
func TestAnotherStoreIsAccepted(t *testing.T) {
	for name, test := range map[string]struct{ write, isCopy bool }{
		"nothing is written":           {},
		"something is written":         {write: true},
		"a copy, nothing is written":   {isCopy: true},
		"a copy, something is written": {isCopy: true, write: true},
	} {
		t.Run(name, func(t *testing.T) {
			host, former, next := &configMaps{}, newEtcd(t), newEtcd(t)
			r := newRecorder(t, former, host)
			mustRecord(t, r)
			if test.isCopy {
				// As a restored snapshot has it.
				if _, err := etcdClient(t, next).Put(t.Context(), (keys{"/registry"}).record(),
					`{"identity":"`+hostRecord(t, host).Identity+`","nonce":"restored"}`); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := Accept(t.Context(), newConfig(next, host), false); err != nil {
				t.Fatal(err)
			}
			accepted := hostRecord(t, host)
			if test.write {
				put(t, r.client, "a")
			}
			for range idleRecords {
				// The last of them says that the store is closed.
				_ = r.record(t.Context())
			}
			if got := reasonOf(r.guard.Closed()); got != ReasonForeign {
				t.Errorf("reason = %q, want %q", got, ReasonForeign)
			}
			if got := hostRecord(t, host); got.Identity != accepted.Identity {
				t.Errorf("the host has the store %s, want the accepted one %s", got.Identity, accepted.Identity)
			}
		})
	}
}

// TestCompactorOfAnotherStore: the compactor of a server that has compacted the former store continues in one that is
// accepted.
func TestCompactorOfAnotherStore(t *testing.T) {
	endpoint := newEtcd(t)
	if _, err := Accept(t.Context(), newConfig(endpoint, &configMaps{}), false); err != nil {
		t.Fatal(err)
	}
	if _, _, _, err := etcd3.Compact(t.Context(), etcdClient(t, endpoint), 3, 10); err != nil {
		t.Error(err)
	}
}
