package embeddedetcd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
	"k8s.io/utils/clock"
)

var errNoConnection = errors.New("no connection is needed")

// startSupervisor runs etcd until the test ends.
func startSupervisor(t *testing.T) *Supervisor {
	t.Helper()
	s := NewSupervisor(Config{DataDir: newDataDir(t), QuotaBytes: DefaultQuotaBytes, HistoryBytes: DefaultHistoryBytes},
		clock.RealClock{})
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := errors.Join(<-ended, s.Close()); err != nil {
			t.Error(err)
		}
	})
	s.Wait(ctx)
	if failure := s.Failure(); failure != nil {
		t.Fatal(failure)
	}
	return s
}

// directClient returns a client that cannot connect.
func directClient(t *testing.T, s *Supervisor) *clientv3.Client {
	t.Helper()
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{"unix:///nowhere"}, DialOptions: []grpc.DialOption{
		grpc.WithChainUnaryInterceptor(s.Direct),
		grpc.WithContextDialer(func(context.Context, string) (net.Conn, error) { return nil, errNoConnection }),
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return client
}

// put writes as the storage of k8s.io/apiserver does, and returns the revision.
func put(t *testing.T, client *clientv3.Client, key, value string) int64 {
	t.Helper()
	response, err := client.Txn(t.Context()).Then(clientv3.OpPut(key, value)).Commit()
	if err != nil {
		t.Fatal(err)
	}
	if !response.Succeeded || response.Header.Revision == 0 || len(response.Responses) != 1 {
		t.Errorf("response = %v", response)
	}
	return response.Header.Revision
}

func TestDirect(t *testing.T) {
	client := directClient(t, startSupervisor(t))
	first := put(t, client, "key", "first")
	last := put(t, client, "key", "last")

	now, err := client.Get(t.Context(), "key")
	if err != nil {
		t.Fatal(err)
	}
	if now.Count != 1 || len(now.Kvs) != 1 || string(now.Kvs[0].Value) != "last" || now.Kvs[0].ModRevision != last ||
		now.Header.Revision != last {
		t.Errorf("key = %v", now)
	}
	before, err := client.Get(t.Context(), "key", clientv3.WithRev(first))
	if err != nil || string(before.Kvs[0].Value) != "first" {
		t.Errorf("key at revision %d = %v, %v", first, before, err)
	}
	put(t, client, "other", "value")
	page, err := client.Get(t.Context(), "", clientv3.WithPrefix(), clientv3.WithLimit(1))
	if err != nil || len(page.Kvs) != 1 || !page.More || page.Count != 2 {
		t.Errorf("page = %v, %v", page, err)
	}
	conflict, err := client.Txn(t.Context()).If(clientv3.Compare(clientv3.ModRevision("key"), "=", first)).
		Then(clientv3.OpPut("key", "lost")).Else(clientv3.OpGet("key")).Commit()
	if err != nil || conflict.Succeeded || string(conflict.Responses[0].GetResponseRange().Kvs[0].Value) != "last" {
		t.Errorf("a write with an old revision: %v, %v", conflict, err)
	}
}

// TestDirectErrors: errors equal those over a connection.
func TestDirectErrors(t *testing.T) {
	client := directClient(t, startSupervisor(t))
	if _, err := client.Get(t.Context(), "key", clientv3.WithRev(1000)); !errors.Is(err, rpctypes.ErrFutureRev) {
		t.Errorf("a read of the future: %v", err)
	}
	if _, err := client.Txn(t.Context()).Then(clientv3.OpPut("key", strings.Repeat("x", 2<<20))).Commit(); !errors.Is(err,
		rpctypes.ErrRequestTooLarge) {
		t.Errorf("a write that is too large: %v", err)
	}
	if _, err := client.Txn(t.Context()).Then(clientv3.OpPut("", "value")).Commit(); !errors.Is(err,
		rpctypes.ErrEmptyKey) {
		t.Errorf("a write without a key: %v", err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := client.Txn(ended).Then(clientv3.OpPut("key", "value")).Commit(); !errors.Is(err, context.Canceled) {
		t.Errorf("a write whose client has gone: %v", err)
	}
	if _, err := client.Get(ended, "key"); !errors.Is(err, context.Canceled) {
		t.Errorf("a read whose client has gone: %v", err)
	}
}

// TestDirectReadEndsWithItsContext: a commit that waits for the disk blocks reads, but their
// callers return.
func TestDirectReadEndsWithItsContext(t *testing.T) {
	s := startSupervisor(t)
	client := directClient(t, s)
	// The next commit waits for this reader, and other readers and writers wait for the commit.
	reader := s.server.Load().etcd.Server.Backend().ReadTx()
	reader.RLock()
	defer reader.RUnlock()

	bounded := func(request func(context.Context) error) error {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		return request(ctx)
	}
	ended := make(chan error, 1)
	go func() {
		var err error
		for err == nil {
			_ = bounded(func(ctx context.Context) error {
				_, err := client.Txn(ctx).Then(clientv3.OpPut("key", "value")).Commit()
				return err
			})
			err = bounded(func(ctx context.Context) error {
				_, err := client.Get(ctx, "key")
				return err
			})
		}
		ended <- err
	}()
	select {
	case err := <-ended:
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the read ended with %v", err)
		}
	case <-time.After(30 * time.Second):
		t.Error("the read does not end")
	}
}

// TestDirectReadsAreLinearizable: every write is read by all clients at once, although no read is
// confirmed by a quorum.
func TestDirectReadsAreLinearizable(t *testing.T) {
	s := startSupervisor(t)
	var writers sync.WaitGroup
	for i := range 8 {
		client, key := directClient(t, s), fmt.Sprintf("key-%d", i)
		other := directClient(t, s)
		writers.Go(func() {
			for n := range 50 {
				value := fmt.Sprint(n)
				response, err := client.Txn(t.Context()).Then(clientv3.OpPut(key, value)).Commit()
				if err != nil {
					t.Error(err)
					return
				}
				got, err := other.Get(t.Context(), key)
				if err != nil || len(got.Kvs) != 1 || string(got.Kvs[0].Value) != value ||
					got.Header.Revision < response.Header.Revision {
					t.Errorf("after %s = %s at revision %d it is %v, %v", key, value, response.Header.Revision, got, err)
					return
				}
			}
		})
	}
	writers.Wait()
}

// TestWithoutEtcdRequestsAreSent: the connection is refused with the reason.
func TestWithoutEtcdRequestsAreSent(t *testing.T) {
	client := directClient(t, NewSupervisor(Config{DataDir: newDataDir(t)}, clock.RealClock{}))
	ctx, end := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer end()
	if _, err := client.Get(ctx, "key"); err == nil {
		t.Error("an etcd that does not run has answered")
	}
	if _, err := client.Txn(ctx).Then(clientv3.OpPut("key", "value")).Commit(); err == nil {
		t.Error("an etcd that does not run has answered")
	}
}
