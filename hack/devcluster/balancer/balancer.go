// Package balancer distributes the connections to one port over several servers, as
// kube-proxy does for a Service: each new connection goes to a random ready server, and
// stays there. It can cut a server off, to simulate a network that drops packets.
package balancer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"time"
)

// Options configure a balancer.
type Options struct {
	// Address is the listening address.
	Address string
	// Servers are the addresses of the servers, by name.
	Servers map[string]string
	// Probe returns nil if the server at this address is ready.
	Probe func(ctx context.Context, address string) error
	// Period is the polling interval of the probe, and its timeout.
	Period time.Duration
	// FailureThreshold is the number of consecutive failed probes after which a ready
	// server gets no new connections.
	FailureThreshold int
}

// Balancer is a running balancer.
type Balancer struct {
	options  Options
	listener net.Listener
	cancel   context.CancelFunc
	running  sync.WaitGroup

	mu      sync.Mutex
	servers map[string]*server
	closed  bool
}

// server is one of the servers. Its fields are guarded by Balancer.mu.
type server struct {
	ready    bool
	failures int
	// cut is not nil while the server is cut off; it is closed on reconnection.
	cut chan struct{}
	// total is the number of its connections so far.
	total int
	// open are the connections, with both ends.
	open map[*pair]struct{}
}

// pair are the two ends of a connection.
type pair struct {
	client, server net.Conn
	ended          chan struct{}
	once           sync.Once
}

func (p *pair) close() {
	p.once.Do(func() {
		close(p.ended)
		_ = p.client.Close()
		if p.server != nil {
			_ = p.server.Close()
		}
	})
}

// Start starts a balancer that runs until Close.
func Start(options Options) (*Balancer, error) {
	listener, err := net.Listen("tcp", options.Address)
	if err != nil {
		return nil, fmt.Errorf("listening for connections to balance: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	b := &Balancer{options: options, listener: listener, cancel: cancel, servers: map[string]*server{}}
	for name := range options.Servers {
		b.servers[name] = &server{open: map[*pair]struct{}{}}
	}
	for name, address := range options.Servers {
		b.running.Go(func() { b.probe(ctx, name, address) })
	}
	b.running.Go(func() { b.accept(ctx) })
	return b, nil
}

// Close closes all connections and waits until the balancer has ended.
func (b *Balancer) Close() error {
	b.cancel()
	err := b.listener.Close()
	b.mu.Lock()
	b.closed = true
	for _, s := range b.servers {
		for p := range s.open {
			p.close()
		}
	}
	b.mu.Unlock()
	b.running.Wait()
	if err != nil {
		return fmt.Errorf("closing the balancer: %w", err)
	}
	return nil
}

// CutOff stops the data to and from a server without closing a connection: neither side notices.
// Reconnect ends it; data sent meanwhile arrives then, as TCP retransmits it.
func (b *Balancer) CutOff(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if s := b.servers[name]; s.cut == nil {
		s.cut = make(chan struct{})
	}
}

// Reconnect ends CutOff.
func (b *Balancer) Reconnect(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if s := b.servers[name]; s.cut != nil {
		close(s.cut)
		s.cut = nil
	}
}

// Ready returns the names of the servers that get new connections.
func (b *Balancer) Ready() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var names []string
	for _, name := range slices.Sorted(maps.Keys(b.servers)) {
		if b.servers[name].ready {
			names = append(names, name)
		}
	}
	return names
}

// Connections returns the number of connections of each server so far.
func (b *Balancer) Connections() map[string]int {
	b.mu.Lock()
	defer b.mu.Unlock()
	total := map[string]int{}
	for name, s := range b.servers {
		total[name] = s.total
	}
	return total
}

// probe keeps the readiness of a server up to date.
func (b *Balancer) probe(ctx context.Context, name, address string) {
	ticker := time.NewTicker(b.options.Period)
	defer ticker.Stop()
	for {
		err := errors.New("cut off")
		if b.cut(name) == nil {
			probing, cancel := context.WithTimeout(ctx, b.options.Period)
			err = b.options.Probe(probing, address)
			cancel()
		}
		b.mu.Lock()
		s := b.servers[name]
		if err == nil {
			s.ready, s.failures = true, 0
		} else if s.failures++; s.failures >= b.options.FailureThreshold {
			s.ready = false
		}
		b.mu.Unlock()
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// cut returns a channel that is closed when the server is reconnected, or nil.
func (b *Balancer) cut(name string) chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.servers[name].cut
}

func (b *Balancer) accept(ctx context.Context) {
	for {
		client, err := b.listener.Accept()
		if err != nil {
			return
		}
		name, p := b.assign(client)
		if p == nil {
			// kube-proxy rejects connections to a Service without a ready endpoint.
			_ = client.Close()
			continue
		}
		b.running.Go(func() {
			b.relay(ctx, name, p)
			b.mu.Lock()
			defer b.mu.Unlock()
			delete(b.servers[name].open, p)
		})
	}
}

// assign chooses a server for a connection; the pair is nil without one.
func (b *Balancer) assign(client net.Conn) (name string, p *pair) {
	ready := b.Ready()
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(ready) == 0 || b.closed {
		return "", nil
	}
	name = ready[rand.IntN(len(ready))]
	p = &pair{client: client, ended: make(chan struct{})}
	b.servers[name].total++
	b.servers[name].open[p] = struct{}{}
	return name, p
}

// relay connects the pair until one of its ends is closed.
func (b *Balancer) relay(ctx context.Context, name string, p *pair) {
	defer p.close()
	if !b.passes(name, p) {
		return
	}
	dialer := net.Dialer{Timeout: 10 * time.Second}
	upstream, err := dialer.DialContext(ctx, "tcp", b.options.Servers[name])
	if err != nil {
		return
	}
	b.mu.Lock()
	p.server = upstream
	b.mu.Unlock()
	select {
	case <-p.ended:
		_ = upstream.Close()
		return
	default:
	}
	var copying sync.WaitGroup
	for from, to := range map[net.Conn]net.Conn{p.client: upstream, upstream: p.client} {
		copying.Go(func() {
			defer p.close()
			b.copy(name, p, to, from)
		})
	}
	copying.Wait()
}

// copy copies data in one direction while the server is not cut off.
func (b *Balancer) copy(name string, p *pair, to io.Writer, from io.Reader) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if !b.passes(name, p) {
			return
		}
		if n > 0 {
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// passes waits while the server is cut off. It returns false if the connection has ended.
func (b *Balancer) passes(name string, p *pair) bool {
	for cut := b.cut(name); cut != nil; cut = b.cut(name) {
		select {
		case <-cut:
		case <-p.ended:
			return false
		}
	}
	return true
}
