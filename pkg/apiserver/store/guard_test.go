package store

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/clock"
)

// read reads a key as the storage of Websites does, without the retries of etcd's
// client.
func read(t *testing.T, client *clientv3.Client) (int, error) {
	t.Helper()
	return count(t, client.Get)
}

// list reads all keys as the storage of Websites does where it streams lists.
func list(t *testing.T, client *clientv3.Client) (int, error) {
	t.Helper()
	return count(t, func(ctx context.Context, key string, options ...clientv3.OpOption) (*clientv3.GetResponse, error) {
		stream, err := client.GetStream(ctx, key, options...)
		if err != nil {
			return nil, err
		}
		return clientv3.GetStreamToGetResponse(stream)
	})
}

func count(t *testing.T, get func(context.Context, string, ...clientv3.OpOption) (*clientv3.GetResponse,
	error)) (int, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	response, err := get(ctx, "/registry/mycontroller.nevermosby.io/websites/", clientv3.WithPrefix())
	if err != nil {
		return 0, err
	}
	return len(response.Kvs), nil
}

func guardedClient(t *testing.T, g *Guard) *clientv3.Client {
	t.Helper()
	client, err := g.Client()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client.Client
}

// newStores returns two recorded stores with the same number of keys, and the host
// of the first one. The revision of the second one is higher by more.
func newStores(t *testing.T, more int) (host *configMaps, first, second *clientv3.Client) {
	t.Helper()
	host = &configMaps{}
	for i, h := range []*configMaps{host, {}} {
		endpoint := newEtcd(t)
		r := newRecorder(t, endpoint, h)
		put(t, r.client, "a")
		if i == 1 {
			for range more {
				put(t, r.client, "a")
			}
		}
		mustRecord(t, r)
		first, second = second, r.client
	}
	return host, first, second
}

// TestNoConnectionToAnotherStore connects to a store that is not the right one.
func TestNoConnectionToAnotherStore(t *testing.T) {
	host, _, other := newStores(t, 0)
	observed := &changes{}
	g := newGuard(t, newConfig(other.Endpoints()[0], host, withChanges(observed)))
	client := guardedClient(t, g)
	if _, err := read(t, client); err == nil {
		t.Error("a store that is not the right one was read")
	}
	if got := reasonOf(g.Closed()); got != ReasonForeign {
		t.Errorf("reason = %q, want %q", got, ReasonForeign)
	}
	if got := observed.all(); !slices.Equal(got, []string{ReasonForeign}) {
		t.Errorf("transitions = %v", got)
	}
	if !strings.Contains(g.Closed().Message, "website-apiserver store accept") {
		t.Errorf("the message does not say what to do: %s", g.Closed().Message)
	}

	if err := BeginImport(t.Context(), other, "/registry", "50 Websites"); err != nil {
		t.Fatal(err)
	}
	if _, err := Accept(t.Context(), newConfig(other.Endpoints()[0], host), false); err == nil ||
		!strings.Contains(err.Error(), "not completed (50 Websites)") {
		t.Errorf("accepting a store with half of an import = %v, want an error", err)
	}
	if err := EndImport(t.Context(), other, "/registry"); err != nil {
		t.Fatal(err)
	}
	// The first member of several does not answer.
	withLostMember := func(c *Config) {
		c.Etcd.Transport.ServerList = append([]string{"http://127.0.0.1:1"}, c.Etcd.Transport.ServerList...)
	}
	if _, err := Accept(t.Context(), newConfig(other.Endpoints()[0], host, withLostMember), false); err != nil {
		t.Fatal(err)
	}
	g.Start(t.Context())
	if closed := g.Closed(); closed != nil {
		t.Fatalf("closed with an accepted store: %v", closed)
	}
	if _, err := read(t, client); err != nil {
		t.Errorf("an accepted store cannot be read: %v", err)
	}
	if got := observed.all(); !slices.Equal(got, []string{ReasonForeign, "open"}) {
		t.Errorf("transitions = %v", got)
	}
}

