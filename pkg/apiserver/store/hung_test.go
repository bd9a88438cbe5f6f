package store

import (
	"context"
	"net"
	"sync"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// relay stands for the network in front of a member, or for the member itself when it
// hangs: it receives requests, and sends nothing.
type relay struct {
	mu     sync.Mutex
	frozen bool
}

func (r *relay) freeze() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.frozen = true
}

// newRelay starts a relay to a unix socket and returns its endpoint.
func newRelay(t *testing.T, endpoint string) (*relay, string) {
	t.Helper()
	socket, _ := unixSocket(endpoint)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	r := &relay{}
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("unix", socket)
			if err != nil {
				_ = client.Close()
				continue
			}
			go r.copy(client, server)
			go r.copy(server, client)
		}
	}()
	return r, "http://" + listener.Addr().String()
}

// copy moves data in one direction, and swallows it while the relay is frozen.
func (r *relay) copy(to, from net.Conn) {
	defer func() { _, _ = to.Close(), from.Close() }()
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		r.mu.Lock()
		frozen := r.frozen
		r.mu.Unlock()
		if !frozen {
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// TestHungMember has one of two members hang: no more than the first request that was sent
// to it fails.
func TestHungMember(t *testing.T) {
	host, endpoint := &configMaps{}, newEtcd(t)
	r, relayed := newRelay(t, endpoint)
	config := newConfig(endpoint, host)
	config.Etcd.Transport.ServerList = []string{relayed, endpoint}
	g := newGuard(t, config)
	g.Start(t.Context())
	client := guardedClient(t, g)
	// Requests go to the members in turn.
	readAll := func() (failed int) {
		for range 20 {
			ctx, cancel := context.WithTimeout(t.Context(), requestTimeout)
			if _, err := client.Get(ctx, "/registry/", clientv3.WithPrefix()); err != nil {
				failed++
			}
			cancel()
		}
		return failed
	}
	if failed := readAll(); failed > 0 {
		t.Fatalf("%d of 20 reads failed before", failed)
	}
	r.freeze()
	if failed := readAll(); failed > 1 {
		t.Errorf("%d of 20 reads failed, want 1 at most", failed)
	}
}

// TestHungMemberIsNoOutage: etcd answers as long as one of its members does.
func TestHungMemberIsNoOutage(t *testing.T) {
	endpoint := newEtcd(t)
	r, relayed := newRelay(t, endpoint)
	g := newGuard(t, newConfig(endpoint, &configMaps{}))
	members := []*clientv3.Client{etcdClient(t, relayed), etcdClient(t, endpoint)}
	r.freeze()
	for range 3 {
		if err := g.probe(t.Context(), members); err != nil {
			t.Errorf("a probe with one member of two that hangs: %v", err)
		}
	}
	if err := g.probe(t.Context(), members[:1]); err == nil {
		t.Error("a probe of the member that hangs has succeeded")
	}
}
