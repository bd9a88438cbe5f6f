// Package gateway is how a node with a network of its own reaches what listens on the
// host's loopback, and the registries of container images: two doors on one private
// address, instead of routes and rules in the host.
package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

const (
	// How long connecting to a target may take.
	dialTimeout = 10 * time.Second
	// How long connections may take to end once the gateway stops.
	closeTimeout = 2 * time.Second
)

// Options say what a gateway listens on and where it leads.
type Options struct {
	// API is the address that stands for kube-apiserver, Target where that listens.
	API, Target string
	// Proxy is the address of an HTTP proxy that makes connections (CONNECT) to any host.
	Proxy string
	// Client is the only IP address that may use the proxy: pods have no business there.
	Client string
}

// Serve runs a gateway until ctx ends.
func Serve(ctx context.Context, o Options) error {
	client := net.ParseIP(o.Client)
	if client == nil {
		return fmt.Errorf("the proxy's client %q is no IP address", o.Client)
	}
	var config net.ListenConfig
	api, err := config.Listen(ctx, "tcp", o.API)
	if err != nil {
		return fmt.Errorf("listening for kube-apiserver: %w", err)
	}
	proxy, err := config.Listen(ctx, "tcp", o.Proxy)
	if err != nil {
		return errors.Join(fmt.Errorf("listening as a proxy: %w", err), api.Close())
	}
	server := &http.Server{Handler: connectHandler{client: client}, ReadHeaderTimeout: dialTimeout}
	failed := make(chan error, 2)
	go func() { failed <- relay(ctx, api, o.Target) }()
	go func() { failed <- server.Serve(proxy) }()
	select {
	case err = <-failed:
	case <-ctx.Done():
		err = nil
	}
	// A context of its own name: connections being relayed go on using the caller's.
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	_ = api.Close()
	_ = server.Shutdown(closing)
	return err
}

// relay hands every connection on to target.
func relay(ctx context.Context, listener net.Listener, target string) error {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return err
		}
		go func() {
			upstream, err := dial(ctx, target)
			if err != nil {
				_ = conn.Close() // the client tries again
				return
			}
			join(conn, upstream)
		}()
	}
}

func dial(ctx context.Context, target string) (net.Conn, error) {
	dialer := net.Dialer{Timeout: dialTimeout}
	return dialer.DialContext(ctx, "tcp", target)
}

// join copies both ways until both sides have said all.
func join(a, b net.Conn) {
	var both sync.WaitGroup
	for _, way := range [][2]net.Conn{{a, b}, {b, a}} {
		both.Go(func() {
			_, _ = io.Copy(way[0], way[1])
			// The other way may have more to say: watches last for minutes.
			if half, ok := way[0].(interface{ CloseWrite() error }); ok {
				_ = half.CloseWrite()
			}
		})
	}
	both.Wait()
	_ = a.Close()
	_ = b.Close()
}

// connectHandler serves CONNECT requests of one client.
type connectHandler struct{ client net.IP }

func (h connectHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil || !h.client.Equal(net.ParseIP(host)) {
		http.Error(w, "this proxy fetches images for the node only", http.StatusForbidden)
		return
	}
	if r.Method != http.MethodConnect {
		http.Error(w, "this proxy makes connections (CONNECT) only", http.StatusMethodNotAllowed)
		return
	}
	upstream, err := dial(r.Context(), r.Host)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	hijacker, ok := w.(http.Hijacker)
	if !ok {
		_ = upstream.Close()
		http.Error(w, "this connection cannot be handed on", http.StatusInternalServerError)
		return
	}
	conn, buffered, err := hijacker.Hijack()
	if err != nil {
		_ = upstream.Close()
		return
	}
	_, err = io.WriteString(conn, "HTTP/1.1 200 Connection established\r\n\r\n")
	// What the client sent without waiting for the answer is in the buffer already.
	if n := buffered.Reader.Buffered(); err == nil && n > 0 {
		_, err = io.CopyN(upstream, buffered.Reader, int64(n))
	}
	if err != nil {
		_ = conn.Close()
		_ = upstream.Close()
		return
	}
	join(conn, upstream)
}
