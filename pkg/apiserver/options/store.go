package options

import (
	"context"
	"fmt"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	genericapiserver "k8s.io/apiserver/pkg/server"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/client-go/kubernetes"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apiserver/store"
)

// hostTimeout bounds a request to the host cluster about the store.
const hostTimeout = 5 * time.Second

// websitesResource is what the server stores.
var websitesResource = website.Resource("websites")

// applyStore has Websites served only from the store that the host cluster was
// served from. It returns the guard, which is to be run while the server runs.
func (o CompletedOptions) applyStore(ctx context.Context, config *genericapiserver.RecommendedConfig) (*store.Guard, error) {
	storeConfig, err := o.storeConfig(config)
	if err != nil {
		return nil, err
	}
	if storeConfig.Changed, err = storeEvents(ctx, config.ClientConfig, o.StoreRecordNamespace); err != nil {
		return nil, err
	}
	guard, err := store.New(storeConfig)
	if err != nil {
		return nil, err
	}
	watchCache, err := watchCacheEnabled(o.Recommended.Etcd, websitesResource)
	if err != nil {
		return nil, err
	}
	config.RESTOptionsGetter = store.RESTOptionsGetter{RESTOptionsGetter: config.RESTOptionsGetter, Guard: guard, WatchCache: watchCache}
	config.BuildHandlerChainFunc = func(handler http.Handler, c *genericapiserver.Config) http.Handler {
		return genericapiserver.DefaultBuildHandlerChain(guard.WithClosedStore(handler, c.Serializer), c)
	}
	return guard, nil
}

// StoreConfig is what commands need that look at the store beside a running
// server. It returns an error when flags contradict each other. The options stay as
// they are. The options stay as
// they are.
func (o CompletedOptions) StoreConfig() (store.Config, error) {
	o = o.clone()
	if err := o.applyStorageCodec(); err != nil {
		return store.Config{}, err
	}
	config := genericapiserver.NewRecommendedConfig(o.codecs)
	if err := o.Recommended.CoreAPI.ApplyTo(config); err != nil {
		return store.Config{}, fmt.Errorf("--kubeconfig: %w", err)
	}
	o.Recommended.Etcd.SkipHealthEndpoints = true
	if err := o.Recommended.Etcd.ApplyTo(&config.Config); err != nil {
		return store.Config{}, fmt.Errorf("applying the etcd options: %w", err)
	}
	return o.storeConfig(config)
}

func (o CompletedOptions) storeConfig(config *genericapiserver.RecommendedConfig) (store.Config, error) {
	options, err := config.RESTOptionsGetter.GetRESTOptions(websitesResource, &website.Website{})
	if err != nil {
		return store.Config{}, fmt.Errorf("finding out how Websites are stored: %w", err)
	}
	client, err := hostClient(config.ClientConfig)
	if err != nil {
		return store.Config{}, err
	}
	metadataClient, err := metadata.NewForConfig(config.ClientConfig)
	if err != nil {
		return store.Config{}, fmt.Errorf("making a client of the host cluster: %w", err)
	}
	return store.Config{
		Etcd: options.StorageConfig.Config,
		Host: store.HostRecords{ConfigMaps: client.CoreV1().ConfigMaps(o.StoreRecordNamespace), Namespace: o.StoreRecordNamespace},
		Owned: func(ctx context.Context) ([]store.OwnedObject, error) {
			return store.OwnedObjects(ctx, metadataClient)
		},
		Websites: store.WebsiteUIDs(*options.StorageConfig, options.ResourcePrefix),
	}, nil
}

// hostClient gives up on a host cluster that does not answer.
func hostClient(config *rest.Config) (kubernetes.Interface, error) {
	config = rest.CopyConfig(config)
	config.Timeout = hostTimeout
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client of the host cluster: %w", err)
	}
	return client, nil
}

// storeEvents returns a function that makes an event of the ConfigMap in which the
// host cluster names the store, until ctx ends.
func storeEvents(ctx context.Context, config *rest.Config, namespace string) (func(context.Context, *store.Closed), error) {
	client, err := hostClient(config)
	if err != nil {
		return nil, err
	}
	broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: client.EventsV1()})
	if err := broadcaster.StartRecordingToSinkWithContext(ctx); err != nil {
		return nil, fmt.Errorf("recording events: %w", err)
	}
	recorder := broadcaster.NewRecorder(clientscheme.Scheme, "website-apiserver")
	record := &corev1.ObjectReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: namespace, Name: store.RecordName}
	return func(_ context.Context, closed *store.Closed) {
		if closed == nil {
			recorder.Eventf(record, nil, corev1.EventTypeNormal, "StoreOpened", "Serve", "the store is the right one, Websites are served")
			return
		}
		recorder.Eventf(record, nil, corev1.EventTypeWarning, closed.Reason, "Serve", "requests for Websites are answered with 503: %s", closed.Message)
	}, nil
}

// watchCacheEnabled tells whether --watch-cache and --watch-cache-sizes ask for a
// watch cache, as k8s.io/apiserver reads them.
func watchCacheEnabled(etcd *genericoptions.EtcdOptions, resource schema.GroupResource) (bool, error) {
	sizes, err := genericoptions.ParseWatchCacheSizes(etcd.WatchCacheSizes)
	if err != nil {
		return false, fmt.Errorf("--watch-cache-sizes: %w", err)
	}
	size, set := sizes[resource]
	return etcd.EnableWatchCache && (!set || size > 0), nil
}
