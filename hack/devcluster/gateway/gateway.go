// Package gateway connects a node in its own network namespace to kube-apiserver on the
// host's loopback, and to image registries: two listeners on one private address, instead of
// routes and rules in the host.
package gateway

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/inetaf/tcpproxy"
)

// dialTimeout is the time limit of a connection to a target.
const dialTimeout = 10 * time.Second

// Options configure a gateway.
type Options struct {
	// API is the listening address for kube-apiserver, Target the address of kube-apiserver itself.
	API, Target string
	// Proxy is the address of an HTTP proxy that makes connections (CONNECT) to any host.
	Proxy string
	// Client is the only IP address that may use the proxy, so that pods cannot.
	Client string
}

// Serve runs a gateway until ctx ends.
func Serve(ctx context.Context, o Options) error {
	client := net.ParseIP(o.Client)
	if client == nil {
		return fmt.Errorf("the proxy's client %q is not an IP address", o.Client)
	}
	proxy, err := net.Listen("tcp", o.Proxy)
	if err != nil {
		return fmt.Errorf("listening as a proxy: %w", err)
	}
	defer func() { _ = proxy.Close() }()
	var relay tcpproxy.Proxy
	relay.AddRoute(o.API, &tcpproxy.DialProxy{Addr: o.Target, DialTimeout: dialTimeout})
	if err := relay.Start(); err != nil {
		return fmt.Errorf("listening for kube-apiserver: %w", err)
	}
	defer func() { _ = relay.Close() }()
	server := &http.Server{Handler: connectHandler{client: client}, ReadHeaderTimeout: dialTimeout}
	defer func() { _ = server.Close() }()
	failed := make(chan error, 2)
	go func() { failed <- relay.Wait() }()
	go func() { failed <- server.Serve(proxy) }()
	select {
	case err = <-failed:
		return err
	case <-ctx.Done():
		return nil
	}
}

// connectHandler serves CONNECT requests of one client.
type connectHandler struct{ client net.IP }

func (h connectHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil || !h.client.Equal(net.ParseIP(host)) {
		http.Error(w, "this proxy is only for pulling images on the node", http.StatusForbidden)
		return
	}
	if r.Method != http.MethodConnect {
		http.Error(w, "this proxy supports only CONNECT", http.StatusMethodNotAllowed)
		return
	}
	dialer := net.Dialer{Timeout: dialTimeout}
	upstream, err := dialer.DialContext(r.Context(), "tcp", r.Host)
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
	// The buffer contains data that the client sent before the response.
	early, _ := buffered.Reader.Peek(buffered.Reader.Buffered())
	if _, err := io.WriteString(conn, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		_ = conn.Close()
		_ = upstream.Close()
		return
	}
	connected := tcpproxy.DialProxy{DialContext: func(context.Context, string, string) (net.Conn,
		error) {
		return upstream, nil
	}}
	connected.HandleConn(&tcpproxy.Conn{Conn: conn, Peeked: early})
}
