package app

import (
	"fmt"
	"net"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/transport"
	gatewayclient "sigs.k8s.io/gateway-api/pkg/client/clientset/versioned"

	"github.com/kubesites/website-apiserver/pkg/controller/options"
	"github.com/kubesites/website-apiserver/pkg/controller/podprobe"
	"github.com/kubesites/website-apiserver/pkg/controller/website/routes"
	"github.com/kubesites/website-apiserver/pkg/generated/clientset/versioned"
	"github.com/kubesites/website-apiserver/pkg/version"
)

// clients are the connections to the API server. Informers, workers and the recorder of events have
// one each: a connection carries a limited number of concurrent requests, and neither the watches nor
// a burst of writes should wait for the other.
type clients struct {
	// config is the client configuration of leader election.
	config *rest.Config

	// kube and websites are for the workers, which must not block: the API server's Retry-After is
	// returned as an error.
	kube     kubernetes.Interface
	websites versioned.Interface
	// The other clients wait as long as Retry-After requests.
	watchKube, events kubernetes.Interface
	watchWebsites     versioned.Interface
	watchMetadata     metadata.Interface
	// gateway is for the workers, watchGateway for the informers of the Gateway API.
	gateway, watchGateway gatewayclient.Interface
}

func newClients(o *options.Options, wrap transport.WrapperFunc) (*clients, error) {
	config, err := clientConfig(o)
	if err != nil {
		return nil, err
	}
	if wrap != nil {
		config.Wrap(wrap)
	}
	retrying := rest.CopyConfig(config)
	retrying.Wrap(func(next http.RoundTripper) http.RoundTripper { return retryAfterInStatus{next} })

	c := &clients{config: separate(config)}
	for target, config := range map[*kubernetes.Interface]*rest.Config{&c.kube: retrying, &c.watchKube: config,
		&c.events: config} {
		client, err := kubernetes.NewForConfig(protobuf(separate(config)))
		if err != nil {
			return nil, fmt.Errorf("creating a client for Kubernetes: %w", err)
		}
		*target = client
	}
	for target, config := range map[*versioned.Interface]*rest.Config{&c.websites: retrying, &c.watchWebsites: config} {
		client, err := versioned.NewForConfig(separate(config))
		if err != nil {
			return nil, fmt.Errorf("creating a client for Websites: %w", err)
		}
		*target = client
	}
	for target, config := range map[*gatewayclient.Interface]*rest.Config{&c.gateway: retrying, &c.watchGateway: config} {
		client, err := gatewayclient.NewForConfig(separate(config))
		if err != nil {
			return nil, fmt.Errorf("creating a client for Gateway API: %w", err)
		}
		*target = client
	}
	if c.watchMetadata, err = metadata.NewForConfig(separate(config)); err != nil {
		return nil, fmt.Errorf("making a client for metadata: %w", err)
	}
	return c, nil
}

// routing returns the configuration of the router.
func (c *clients) routing(o *options.Options, instruments Instruments) *routes.Config {
	gateway := o.GatewayName()
	config := &routes.Config{
		Watch: routes.WatchConfig{
			Gateway: c.watchGateway, Kube: c.watchKube, Namespace: o.WatchNamespace,
			DiscoveryPeriod: instruments.DiscoveryPeriod,
		},
		Gateway:  c.gateway,
		Defaults: routes.Defaults{Gateway: gateway, IngressClass: o.DefaultIngressClass},
	}
	if gateway.Namespace != "" {
		config.Watch.GatewayNamespaces = []string{gateway.Namespace}
	}
	return config
}

// pods returns a client for the pods, or nil when commit observation is disabled.
func (c *clients) pods(o *options.Options) (podprobe.Client, error) {
	mode := podprobe.Mode(o.CommitObservation)
	if mode == podprobe.None {
		return nil, nil
	}
	return podprobe.NewClient(mode, separate(c.config))
}

func clientConfig(o *options.Options) (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", o.Kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("reading the configuration of the client; outside a cluster give --kubeconfig: %w", err)
	}
	config.UserAgent = options.Name + "/" + version.GitVersion()
	config.QPS = o.KubeAPIQPS
	config.Burst = o.KubeAPIBurst
	return config, nil
}

// separate returns a copy of a configuration that does not share its connection. client-go shares one
// connection between all clients with equal configurations; a dial function of its own makes a
// configuration differ.
func separate(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	if config.Dial == nil {
		config.Dial = (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext
	}
	return config
}

// protobuf configures a client for built-in types to use protobuf, which is smaller and cheaper to
// decode than JSON.
func protobuf(config *rest.Config) *rest.Config {
	config.ContentType = runtime.ContentTypeProtobuf
	config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	return config
}
