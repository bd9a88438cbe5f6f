package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httputil"
	"net/url"

	"github.com/traefik/traefik/v3/pkg/config/dynamic"
	"github.com/traefik/traefik/v3/pkg/middlewares/gatewayapi/redirect"
	"github.com/traefik/traefik/v3/pkg/middlewares/requestdecorator"
)

// withHost makes the rules match the canonical host of a request.
func withHost(r *http.Request) *http.Request {
	decorated := r
	requestdecorator.New(nil).ServeHTTP(nil, r, func(_ http.ResponseWriter, with *http.Request) { decorated = with })
	return decorated
}

// site builds handlers of the configuration of a provider.
type site struct {
	ctx context.Context
	*dynamic.HTTPConfiguration
	transport http.RoundTripper
}

func (s *site) router(router *dynamic.Router) (http.Handler, error) {
	handler, err := s.service(router.Service)
	if err != nil {
		return nil, err
	}
	for i := len(router.Middlewares) - 1; i >= 0; i-- {
		name := router.Middlewares[i]
		middleware := s.Middlewares[name]
		if middleware == nil || middleware.RequestRedirect == nil {
			return nil, fmt.Errorf("the middleware %s is not a redirect: others are not built in here", name)
		}
		if handler, err = redirect.NewRequestRedirect(s.ctx, handler, *middleware.RequestRedirect, name); err != nil {
			return nil, err
		}
	}
	return handler, nil
}

func (s *site) service(name string) (http.Handler, error) {
	service := s.Services[name]
	switch {
	case service == nil:
		return nil, fmt.Errorf("there is no service %s", name)
	case service.Weighted != nil:
		return s.weighted(service.Weighted)
	case service.LoadBalancer != nil:
		return s.balanced(service.LoadBalancer)
	default:
		return nil, fmt.Errorf("the service %s is of a kind that is not built in here", name)
	}
}

// weighted chooses one of several services by their weights.
func (s *site) weighted(service *dynamic.WeightedRoundRobin) (http.Handler, error) {
	var handlers []http.Handler
	for _, member := range service.Services {
		var handler http.Handler
		if member.Status != nil {
			status := *member.Status
			handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				http.Error(w, http.StatusText(status), status)
			})
		} else {
			var err error
			if handler, err = s.service(member.Name); err != nil {
				return nil, err
			}
		}
		weight := 1
		if member.Weight != nil {
			weight = *member.Weight
		}
		for range weight {
			handlers = append(handlers, handler)
		}
	}
	return choose(handlers), nil
}

// balanced chooses one of several servers.
func (s *site) balanced(service *dynamic.ServersLoadBalancer) (http.Handler, error) {
	if service.PassHostHeader != nil && !*service.PassHostHeader {
		return nil, errors.New("servers get the host of the request: another one is not built in here")
	}
	var handlers []http.Handler
	for _, server := range service.Servers {
		handler, err := s.proxy(server.URL)
		if err != nil {
			return nil, err
		}
		handlers = append(handlers, handler)
	}
	return choose(handlers), nil
}

func choose(handlers []http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(handlers) == 0 {
			http.Error(w, "no server is available", http.StatusServiceUnavailable)
			return
		}
		handlers[rand.IntN(len(handlers))].ServeHTTP(w, r)
	})
}

// proxy forwards requests to a server. All servers share the transport, which keeps
// connections across configurations.
func (s *site) proxy(address string) (http.Handler, error) {
	target, err := url.Parse(address)
	if err != nil || target.Scheme != "http" {
		return nil, fmt.Errorf("the server %q is not one of http", address)
	}
	return &httputil.ReverseProxy{
		Transport: s.transport,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Host = r.In.Host
			r.SetXForwarded()
		},
	}, nil
}
