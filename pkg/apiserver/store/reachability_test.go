package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"
)

// freezer is a proxy that can stop passing anything on, as an etcd that hangs.
type freezer struct {
	mu     sync.Mutex
	thawed *sync.Cond
	frozen bool
	// accepted counts the connections, and open has those from clients.
	accepted int
	open     []net.Conn
	// delay is added to every chunk that passes, one after the other.
	delay time.Duration
}

func newFreezer(t *testing.T, endpoint string) (*freezer, string) {
	t.Helper()
	f := &freezer{}
	f.thawed = sync.NewCond(&f.mu)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	socket, _ := unixSocket(endpoint)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			f.mu.Lock()
			f.accepted++
			f.open = append(f.open, conn)
			f.mu.Unlock()
			go f.serve(conn, socket)
		}
	}()
	t.Cleanup(func() { f.set(false); listener.Close() })
	return f, "http://" + listener.Addr().String()
}

func (f *freezer) serve(conn net.Conn, socket string) {
	defer conn.Close()
	target, err := net.Dial("unix", socket)
	if err != nil {
		return
	}
	go func() {
		defer target.Close()
		f.pass(target, conn)
	}()
	f.pass(conn, target)
}

func (f *freezer) pass(to io.Writer, from io.Reader) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		f.mu.Lock()
		for f.frozen {
			f.thawed.Wait()
		}
		delay := f.delay
		f.mu.Unlock()
		time.Sleep(delay)
		if _, writeErr := to.Write(buffer[:n]); err != nil || writeErr != nil {
			return
		}
	}
}

func (f *freezer) isFrozen() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.frozen
}

func (f *freezer) set(frozen bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.frozen = frozen
	f.thawed.Broadcast()
}

// disconnect closes all connections, and returns how many there were so far.
func (f *freezer) disconnect() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, conn := range f.open {
		conn.Close()
	}
	f.open = nil
	return f.accepted
}

func (f *freezer) connections() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.accepted
}

// outages are the outages that a Guard reports.
type outages chan *Outage

func (o outages) next(t *testing.T) *Outage {
	t.Helper()
	select {
	case outage := <-o:
		return outage
	case <-time.After(time.Minute):
		t.Fatal("nothing was reported")
		return nil
	}
}

// runGuard runs a Guard until the test ends, or stop is called, which waits for its end. It returns the
// store's keys as requests have them.
func runGuard(t *testing.T, g *Guard) (kv boundedKV, stop func()) {
	t.Helper()
	g.Start(t.Context())
	if closed := g.Closed(); closed != nil {
		t.Fatalf("closed: %+v", closed)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { g.Run(ctx, clock.RealClock{}) })
	stop = func() { cancel(); running.Wait() }
	t.Cleanup(stop)
	client, err := g.Client()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return boundedKV{client.KV, g}, stop
}

// streams is a KV that notes the contexts of its streams.
type streams struct {
	clientv3.KV
	contexts []context.Context
}

func (s *streams) GetStream(ctx context.Context, key string,
	opts ...clientv3.OpOption) (clientv3.GetStreamChan, error) {
	s.contexts = append(s.contexts, ctx)
	return s.KV.GetStream(ctx, key, opts...)
}

// TestStreamsEnd: a list leaves nothing behind when it has been received, though its caller continues.
func TestStreamsEnd(t *testing.T) {
	g := newGuard(t, newConfig(newEtcd(t), &configMaps{}))
	kv, _ := runGuard(t, g)
	seen := &streams{KV: kv.KV}
	kv.KV = seen
	before := g.reach.answers.Load()
	stream, err := kv.GetStream(t.Context(), "/", clientv3.WithPrefix())
	if err == nil {
		_, err = clientv3.GetStreamToGetResponse(stream)
	}
	if err != nil {
		t.Fatal(err)
	}
	if len(seen.contexts) != 1 || seen.contexts[0].Err() == nil {
		t.Error("the context of the list has not ended")
	}
	if g.reach.answers.Load() == before {
		t.Error("the list does not count as an answer of etcd")
	}
}