// TestReplacedBehindAProxy replaces the store while the connection stays: no
// response of the other one may pass, whether its revision is lower or its cluster
// calls itself otherwise.
func TestReplacedBehindAProxy(t *testing.T) {
	tests := map[string]struct {
		read      func(*testing.T, *clientv3.Client) (int, error)
		more      int
		clusterID uint64
	}{
		"an earlier revision":                             {read: read, more: -1},
		"another cluster, at a later revision":            {read: read, more: 50, clusterID: 42},
		"a list, an earlier revision":                     {read: list, more: -1},
		"a list, of another cluster, at a later revision": {read: list, more: 50, clusterID: 42},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			host, right, wrong := newStores(t, max(test.more, 0))
			if test.more < 0 {
				for range 20 {
					put(t, right, "a")
				}
			}
			p, endpoint := newProxy(t, right)
			g := newGuard(t, newConfig(endpoint, host))
			g.Start(t.Context())
			client := guardedClient(t, g)
			if n, err := test.read(t, client); err != nil || n != 1 {
				t.Fatalf("the right store has %d keys, %v", n, err)
			}
			watching := client.Watch(t.Context(), "/registry/mycontroller.nevermosby.io/", clientv3.WithPrefix())

			p.behind.Store(wrong)
			p.clusterID.Store(test.clusterID)
			if n, err := test.read(t, client); err == nil {
				t.Errorf("the wrong store was read, it has %d keys", n)
			}
			if got := reasonOf(g.Closed()); got != ReasonForeign {
				t.Errorf("reason = %q, want %q", got, ReasonForeign)
			}
			put(t, wrong, "b")
			put(t, right, "c")
			select {
			case response := <-watching:
				if test.clusterID != 0 && len(response.Events) > 0 {
					t.Errorf("an event of another cluster passed: %v", response.Events)
				}
			case <-time.After(100 * time.Millisecond):
			}

			p.behind.Store(right)
			p.clusterID.Store(0)
			g.Start(t.Context())
			if closed := g.Closed(); closed != nil {
				t.Fatalf("closed with the right store: %v", closed)
			}
			if _, err := test.read(t, client); err != nil {
				t.Errorf("the right store cannot be read again: %v", err)
			}
		})
	}
}

// TestRightStoreUnderAnotherName has the right store restored into a cluster of
// another ID: nothing is refused.
func TestRightStoreUnderAnotherName(t *testing.T) {
	host, right, _ := newStores(t, 0)
	p, endpoint := newProxy(t, right)
	g := newGuard(t, newConfig(endpoint, host))
	g.Start(t.Context())
	client := guardedClient(t, g)
	for _, id := range []uint64{0, 42, 43} {
		p.clusterID.Store(id)
		if _, err := read(t, client); err != nil {
			t.Errorf("cluster %d: %v", id, err)
		}
	}
	if closed := g.Closed(); closed != nil {
		t.Errorf("closed: %v", closed)
	}
}

// TestHostThatDoesNotAnswer starts a server while the host cluster does not say
// which store is the right one.
func TestHostThatDoesNotAnswer(t *testing.T) {
	host, right, _ := newStores(t, 0)
	host.setFault(func(int, bool) error { return errors.New("connection refused") })
	g := newGuard(t, newConfig(right.Endpoints()[0], host))
	g.Start(t.Context())
	if got := reasonOf(g.Closed()); got != ReasonHostUnreachable {
		t.Errorf("reason = %q, want %q", got, ReasonHostUnreachable)
	}
	if _, err := read(t, guardedClient(t, g)); err == nil {
		t.Error("a store was read that was not verified")
	}

	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		g.Run(ctx, clock.RealClock{})
	}()
	host.setFault(nil)
	deadline := time.After(30 * time.Second)
	for g.Closed() != nil {
		select {
		case <-deadline:
			t.Fatalf("still closed: %v", g.Closed())
		case <-time.After(10 * time.Millisecond):
		}
	}
	cancel()
	<-done
}

