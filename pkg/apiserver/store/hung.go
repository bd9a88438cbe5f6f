package store

import (
	"context"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/stats"
)

// answerTimeout is the time for which a member of etcd may send nothing at all while a request waits
// for it. Keepalive takes longer to notice that a member hangs, and until then a share of
// all requests is sent to it. etcd's client has time to repeat a read at another member
// before requestTimeout.
const answerTimeout = requestTimeout / 2

// hungMembers closes the connections to members of etcd that do not answer while others do,
// so that requests go to those.
type hungMembers struct {
	mu sync.Mutex
	// conns are the open connections, by their local address.
	conns map[string]*memberConn
}

// memberConn notes when something was received.
type memberConn struct {
	net.Conn
	members *hungMembers
	heard   atomic.Int64
}

// dial returns a dialer of noted connections.
func (h *hungMembers) dial(connect func(context.Context, string) (net.Conn, error)) func(context.Context,
	string) (net.Conn, error) {
	return func(ctx context.Context, address string) (net.Conn, error) {
		conn, err := connect(ctx, address)
		if err != nil {
			return nil, err
		}
		c := &memberConn{Conn: conn, members: h}
		c.hear()
		h.mu.Lock()
		defer h.mu.Unlock()
		h.conns[conn.LocalAddr().String()] = c
		return c, nil
	}
}

func (h *hungMembers) conn(local net.Addr) *memberConn {
	if local == nil {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.conns[local.String()]
}

func (c *memberConn) hear() { c.heard.Store(time.Now().UnixNano()) }

// Read reads from the member.
func (c *memberConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 {
		c.hear()
	}
	return n, err //nolint:wrapcheck // A connection passes errors on.
}

// Close closes the connection.
func (c *memberConn) Close() error {
	c.members.mu.Lock()
	if key := c.LocalAddr().String(); c.members.conns[key] == c {
		delete(c.members.conns, key)
	}
	c.members.mu.Unlock()
	return c.Conn.Close() //nolint:wrapcheck // A connection passes errors on.
}

// closeIfSilent closes the connection if nothing was received for answerTimeout, unless no
// other member was heard since: then the whole etcd does not answer, for example because it
// elects a leader.
func (c *memberConn) closeIfSilent() {
	heard := c.heard.Load()
	if time.Since(time.Unix(0, heard)) >= answerTimeout && c.members.heardSince(heard) {
		_ = c.Close()
	}
}

func (h *hungMembers) heardSince(moment int64) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range h.conns {
		if c.heard.Load() > moment {
			return true
		}
	}
	return false
}

// waiting is a request that waits for its answer. A retry replaces the timer.
type waiting struct {
	mu    sync.Mutex
	timer *time.Timer
}

func (w *waiting) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer != nil {
		w.timer.Stop()
	}
}

func (w *waiting) start(c *memberConn) {
	w.stop()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer = time.AfterFunc(answerTimeout, c.closeIfSilent)
}

type waitingKey struct{}

// TagRPC marks the requests that are answered soon. Watches need not be.
func (h *hungMembers) TagRPC(ctx context.Context, info *stats.RPCTagInfo) context.Context {
	if !strings.HasPrefix(info.FullMethodName, "/etcdserverpb.KV/") {
		return ctx
	}
	return context.WithValue(ctx, waitingKey{}, &waiting{})
}

// HandleRPC waits for the answer to a request from when it is sent.
func (h *hungMembers) HandleRPC(ctx context.Context, event stats.RPCStats) {
	w, ok := ctx.Value(waitingKey{}).(*waiting)
	if !ok {
		return
	}
	switch event := event.(type) {
	case *stats.OutHeader:
		if c := h.conn(event.LocalAddr); c != nil {
			w.start(c)
		}
	case *stats.End:
		w.stop()
	}
}

// TagConn does nothing.
func (h *hungMembers) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

// HandleConn does nothing.
func (h *hungMembers) HandleConn(context.Context, stats.ConnStats) {}
