package store

import (
	"context"
	"errors"
	"sync"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/cacher"
	"k8s.io/apiserver/pkg/storage/etcd3"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/storage/storagebackend/factory"
	"k8s.io/apiserver/pkg/storage/value/encrypt/identity"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/tools/cache"

	"k8s.io/apiserver/pkg/features"
)

// RESTOptionsGetter creates storages that use the Guard's client, as the factory of
// k8s.io/apiserver does. That factory accepts no client: its own one does not report
// reconnects, and cannot be created while etcd is unreachable.
type RESTOptionsGetter struct {
	// RESTOptionsGetter returns how objects are stored.
	generic.RESTOptionsGetter
	// Guard creates the client of etcd.
	Guard *Guard
	// WatchCache enables the watch cache.
	WatchCache bool
}

// GetRESTOptions returns the options for a resource.
func (g RESTOptionsGetter) GetRESTOptions(resource schema.GroupResource,
	example runtime.Object) (generic.RESTOptions, error) {
	options, err := g.RESTOptionsGetter.GetRESTOptions(resource, example)
	options.Decorator = g.decorate
	return options, err
}

func (g RESTOptionsGetter) decorate(
	config *storagebackend.ConfigForResource,
	resourcePrefix string,
	keyFunc func(obj runtime.Object) (string, error),
	newFunc, newListFunc func() runtime.Object,
	attrFunc storage.AttrFunc,
	triggers storage.IndexerFuncs,
	indexers *cache.Indexers,
) (storage.Interface, factory.DestroyFunc, error) {
	raw, destroyRaw, err := g.Guard.newStorage(config, newFunc, newListFunc, resourcePrefix)
	if err != nil {
		return nil, nil, err
	}
	if !g.WatchCache {
		return closable{raw, g.Guard}, destroyRaw, nil
	}
	cached, err := cacher.NewCacherFromConfig(cacher.Config{
		Storage:             watchSource{raw, g.Guard},
		Versioner:           storage.APIObjectVersioner{},
		GroupResource:       config.GroupResource,
		EventsHistoryWindow: config.EventsHistoryWindow,
		ResourcePrefix:      resourcePrefix,
		KeyFunc:             keyFunc,
		NewFunc:             newFunc,
		NewListFunc:         newListFunc,
		GetAttrsFunc:        attrFunc,
		IndexerFuncs:        triggers,
		Indexers:            indexers,
		Codec:               config.Codec,
	})
	if err != nil {
		destroyRaw()
		return nil, nil, err
	}
	delegator := cacher.NewCacheDelegator(cached, raw)
	destroy := sync.OnceFunc(func() {
		delegator.Stop()
		cached.Stop()
		destroyRaw()
	})
	return closable{delegator, g.Guard}, destroy, nil
}

// newStorage returns the storage in etcd.
func (g *Guard) newStorage(config *storagebackend.ConfigForResource, newFunc, newListFunc func() runtime.Object,
	resourcePrefix string) (storage.Interface, factory.DestroyFunc, error) {
	client, err := g.Client()
	if err != nil {
		return nil, nil, err
	}
	client.KV = etcd3.NewETCDLatencyTracker(boundedKV{client.KV, g})
	var compactor etcd3.Compactor
	stopCompactor := func() {}
	if config.CompactionInterval > 0 {
		running := etcd3.StartCompactorPerEndpoint(client.Client, config.CompactionInterval)
		compactor, stopCompactor = running, running.Stop
	}
	transformer := config.Transformer
	if transformer == nil {
		transformer = identity.NewEncryptCheckTransformer()
	}
	versioner := storage.APIObjectVersioner{}
	codec := newSharingCodec(config.Codec)
	decoder := etcd3.NewDefaultDecoder(codec, versioner)
	unsafeDeletion := utilfeature.DefaultFeatureGate.Enabled(features.AllowUnsafeMalformedObjectDeletion)
	if unsafeDeletion {
		transformer = etcd3.WithCorruptObjErrorHandlingTransformer(transformer)
		decoder = etcd3.WithCorruptObjErrorHandlingDecoder(decoder)
	}
	transformer, decoder = markingTransformer{transformer}, markingDecoder{decoder}
	stored, err := etcd3.New(client, compactor, codec, newFunc, newListFunc, config.Prefix, resourcePrefix,
		config.GroupResource, transformer, config.LeaseManagerConfig, decoder, versioner)
	if err != nil {
		stopCompactor()
		_ = client.Close()
		return nil, nil, err
	}
	destroy := sync.OnceFunc(func() {
		stopCompactor()
		stored.Close()
		_ = client.Close()
	})
	if unsafeDeletion {
		return etcd3.NewStoreWithUnsafeCorruptObjectDeletion(stored, config.GroupResource), destroy, nil
	}
	return stored, destroy, nil
}

