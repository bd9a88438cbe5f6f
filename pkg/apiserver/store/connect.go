package store

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/kubernetes"
	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apiserver/pkg/server/egressselector"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/component-base/tracing"
)

const (
	// keepaliveTime and keepaliveTimeout find a dead connection. k8s.io/apiserver takes
	// 40 seconds, in which a hung member fails a share of all requests. gRPC permits no
	// shorter keepaliveTime.
	keepaliveTime    = 10 * time.Second
	keepaliveTimeout = 5 * time.Second
	// maxBackoff bounds the time between two attempts to connect. gRPC's own bound
	// is two minutes, for which the right store would be back and not be served.
	maxBackoff = time.Second
	// connectTimeout leaves a loaded machine time for a TLS handshake.
	connectTimeout = 20 * time.Second
)

// dialer makes clients of etcd.
type dialer struct {
	transport storagebackend.TransportConfig
	tls       *tls.Config
	dial      utilnet.DialFunc
	// failure returns why this process does not run the etcd that it should run. Nil:
	// it runs none.
	failure func() error
}

func newDialer(config storagebackend.TransportConfig) (dialer, error) {
	d := dialer{transport: config, dial: (&net.Dialer{}).DialContext}
	if config.CertFile != "" || config.KeyFile != "" || config.TrustedCAFile != "" {
		info := transport.TLSInfo{CertFile: config.CertFile, KeyFile: config.KeyFile, TrustedCAFile: config.TrustedCAFile}
		var err error
		if d.tls, err = info.ClientConfig(); err != nil {
			return dialer{}, fmt.Errorf("reading the certificates of the etcd client: %w", err)
		}
	}
	if config.EgressLookup != nil {
		egress, err := config.EgressLookup(egressselector.Etcd.AsNetworkContext())
		if err != nil {
			return dialer{}, fmt.Errorf("looking up the egress to etcd: %w", err)
		}
		if egress != nil {
			d.dial = egress
		}
	}
	return d, nil
}

// connect opens a connection to what gRPC calls an address.
func (d dialer) connect(ctx context.Context, address string) (net.Conn, error) {
	// Another process may listen on the socket, which uses the data directory. Its etcd
	// ends with it, and is for one server only.
	if d.failure != nil {
		if err := d.failure(); err != nil {
			return nil, err
		}
	}
	if socket, ok := unixSocket(address); ok {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}
	return d.dial(ctx, "tcp", address)
}

// unixSocket returns the path of an address, or of an endpoint, that is a unix
// socket.
func unixSocket(address string) (string, bool) {
	rest, ok := strings.CutPrefix(address, "unix:")
	// etcd and gRPC write absolute paths with two or three slashes, and more.
	if strings.HasPrefix(rest, "//") {
		rest = "/" + strings.TrimLeft(rest, "/")
	}
	return rest, ok
}

// endpoint is the one that gRPC knows by address.
func (d dialer) endpoint(address string) string {
	socket, unix := unixSocket(address)
	for _, endpoint := range d.transport.ServerList {
		if unix {
			if at, ok := unixSocket(endpoint); ok && at == socket {
				return endpoint
			}
			continue
		}
		if u, err := url.Parse(endpoint); endpoint == address || err == nil && u.Host == address {
			return endpoint
		}
	}
	return address
}

// configuration returns the configuration of a client with these options.
func (d dialer) configuration(endpoints []string, options ...grpc.DialOption) clientv3.Config {
	return clientv3.Config{
		Endpoints:            endpoints,
		TLS:                  d.tls,
		DialKeepAliveTime:    keepaliveTime,
		DialKeepAliveTimeout: keepaliveTimeout,
		// Errors are returned, and logged by those who get them.
		Logger: zap.NewNop(),
		DialOptions: append(options, grpc.WithConnectParams(grpc.ConnectParams{
			Backoff: backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2,
				MaxDelay: maxBackoff},
			MinConnectTimeout: connectTimeout,
		})),
	}
}

// client returns a client of one endpoint, whose store may be any.
func (d dialer) client(endpoints ...string) (*clientv3.Client, error) {
	client, err := clientv3.New(d.configuration(endpoints, grpc.WithContextDialer(d.connect)))
	if err != nil {
		return nil, fmt.Errorf("making a client of etcd at %v: %w", endpoints, err)
	}
	return client, nil
}

// Client returns a client of etcd that lets no response pass that is not of the
// right store. Unlike the one that k8s.io/apiserver makes, it does not wait for
// etcd to be reachable, and it reconnects within a second.
func (g *Guard) Client() (*kubernetes.Client, error) {
	d := g.dialer
	options := []grpc.DialOption{
		grpc.WithChainUnaryInterceptor(g.unary, g.direct),
		grpc.WithChainStreamInterceptor(g.stream),
		grpc.WithStatsHandler(otelgrpc.NewClientHandler(
			otelgrpc.WithMessageEvents(otelgrpc.ReceivedEvents, otelgrpc.SentEvents),
			otelgrpc.WithPropagators(tracing.Propagators()),
			otelgrpc.WithTracerProvider(d.transport.TracerProvider),
		)),
	}
	connect := g.connect
	// A single etcd may be slow: there is no other to ask.
	if len(d.transport.ServerList) > 1 {
		members := &hungMembers{conns: map[string]*memberConn{}}
		connect = members.dial(g.connect)
		options = append(options, grpc.WithStatsHandler(members))
	}
	client, err := kubernetes.New(d.configuration(d.transport.ServerList,
		append(options, grpc.WithContextDialer(connect))...))
	if err != nil {
		return nil, fmt.Errorf("making a client of etcd at %v: %w", d.transport.ServerList, err)
	}
	return client, nil
}

// direct passes a request by the connection, if this process runs etcd, and has found it to be the
// right store: connections to any other are refused.
func (g *Guard) direct(ctx context.Context, method string, request, reply any, cc *grpc.ClientConn,
	invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
	if g.config.Direct == nil || g.Closed() != nil {
		return invoke(ctx, method, request, reply, cc, options...)
	}
	return g.config.Direct(ctx, method, request, reply, cc, invoke, options...)
}

// connect opens a connection and hands it out only if the server behind it has the
// right store. It is verified over a second connection, which is opened later: if
// the server is replaced in between, the first one is closed with it.
func (g *Guard) connect(ctx context.Context, address string) (net.Conn, error) {
	conn, err := g.dialer.connect(ctx, address)
	if err != nil {
		return nil, err
	}
	if err := g.verifyEndpoint(ctx, g.dialer.endpoint(address)); err != nil {
		_ = conn.Close()
		// Not wrapped: with the status of a request in this error, gRPC would end all waiting
		// requests, watches included, instead of connecting again.
		return nil, errors.New(err.Error())
	}
	return conn, nil
}
