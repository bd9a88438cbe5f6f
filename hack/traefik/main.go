// Command traefik is the controller of the Gateways and Ingresses of a development cluster: Traefik's
// providers of Gateway API and Ingress, which also write the status of both, its rules, its redirects
// and its choice of certificates, in front of net/http.
//
// Traefik's own command links the clients of all DNS providers of ACME, in modules that not every
// proxy has.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/traefik/traefik/v3/pkg/config/dynamic"
	"github.com/traefik/traefik/v3/pkg/provider/kubernetes/gateway"
	"github.com/traefik/traefik/v3/pkg/provider/kubernetes/ingress"
	"github.com/traefik/traefik/v3/pkg/safe"
)

// options are the flags.
type options struct {
	address             string
	httpPort, httpsPort int
	ready               string
}

func main() {
	var o options
	flag.StringVar(&o.address, "address", "127.0.0.1", "The address that Gateways and Ingresses have")
	flag.IntVar(&o.httpPort, "http-port", 80, "The port of HTTP")
	flag.IntVar(&o.httpsPort, "https-port", 443, "The port of HTTPS")
	flag.StringVar(&o.ready, "ready-address", "127.0.0.1:8080",
		"The address that answers once the routes in the cluster are served")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "traefik:", err)
		os.Exit(1)
	}
}

// provider reads configurations from the cluster. KUBECONFIG names the cluster.
type provider interface {
	Init() error
	Provide(configurations chan<- dynamic.Message, pool *safe.Pool) error
}

func run(ctx context.Context, o options) error {
	web, websecure := net.JoinHostPort(o.address, strconv.Itoa(o.httpPort)),
		net.JoinHostPort(o.address, strconv.Itoa(o.httpsPort))
	gateways := &gateway.Provider{
		QPS: 50, Burst: 100,
		StatusAddress: &gateway.StatusAddress{IP: o.address},
		EntryPoints: map[string]gateway.Entrypoint{entryHTTP: {Address: web},
			entryHTTPS: {Address: websecure, HasHTTPTLSConf: true}},
	}
	ingresses := &ingress.Provider{
		IngressEndpoint: &ingress.EndpointIngress{IP: o.address}, AllowEmptyServices: true, StrictPrefixMatching: true,
	}
	pool := safe.NewPool(ctx)
	defer pool.Stop()
	configurations := make(chan dynamic.Message)
	for _, p := range []provider{gateways, ingresses} {
		if err := p.Init(); err != nil {
			return fmt.Errorf("connecting to the cluster: %w", err)
		}
		if err := p.Provide(configurations, pool); err != nil {
			return fmt.Errorf("watching the cluster: %w", err)
		}
	}
	edge := newEdge()
	pool.GoCtx(func(ctx context.Context) { edge.follow(ctx, configurations) })
	return edge.serve(ctx, web, websecure, o.ready)
}

// serve serves until the context ends.
func (e *edge) serve(ctx context.Context, web, websecure, ready string) error {
	plain := &http.Server{Addr: web, Handler: e.entry(entryHTTP), ReadHeaderTimeout: 10 * time.Second}
	secure := &http.Server{Addr: websecure, Handler: e.entry(entryHTTPS), ReadHeaderTimeout: 10 * time.Second,
		TLSConfig: e.tlsConfig()}
	readiness := &http.Server{Addr: ready, Handler: http.HandlerFunc(e.serveReady), ReadHeaderTimeout: 10 * time.Second}
	ended := make(chan error, 3)
	go func() { ended <- plain.ListenAndServe() }()
	go func() { ended <- secure.ListenAndServeTLS("", "") }()
	go func() { ended <- readiness.ListenAndServe() }()
	var err error
	waiting := 3
	select {
	case <-ctx.Done():
	case err = <-ended:
		waiting--
	}
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	for _, server := range []*http.Server{plain, secure, readiness} {
		_ = server.Shutdown(closing)
	}
	for range waiting {
		<-ended
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}