// TestHangingEtcd freezes etcd: requests fail within seconds, then at once, and succeed
// when it answers again.
func TestHangingEtcd(t *testing.T) {
	proxy, endpoint := newFreezer(t, newEtcd(t))
	reported := make(outages, 10)
	failure := errors.New("the data directory is in use")
	g := newGuard(t, newConfig(endpoint, &configMaps{}, func(c *Config) {
		c.Reached = func(o *Outage) { reported <- o }
		c.Failure = func() error {
			if proxy.isFrozen() {
				return failure
			}
			return nil
		}
	}))
	kv, stop := runGuard(t, g)
	requests := map[string]func(context.Context) error{
		"get":    func(ctx context.Context) error { _, err := kv.Get(ctx, "/a"); return err },
		"put":    func(ctx context.Context) error { _, err := kv.Put(ctx, "/a", "b"); return err },
		"delete": func(ctx context.Context) error { _, err := kv.Delete(ctx, "/a"); return err },
		"do":     func(ctx context.Context) error { _, err := kv.Do(ctx, clientv3.OpGet("/a")); return err },
		"list":   func(ctx context.Context) error { _, err := kv.Get(ctx, "/", clientv3.WithPrefix()); return err },
		"transaction": func(ctx context.Context) error {
			_, err := kv.Txn(ctx).If(clientv3.Compare(clientv3.ModRevision("/a"), ">", 0)).Then(clientv3.OpPut("/a", "c")).
				Else(clientv3.OpGet("/a")).Commit()
			return err
		},
		"stream": func(ctx context.Context) error {
			stream, err := kv.GetStream(ctx, "/", clientv3.WithPrefix())
			if err == nil {
				_, err = clientv3.GetStreamToGetResponse(stream)
			}
			return closable{guard: g}.failure("", err)
		},
	}
	each := func(t *testing.T, check func(*testing.T, error, time.Duration)) {
		t.Helper()
		var parallel sync.WaitGroup
		for name, request := range requests {
			parallel.Go(func() {
				start := time.Now()
				err := request(t.Context())
				t.Logf("%s: %v after %s", name, err, time.Since(start))
				check(t, err, time.Since(start))
			})
		}
		parallel.Wait()
	}
	succeeds := func(t *testing.T, err error, _ time.Duration) {
		if err != nil {
			t.Errorf("with etcd: %v", err)
		}
	}
	each(t, succeeds)

	for range 2 {
		proxy.set(true)
		each(t, func(t *testing.T, err error, took time.Duration) {
			// Twice the promised time, for slow machines.
			if !unavailable(g, err) || took > 6*time.Second {
				t.Errorf("while etcd hangs: %v after %s, want 503 within 3s", err, took)
			}
		})
		if outage := reported.next(t); outage == nil || outage.Message != failure.Error() {
			t.Errorf("reported %+v, want %v", outage, failure)
		}
		each(t, func(t *testing.T, err error, took time.Duration) {
			if !unavailable(g, err) || took > time.Second {
				t.Errorf("while etcd is known to hang: %v after %s, want 503 at once", err, took)
			}
		})
		proxy.set(false)
		if outage := reported.next(t); outage != nil {
			t.Errorf("reported %+v, want the end", outage)
		}
		if err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, time.Minute, true,
			func(ctx context.Context) (bool, error) {
				return requests["put"](ctx) == nil, nil
			}); err != nil {
			t.Fatal("no write succeeds although etcd answers")
		}
		each(t, succeeds)
	}

	proxy.set(true)
	reported.next(t)
	ended := make(chan struct{})
	go func() { defer close(ended); stop() }()
	select {
	case <-ended:
	case <-time.After(lastRecordTimeout + requestTimeout):
		t.Error("a guard whose etcd hangs does not end")
	}
}