// TestOneReport: the objects without an owner change while the server is closed. That is neither logged nor an event.
func TestOneReport(t *testing.T) {
	observed, owned := &changes{}, []OwnedObject{{Resource: "services", Namespace: "a", Name: "one", UID: "uid-a"}}
	g := newGuard(t, newConfig(newEtcd(t), &configMaps{}, withChanges(observed), func(c *Config) {
		c.Owned = func(context.Context) ([]OwnedObject, error) { return owned, nil }
	}))
	g.Start(t.Context())
	owned = append(owned, owned[0])
	g.Start(t.Context())
	if closed := g.Closed(); reasonOf(closed) != ReasonEmpty || !strings.Contains(closed.Message, "2 objects") {
		t.Errorf("the server is closed as %+v, want %s because of 2 objects", closed, ReasonEmpty)
	}
	if got := observed.all(); !slices.Equal(got, []string{ReasonEmpty}) {
		t.Errorf("transitions = %v", got)
	}
}

// TestAdoption starts servers on stores that no record names.
func TestAdoption(t *testing.T) {
	ofA := OwnedObject{"deployments", "default", "a", "a", "uid-a", true}
	tests := map[string]struct {
		tweaks []func(*Config)
		want   string
	}{
		"nothing is owned":            {},
		"every owner is in the store": {tweaks: []func(*Config){withOwned(ofA), withWebsites("uid-a")}},
		"an owner is not in the store": {tweaks: []func(*Config){withOwned(ofA), withWebsites("uid-b")},
			want: ReasonUnknownOwners},
		"the store is empty": {tweaks: []func(*Config){withOwned(ofA)}, want: ReasonEmpty},
		"objects may not be listed": {tweaks: []func(*Config){func(c *Config) {
			c.Owned = func(context.Context) ([]OwnedObject, error) { return nil, errors.New("forbidden") }
		}}, want: ReasonHostUnreachable},
		"Websites cannot be decoded": {tweaks: []func(*Config){func(c *Config) {
			c.Websites = func(context.Context, string) (sets.Set[types.UID], error) { return nil, errors.New("no key") }
		}}, want: ReasonUnreadable},
	}
	endpoint := newEtcd(t)
	client := etcdClient(t, endpoint)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if _, err := client.Delete(t.Context(), keys{"/registry"}.record()); err != nil {
				t.Fatal(err)
			}
			host := &configMaps{}
			g := newGuard(t, newConfig(endpoint, host, test.tweaks...))
			g.Start(t.Context())
			if got := reasonOf(g.Closed()); got != test.want {
				t.Fatalf("reason = %q, want %q", got, test.want)
			}
			c, err := stored(t.Context(), client)
			if err != nil {
				t.Fatal(err)
			}
			if adopted := c.record != nil && host.current != nil; adopted != (test.want == "") {
				t.Errorf("the store has %v, the host %v", c.record, host.current)
			}
		})
	}
}

// TestOneOfSeveralEndpoints has one endpoint lead to another store, as after a
// member was recreated empty: the others serve, and it is not read.
func TestOneOfSeveralEndpoints(t *testing.T) {
	host, right, wrong := newStores(t, 0)
	put(t, wrong, "b")
	config := newConfig(right.Endpoints()[0], host)
	config.Etcd.Transport.ServerList = []string{right.Endpoints()[0], wrong.Endpoints()[0]}
	g := newGuard(t, config)
	g.Start(t.Context())
	if closed := g.Closed(); closed != nil {
		t.Fatalf("closed: %v", closed)
	}
	client := guardedClient(t, g)
	for range 20 {
		if n, err := read(t, client); err != nil || n != 1 {
			t.Errorf("read %d keys, %v; want 1", n, err)
		}
	}
}
