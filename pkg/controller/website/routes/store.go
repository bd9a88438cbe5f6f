package routes

import (
	"fmt"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/kubesites/website-apiserver/pkg/controller/website/children"
)

// store keeps the objects of one kind that a reflector sees, and calls a handler. It
// outlives the reflector, which ends when the cluster no longer serves the kind.
type store struct {
	cache.Indexer
	handler cache.ResourceEventHandler
	trim    func(obj any) (any, error)
	// listed is called when all objects that exist are known.
	listed func()
	synced atomic.Bool
}

var _ cache.ReflectorStore = &store{}

func newStore(handler cache.ResourceEventHandler, trim func(obj any) (any, error), listed func(), indexers cache.Indexers) *store {
	return &store{Indexer: cache.NewIndexer(cache.DeletionHandlingMetaNamespaceKeyFunc, indexers), handler: handler, trim: trim, listed: listed}
}

// Add takes an object that is new to the watch.
func (s *store) Add(obj any) error { return s.Update(obj) }

// Update takes an object that has changed.
func (s *store) Update(obj any) error {
	obj, err := s.trim(obj)
	if err != nil {
		return fmt.Errorf("trimming an object: %w", err)
	}
	before, known, err := s.Get(obj)
	if err != nil {
		return err
	}
	if err := s.Indexer.Update(obj); err != nil {
		return err
	}
	if known {
		s.handler.OnUpdate(before, obj)
	} else {
		s.handler.OnAdd(obj, !s.synced.Load())
	}
	return nil
}

// Delete takes an object that is deleted, or no longer selected.
func (s *store) Delete(obj any) error {
	if err := s.Indexer.Delete(obj); err != nil {
		return err
	}
	s.handler.OnDelete(obj)
	return nil
}

// Replace takes all objects, at the start and after events were missed.
func (s *store) Replace(list []any, _ string) error {
	kept := sets.New[string]()
	for _, obj := range list {
		object, err := meta.Accessor(obj)
		if err != nil {
			return err
		}
		kept.Insert(cache.MetaObjectToName(object).String())
		if err := s.Update(obj); err != nil {
			return err
		}
	}
	defer s.listed()
	defer s.synced.Store(true)
	for _, key := range s.ListKeys() {
		if kept.Has(key) {
			continue
		}
		if obj, exists, err := s.GetByKey(key); err == nil && exists {
			if err := s.Delete(obj); err != nil {
				return err
			}
		}
	}
	return nil
}

// clear forgets the objects of a kind that is no longer watched.
func (s *store) clear() {
	s.synced.Store(false)
	for _, obj := range s.List() {
		_ = s.Delete(obj) // It was added, so it has a key.
	}
}

// trimChild keeps of a child what is read of it.
func trimChild(obj any) (any, error) {
	children.Trim(obj)
	return obj, nil
}

func httpRouteIndexers() cache.Indexers {
	indexers := children.IndexByOwner()
	indexers[byGateway] = func(obj any) ([]string, error) {
		route, ok := obj.(*gatewayv1.HTTPRoute)
		if !ok {
			return nil, nil
		}
		var gateways []string
		for _, parent := range route.Spec.ParentRefs {
			if ptr.Deref(parent.Kind, "Gateway") == "Gateway" {
				namespace := ptr.Deref(parent.Namespace, gatewayv1.Namespace(route.Namespace))
				gateways = append(gateways, cache.NewObjectName(string(namespace), string(parent.Name)).String())
			}
		}
		return gateways, nil
	}
	return indexers
}

// trimGateway keeps of a Gateway what is read of it: all Gateways are watched, and their annotations and
// selectors can be as large as an object can be. The API limits the number of listeners.
func trimGateway(obj any) (any, error) {
	gateway, ok := obj.(*gatewayv1.Gateway)
	if !ok {
		return obj, nil
	}
	gateway.ObjectMeta = metav1.ObjectMeta{
		Namespace: gateway.Namespace, Name: gateway.Name, UID: gateway.UID, ResourceVersion: gateway.ResourceVersion, Generation: gateway.Generation,
	}
	spec := gatewayv1.GatewaySpec{}
	for _, listener := range gateway.Spec.Listeners {
		spec.Listeners = append(spec.Listeners, gatewayv1.Listener{
			Name: listener.Name, Hostname: listener.Hostname, Port: listener.Port, Protocol: listener.Protocol,
		})
	}
	if allowed := gateway.Spec.AllowedListeners; allowed != nil && allowed.Namespaces != nil {
		spec.AllowedListeners = &gatewayv1.AllowedListeners{Namespaces: &gatewayv1.ListenerNamespaces{From: allowed.Namespaces.From}}
	}
	gateway.Spec = spec
	return gateway, nil
}

// Resync does nothing: the informer of Websites resyncs.
func (s *store) Resync() error { return nil }
