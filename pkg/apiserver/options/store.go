package options

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	genericapiserver "k8s.io/apiserver/pkg/server"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	etcdmetrics "k8s.io/apiserver/pkg/storage/etcd3/metrics"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apiserver/backup"
	"github.com/kubesites/website-apiserver/pkg/apiserver/embeddedetcd"
	"github.com/kubesites/website-apiserver/pkg/apiserver/store"
)

// hostTimeout bounds a request to the host cluster about the store.
const hostTimeout = 5 * time.Second

// websitesResource is the stored resource.
var websitesResource = website.Resource("websites")

// applyStore restricts the server to the store from which the host cluster was served.
// It returns the guard and the schedule of snapshots, which run while the server runs.
func (o CompletedOptions) applyStore(ctx context.Context, config *genericapiserver.RecommendedConfig) (*store.Guard,
	*backup.Schedule, error) {
	stored, resourcePrefix, err := websiteStorage(config.RESTOptionsGetter)
	if err != nil {
		return nil, nil, err
	}
	storeConfig, err := o.storeConfig(stored, resourcePrefix, config.ClientConfig)
	if err != nil {
		return nil, nil, err
	}
	if o.EmbeddedEtcd() {
		storeConfig.Writable = func() error { return embeddedetcd.Writable(o.DataDir) }
	}
	if o.etcd != nil {
		storeConfig.Failure, storeConfig.Direct = o.etcd.Failure, o.etcd.Direct
	}
	record, err := o.storeEvents(ctx, config.ClientConfig)
	if err != nil {
		return nil, nil, err
	}
	storeConfig.Changed, storeConfig.Reached, storeConfig.Full = record.storeChanged, record.storeReached, record.storeFull
	guard, err := store.New(storeConfig)
	if err != nil {
		return nil, nil, err
	}
	// This follows the recommended options, which set their own.
	etcdmetrics.SetStorageMonitorGetter(guard.Monitors)
	watchCache, err := watchCacheEnabled(o.Recommended.Etcd, websitesResource)
	if err != nil {
		return nil, nil, err
	}
	config.RESTOptionsGetter = store.RESTOptionsGetter{RESTOptionsGetter: config.RESTOptionsGetter, Guard: guard,
		WatchCache: watchCache}
	return guard, o.snapshots(guard, record), nil
}

// StoreConfig configures the commands that read the store of a running server. It
// returns an error when flags contradict each other.
func (o CompletedOptions) StoreConfig() (store.Config, error) {
	stored, resourcePrefix, err := o.WebsiteStorage()
	if err != nil {
		return store.Config{}, err
	}
	config, err := o.HostConfig()
	if err != nil {
		return store.Config{}, err
	}
	return o.storeConfig(stored, resourcePrefix, config)
}

// HostConfig returns the configuration of a client of the host cluster.
func (o CompletedOptions) HostConfig() (*rest.Config, error) {
	config := genericapiserver.NewRecommendedConfig(o.codecs)
	if err := o.Recommended.CoreAPI.ApplyTo(config); err != nil {
		return nil, fmt.Errorf("--kubeconfig: %w", err)
	}
	return config.ClientConfig, nil
}

func (o CompletedOptions) storeConfig(stored storagebackend.ConfigForResource, resourcePrefix string,
	config *rest.Config) (store.Config, error) {
	client, err := hostClient(config)
	if err != nil {
		return store.Config{}, err
	}
	metadataClient, err := metadata.NewForConfig(config)
	if err != nil {
		return store.Config{}, fmt.Errorf("making a client of the host cluster: %w", err)
	}
	return store.Config{
		Etcd: stored.Config,
		Host: store.HostRecords{ConfigMaps: client.CoreV1().ConfigMaps(o.StoreRecordNamespace),
			Namespace: o.StoreRecordNamespace},
		Owned: func(ctx context.Context) ([]store.OwnedObject, error) {
			return store.OwnedObjects(ctx, metadataClient)
		},
		Websites: store.WebsiteUIDs(stored, resourcePrefix),
	}, nil
}

// hostClient returns a client with a timeout.
func hostClient(config *rest.Config) (kubernetes.Interface, error) {
	config = rest.CopyConfig(config)
	config.Timeout = hostTimeout
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client of the host cluster: %w", err)
	}
	return client, nil
}

// watchCacheEnabled reports whether --watch-cache and --watch-cache-sizes enable the
// watch cache, as k8s.io/apiserver reads them.
func watchCacheEnabled(etcd *genericoptions.EtcdOptions, resource schema.GroupResource) (bool, error) {
	sizes, err := genericoptions.ParseWatchCacheSizes(etcd.WatchCacheSizes)
	if err != nil {
		return false, fmt.Errorf("--watch-cache-sizes: %w", err)
	}
	size, set := sizes[resource]
	return etcd.EnableWatchCache && (!set || size > 0), nil
}
