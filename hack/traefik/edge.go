package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"github.com/traefik/traefik/v3/pkg/config/dynamic"
	muxer "github.com/traefik/traefik/v3/pkg/muxer/http"
	traefiktls "github.com/traefik/traefik/v3/pkg/tls"
)

// These are the entry points, by the names that providers use in routers.
const (
	entryHTTP  = "web"
	entryHTTPS = "websecure"
)

// providers is the number of providers of configurations.
const providers = 2

// edge serves the current configurations of the providers.
type edge struct {
	entries      atomic.Pointer[map[string]*muxer.Muxer]
	certificates *traefiktls.Manager
	transport    http.RoundTripper
	ready        atomic.Bool
}

func newEdge() *edge {
	e := &edge{
		certificates: traefiktls.NewManager(nil),
		transport:    &http.Transport{MaxIdleConnsPerHost: 200, IdleConnTimeout: 30 * time.Second, DisableCompression: true},
	}
	e.entries.Store(&map[string]*muxer.Muxer{})
	e.certificates.UpdateConfigs(context.Background(), nil, tlsOptions(), nil)
	return e
}

func tlsOptions() map[string]traefiktls.Options {
	return map[string]traefiktls.Options{traefiktls.DefaultTLSConfigName: traefiktls.DefaultTLSOptions}
}

// follow applies configurations until the context ends. An invalid one is skipped.
func (e *edge) follow(ctx context.Context, messages <-chan dynamic.Message) {
	configurations := map[string]*dynamic.Configuration{}
	for {
		select {
		case <-ctx.Done():
			return
		case message := <-messages:
			configurations[message.ProviderName] = message.Configuration
		}
		entries, errs := e.build(ctx, configurations)
		for _, err := range errs {
			fmt.Fprintln(os.Stderr, "traefik:", err)
		}
		var certificates []*traefiktls.CertAndStores
		for _, configuration := range configurations {
			if configuration.TLS != nil {
				certificates = append(certificates, configuration.TLS.Certificates...)
			}
		}
		e.certificates.UpdateConfigs(ctx, nil, tlsOptions(), certificates)
		e.entries.Store(&entries)
		e.ready.Store(len(configurations) == providers)
	}
}

// build returns the handlers of each entry point.
func (e *edge) build(ctx context.Context,
	configurations map[string]*dynamic.Configuration) (map[string]*muxer.Muxer, []error) {
	parser, err := muxer.NewSyntaxParser()
	if err != nil {
		return nil, []error{err}
	}
	entries := map[string]*muxer.Muxer{entryHTTP: muxer.NewMuxer(parser, nil), entryHTTPS: muxer.NewMuxer(parser, nil)}
	var errs []error
	for provider, configuration := range configurations {
		if configuration.HTTP == nil {
			continue
		}
		site := &site{ctx: ctx, HTTPConfiguration: configuration.HTTP, transport: e.transport}
		for name, router := range configuration.HTTP.Routers {
			handler, err := site.router(router)
			if err != nil {
				errs = append(errs, fmt.Errorf("router %s of %s: %w", name, provider, err))
				continue
			}
			priority := router.Priority
			if priority == 0 {
				priority = muxer.GetRulePriority(router.Rule)
			}
			for entry, mux := range entries {
				// An Ingress names no entry points: it is served at all of them, like in Traefik if TLS
				// is enabled at the entry point of HTTPS.
				if len(router.EntryPoints) > 0 && !slices.Contains(router.EntryPoints, entry) {
					continue
				}
				if err := mux.AddRoute(router.Rule, router.RuleSyntax, priority, provider, handler); err != nil {
					errs = append(errs, fmt.Errorf("router %s of %s: %w", name, provider, err))
				}
			}
		}
	}
	return entries, errs
}

// entry serves an entry point.
func (e *edge) entry(name string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mux, found := (*e.entries.Load())[name]
		if !found {
			http.Error(w, "nothing is configured yet", http.StatusServiceUnavailable)
			return
		}
		mux.ServeHTTP(w, withHost(r))
	})
}

// tlsConfig chooses the certificate of each connection by its server name.
func (e *edge) tlsConfig() *tls.Config {
	return &tls.Config{
		NextProtos: []string{"h2", "http/1.1"},
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			return e.certificates.Get(traefiktls.DefaultTLSStoreName, traefiktls.DefaultTLSConfigName)
		},
		// ListenAndServeTLS checks this field. The other configuration is used.
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return nil, nil },
	}
}

func (e *edge) serveReady(w http.ResponseWriter, _ *http.Request) {
	if !e.ready.Load() {
		http.Error(w, "the cluster is not read yet", http.StatusServiceUnavailable)
	}
}
