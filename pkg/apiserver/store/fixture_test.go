package store

import (
	"context"
	"os"
	"strconv"
	"sync"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/kubesites/website-apiserver/pkg/apiserver/embeddedetcd"
)

// newEtcd starts an etcd and returns its endpoint.
func newEtcd(t *testing.T) string {
	t.Helper()
	// Short, for the sake of the socket in it.
	dir, err := os.MkdirTemp("/tmp", "store-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	etcd, err := embeddedetcd.Start(t.Context(), embeddedetcd.Config{DataDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := etcd.Close(); err != nil {
			t.Error(err)
		}
	})
	endpoint, err := embeddedetcd.Endpoint(dir)
	if err != nil {
		t.Fatal(err)
	}
	return endpoint
}

// configMaps holds the record as kube-apiserver does: with resource versions, and
// a conflict for those who did not read the last one.
type configMaps struct {
	corev1client.ConfigMapInterface

	mu      sync.Mutex
	current *corev1.ConfigMap
	version int
	calls   int
	// fault is called before and after every call takes effect.
	fault func(call int, after bool) error
}

func (c *configMaps) call(effect func() (*corev1.ConfigMap, error)) (*corev1.ConfigMap, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls++
	if c.fault != nil {
		if err := c.fault(c.calls, false); err != nil {
			return nil, err
		}
	}
	result, err := effect()
	if err == nil && c.fault != nil {
		err = c.fault(c.calls, true)
	}
	return result, err
}

func (c *configMaps) Get(context.Context, string, metav1.GetOptions) (*corev1.ConfigMap, error) {
	return c.call(func() (*corev1.ConfigMap, error) {
		if c.current == nil {
			return nil, apierrors.NewNotFound(corev1.Resource("configmaps"), RecordName)
		}
		return c.current.DeepCopy(), nil
	})
}

func (c *configMaps) Create(_ context.Context, configMap *corev1.ConfigMap,
	_ metav1.CreateOptions) (*corev1.ConfigMap, error) {
	return c.call(func() (*corev1.ConfigMap, error) {
		if c.current != nil {
			return nil, apierrors.NewAlreadyExists(corev1.Resource("configmaps"), RecordName)
		}
		return c.store(configMap), nil
	})
}

func (c *configMaps) Update(_ context.Context, configMap *corev1.ConfigMap,
	_ metav1.UpdateOptions) (*corev1.ConfigMap, error) {
	return c.call(func() (*corev1.ConfigMap, error) {
		if c.current == nil || c.current.ResourceVersion != configMap.ResourceVersion {
			return nil, apierrors.NewConflict(corev1.Resource("configmaps"), RecordName, nil)
		}
		return c.store(configMap), nil
	})
}

func (c *configMaps) store(configMap *corev1.ConfigMap) *corev1.ConfigMap {
	c.version++
	c.current = configMap.DeepCopy()
	c.current.ResourceVersion = strconv.Itoa(c.version)
	return c.current.DeepCopy()
}

// remove deletes the record, as another client of the host cluster would.
func (c *configMaps) remove() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.current = nil
}

func (c *configMaps) counted() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.calls
}

// setFault replaces the fault and resets the count of calls.
func (c *configMaps) setFault(fault func(call int, after bool) error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fault, c.calls = fault, 0
}

// changes are the transitions of a Guard.
type changes struct {
	mu      sync.Mutex
	reasons []string
}

func (c *changes) add(_ context.Context, closed *Closed) {
	c.mu.Lock()
	defer c.mu.Unlock()
	reason := "open"
	if closed != nil {
		reason = closed.Reason
	}
	c.reasons = append(c.reasons, reason)
}

func (c *changes) all() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string{}, c.reasons...)
}

// newConfig is about a store at endpoint, in a cluster without objects of Websites.
func newConfig(endpoint string, host *configMaps, tweaks ...func(*Config)) Config {
	config := Config{
		Etcd: storagebackend.Config{Prefix: "/registry",
			Transport: storagebackend.TransportConfig{ServerList: []string{endpoint}}},
		Host:     HostRecords{ConfigMaps: host, Namespace: DefaultRecordNamespace},
		Owned:    func(context.Context) ([]OwnedObject, error) { return nil, nil },
		Websites: func(context.Context, string) (sets.Set[types.UID], error) { return nil, nil },
		Changed:  func(context.Context, *Closed) {},
	}
	for _, tweak := range tweaks {
		tweak(&config)
	}
	return config
}

func withOwned(owned ...OwnedObject) func(*Config) {
	return func(c *Config) {
		c.Owned = func(context.Context) ([]OwnedObject, error) { return owned, nil }
	}
}

func withWebsites(uids ...types.UID) func(*Config) {
	return func(c *Config) {
		c.Websites = func(context.Context, string) (sets.Set[types.UID], error) { return sets.New(uids...), nil }
	}
}

func withChanges(changes *changes) func(*Config) {
	return func(c *Config) { c.Changed = changes.add }
}

func newGuard(t *testing.T, config Config) *Guard {
	t.Helper()
	g, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// etcdClient reads and writes whatever store is at endpoint.
func etcdClient(t *testing.T, endpoint string) *clientv3.Client {
	t.Helper()
	d, err := newDialer(storagebackend.TransportConfig{})
	if err != nil {
		t.Fatal(err)
	}
	client, err := d.client(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// put writes what counts as a change of a Website.
func put(t *testing.T, client *clientv3.Client, key string) {
	t.Helper()
	if _, err := client.Put(t.Context(), "/registry/mycontroller.nevermosby.io/websites/default/"+key, "x"); err != nil {
		t.Fatal(err)
	}
}