// TestEtcdOfAnotherProcess: a server whose own etcd does not run uses none that listens in
// its place, until its own runs.
func TestEtcdOfAnotherProcess(t *testing.T) {
	endpoint := newEtcd(t)
	var runs atomic.Bool
	g := newGuard(t, newConfig(endpoint, &configMaps{}, func(c *Config) {
		c.Failure = func() error {
			if runs.Load() {
				return nil
			}
			return errors.New("the data directory is in use")
		}
	}))
	g.Start(t.Context())
	if closed := g.Closed(); closed == nil {
		t.Error("open with the etcd of another process")
	}
	runs.Store(true)
	g.Start(t.Context())
	if closed := g.Closed(); closed != nil {
		t.Errorf("closed with its own etcd: %+v", closed)
	}
}

// TestSlowEtcd: an etcd whose answers take a part of a second is not away.
func TestSlowEtcd(t *testing.T) {
	proxy, endpoint := newFreezer(t, newEtcd(t))
	proxy.delay = 100 * time.Millisecond
	reported := make(outages, 10)
	g := newGuard(t, newConfig(endpoint, &configMaps{}, func(c *Config) { c.Reached = func(o *Outage) { reported <- o } }))
	kv, _ := runGuard(t, g)
	// The connection takes several round trips.
	if err := wait.PollUntilContextTimeout(t.Context(), time.Millisecond, time.Minute, true,
		func(ctx context.Context) (bool, error) {
			_, err := kv.Get(ctx, "/a")
			return err == nil, nil
		}); err != nil {
		t.Fatal("no request succeeds")
	}
	for range 3 {
		if _, err := kv.Put(t.Context(), "/a", "b"); err != nil {
			t.Error(err)
		}
	}
	if len(reported) > 0 {
		t.Errorf("reported %+v, want nothing", <-reported)
	}
}

// unavailable reports whether clients get 503, without Retry-After.
func unavailable(g *Guard, err error) bool {
	err = closable{guard: g}.failure("", err)
	var status apierrors.APIStatus
	return errors.As(err, &status) && status.Status().Code == http.StatusServiceUnavailable &&
		status.Status().Details.RetryAfterSeconds == 0
}

func TestWatchesSurviveTheLossOfTheLeader(t *testing.T) {
	lost := status.Error(codes.Unavailable, rpctypes.ErrGRPCNoLeader.Error())
	other := status.Error(codes.FailedPrecondition, "closed")
	if err := resumable(rpctypes.ErrGRPCNoLeader); errors.Is(rpctypes.Error(err), rpctypes.ErrNoLeader) ||
		status.Code(err) != codes.Unavailable {
		t.Errorf("%v, want an error that is no reason to end a watch", err)
	}
	if err := resumable(lost); status.Code(err) != codes.Unavailable {
		t.Errorf("%v, want it unavailable", err)
	}
	if err := resumable(other); err != other {
		t.Errorf("%v, want %v", err, other)
	}
}

// TestWatchOutlivesAHang: a watch waits for the end of an outage in which etcd accepts
// connections and does not answer. The watch cache would list again otherwise, and lose what
// it has.
func TestWatchOutlivesAHang(t *testing.T) {
	t.Parallel()
	proxy, endpoint := newFreezer(t, newEtcd(t))
	g := newGuard(t, newConfig(endpoint, &configMaps{}))
	g.Start(t.Context())
	client := guardedClient(t, g)
	watch := client.Watch(t.Context(), "/registry/", clientv3.WithPrefix(), clientv3.WithCreatedNotify())
	if created := <-watch; !created.Created {
		t.Fatalf("the watch begins with %+v", created)
	}
	proxy.set(true)
	before := proxy.disconnect()
	// Two connections for each attempt: the second attempt follows one that has failed.
	attempts := func(context.Context) (bool, error) {
		select {
		case response := <-watch:
			return false, fmt.Errorf("the watch has ended: %w", response.Err())
		default:
			return proxy.connections() >= before+6, nil
		}
	}
	if err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, time.Minute, true, attempts); err != nil {
		t.Fatal(err)
	}
	proxy.set(false)
	put(t, client, "a")
	select {
	case response := <-watch:
		if err := response.Err(); err != nil || len(response.Events) == 0 {
			t.Errorf("the watch reports %+v (%v), want events", response, err)
		}
	case <-time.After(time.Minute):
		t.Error("the watch reports nothing")
	}
}
