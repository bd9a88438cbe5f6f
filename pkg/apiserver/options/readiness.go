package options

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/healthz"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/kubesites/website-apiserver/pkg/apiserver/bodies"
	"github.com/kubesites/website-apiserver/pkg/apiserver/encoding"
	"github.com/kubesites/website-apiserver/pkg/apiserver/expectations"
	"github.com/kubesites/website-apiserver/pkg/apiserver/peers"
	"github.com/kubesites/website-apiserver/pkg/apiserver/responsebuffer"
	"github.com/kubesites/website-apiserver/pkg/apiserver/responseheaders"
	"github.com/kubesites/website-apiserver/pkg/apiserver/store"
	"github.com/kubesites/website-apiserver/pkg/apiserver/trust"
)

// keepStorageOutOfReadiness leaves the checks of etcd, and of the plugins that encrypt
// stored objects, to /healthz. A server that is not ready leaves its endpoints;
// without any, the aggregator fails discovery for the whole cluster. A restart would
// not bring etcd back, either.
func keepStorageOutOfReadiness(config *genericapiserver.RecommendedConfig) {
	ofStorage := func(check healthz.HealthChecker) bool {
		return strings.HasPrefix(check.Name(), "etcd") || strings.HasPrefix(check.Name(), "kms-provider")
	}
	config.ReadyzChecks = slices.DeleteFunc(config.ReadyzChecks, ofStorage)
	config.LivezChecks = slices.DeleteFunc(config.LivezChecks, ofStorage)
}

// handlerChain returns the chain of every API server, with the responses of a server that
// is closed, or has not read the CAs of its clients yet, and to writes that are too
// large. The latter are inside: a closed server knows no sizes. Lists and watches are
// buffered inside all filters of writes.
func handlerChain(guard *store.Guard, trusted *trust.Cluster, limiter *bodies.Limiter) func(http.Handler,
	*genericapiserver.Config) http.Handler {
	return func(handler http.Handler, c *genericapiserver.Config) http.Handler {
		handler = genericapiserver.DefaultBuildHandlerChain(
			guard.WithClosedStore(
				limiter.WithLimit(responsebuffer.WithBuffer(encoding.WithoutYAMLLists(encoding.WithTables(handler))),
					c.Serializer), c.Serializer,
			), c,
		)
		if trusted != nil {
			handler = trusted.WithKnownUsers(handler, c.Serializer)
		}
		return expectations.WithoutContinue(responseheaders.WithoutRepeated(handler), c.Serializer)
	}
}

// applyPeers makes a server leave its endpoints while it alone has lost the store. With
// an embedded etcd there is one server.
func (o CompletedOptions) applyPeers(config *genericapiserver.RecommendedConfig,
	guard *store.Guard) (*peers.Peers, error) {
	if o.EmbeddedEtcd() {
		return nil, nil
	}
	client, err := hostClient(config.ClientConfig)
	if err != nil {
		return nil, err
	}
	replicas := peers.New(peers.Config{
		Leases:      client.CoordinationV1().Leases(o.StoreRecordNamespace),
		Unavailable: func() error { return unavailable(guard) },
		Ready:       func(ctx context.Context) error { return ready(ctx, config.LoopbackClientConfig) },
		Clock:       clock.RealClock{},
	})
	config.AddReadyzChecks(replicas.Check())
	chain := config.BuildHandlerChainFunc
	config.BuildHandlerChainFunc = func(handler http.Handler, c *genericapiserver.Config) http.Handler {
		return replicas.WithGoaway(chain(handler, c))
	}
	return replicas, nil
}

// ready requests the readiness of a server.
func ready(ctx context.Context, loopback *rest.Config) error {
	client, err := discovery.NewDiscoveryClientForConfig(loopback)
	if err != nil {
		return fmt.Errorf("making a client of this server: %w", err)
	}
	return client.RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
}

// unavailable returns why requests for Websites fail, or nil.
func unavailable(guard *store.Guard) error {
	if closed := guard.Closed(); closed != nil {
		return errors.New("the server is closed: " + closed.Message)
	}
	if outage := guard.Outage(); outage != nil {
		return errors.New("the store is unavailable: " + outage.Message)
	}
	return nil
}