// closable returns the error of a closed server for requests that were in flight when
// it closed.
type closable struct {
	storage.Interface
	guard *Guard
}

// failure returns the error for clients, given one of the storage about key.
func (c closable) failure(key string, err error) error {
	if err == nil {
		return nil
	}
	if closed := c.guard.Closed(); closed != nil {
		return NewClosedError(closed)
	}
	if errors.Is(err, rpctypes.ErrNoSpace) {
		return newInsufficientStorageError(c.guard.fullMessage())
	}
	if unreadable := c.guard.unreadable.unreadable(key, err); unreadable != nil {
		return unreadable
	}
	var unavailable *unavailableError
	if errors.As(err, &unavailable) {
		return newUnavailableError("the store is unavailable: " + unavailable.message)
	}
	if outage := c.guard.Outage(); outage != nil &&
		(errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)) {
		return newUnavailableError("the store is unavailable: " + outage.Message)
	}
	// The connection was lost or not admitted, and the server has not closed.
	if s, ok := status.FromError(err); ok && (s.Code() == codes.Unavailable || s.Code() == codes.FailedPrecondition) {
		return newUnavailableError("the store is unavailable: " + s.Message())
	}
	return err
}

// ReadinessCheck is about the watch cache, which is filled once the store answers and
// the server is open.
func (c closable) ReadinessCheck() error {
	if c.guard.Closed() != nil || c.guard.Outage() != nil {
		return nil
	}
	return c.Interface.ReadinessCheck()
}

func (c closable) Create(ctx context.Context, key string, obj, out runtime.Object, ttl uint64) error {
	return c.failure(key, c.Interface.Create(ctx, key, obj, out, ttl))
}

func (c closable) Delete(ctx context.Context, key string, out runtime.Object, preconditions *storage.Preconditions,
	validateDeletion storage.ValidateObjectFunc, cachedExistingObject runtime.Object, opts storage.DeleteOptions) error {
	return c.failure(key, c.Interface.Delete(ctx, key, out, preconditions, validateDeletion, cachedExistingObject, opts))
}

func (c closable) Watch(ctx context.Context, key string, opts storage.ListOptions) (watch.Interface, error) {
	if err := c.refuseFuture(ctx, opts); err != nil {
		return nil, c.failure(key, err)
	}
	w, err := c.Interface.Watch(ctx, key, opts)
	return w, c.failure(key, err)
}

func (c closable) Get(ctx context.Context, key string, opts storage.GetOptions, out runtime.Object) error {
	return c.failure(key, c.Interface.Get(ctx, key, opts, out))
}

func (c closable) GetList(ctx context.Context, key string, opts storage.ListOptions, out runtime.Object) error {
	return c.failure(key, c.Interface.GetList(ctx, key, opts, out))
}

func (c closable) GuaranteedUpdate(ctx context.Context, key string, destination runtime.Object, ignoreNotFound bool,
	preconditions *storage.Preconditions, tryUpdate storage.UpdateFunc, cachedExistingObject runtime.Object) error {
	return c.failure(key, c.Interface.GuaranteedUpdate(ctx, key, destination, ignoreNotFound, preconditions, tryUpdate,
		cachedExistingObject))
}
