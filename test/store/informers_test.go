package store

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/generated/clientset/versioned"
	v1beta1client "github.com/kubesites/website-apiserver/pkg/generated/clientset/versioned/typed/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/generated/informers/externalversions"
	"github.com/kubesites/website-apiserver/test/framework"
)

// informed is an informer like a controller's, and its recorded events.
type informed struct {
	name   string
	client versioned.Interface
	store  cache.Store

	mu      sync.Mutex
	deleted sets.Set[string]
}

// inform starts informers through kube-apiserver and directly at the server, and waits until they
// have all Websites. They end with the test.
func (e *environment) inform(t *testing.T) []*informed {
	t.Helper()
	direct := *e.config
	direct.Host = e.WebsiteAPIServerURL()
	informers := []*informed{
		{name: "through kube-apiserver", client: e.websites},
		{name: "at the server", client: framework.NewClients(t, &direct).Websites},
	}
	for _, i := range informers {
		i.deleted = sets.New[string]()
		factory := externalversions.NewSharedInformerFactoryWithOptions(i.client, 0,
			externalversions.WithNamespace(namespace))
		informer := factory.Website().V1beta1().Websites().Informer()
		i.store = informer.GetStore()
		_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{DeleteFunc: func(obj any) {
			key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(obj)
			if err != nil {
				t.Error(err)
			}
			i.mu.Lock()
			defer i.mu.Unlock()
			i.deleted.Insert(key)
		}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		factory.StartWithContext(ctx)
		t.Cleanup(func() {
			cancel()
			factory.Shutdown()
		})
		factory.WaitForCacheSyncWithContext(ctx)
	}
	return informers
}

// isDeleted reports whether a Website was reported as deleted.
func (i *informed) isDeleted(name string) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.deleted.Has(namespace + "/" + name)
}

// mustMatch waits until the informer equals a list: the same Websites at the same
// resource versions.
func (i *informed) mustMatch(t *testing.T) {
	t.Helper()
	type version struct {
		uid             types.UID
		resourceVersion string
	}
	framework.WaitFor(t, "the informer "+i.name+" equals a list", func(ctx context.Context) error {
		list, err := i.client.WebsiteV1beta1().Websites(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		want, got := map[string]version{}, map[string]version{}
		for _, w := range list.Items {
			want[w.Name] = version{w.UID, w.ResourceVersion}
		}
		for _, obj := range i.store.List() {
			w := obj.(*v1beta1.Website)
			got[w.Name] = version{w.UID, w.ResourceVersion}
		}
		if !maps.Equal(got, want) {
			return fmt.Errorf("the informer has %d Websites: %v, the list %d: %v", len(got), got, len(want), want)
		}
		return nil
	})
}

// limited returns a client of a server for requests without a pause. More of them find no more, and
// take the processors from the components under test.
func (e *environment) limited(t *testing.T, host string) v1beta1client.WebsiteInterface {
	t.Helper()
	config := rest.CopyConfig(e.config)
	config.Host, config.QPS, config.Burst = host, 30, 1
	client, err := versioned.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client.WebsiteV1beta1().Websites(namespace)
}

// load patches Websites until the returned function is called. The server may reject
// that while it is closed.
func (e *environment) load(t *testing.T) (end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	client := e.limited(t, e.config.Host)
	var writers sync.WaitGroup
	written := 0
	writers.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			patch := fmt.Sprintf(`{"metadata":{"annotations":{"written-at":"%d"}}}`, time.Now().UnixNano())
			if _, err := client.Patch(ctx, websiteName(i%half), types.MergePatchType, []byte(patch),
				metav1.PatchOptions{}); err == nil {
				written++
			}
		}
	})
	return func() {
		cancel()
		writers.Wait()
		if written == 0 {
			t.Error("nothing was written under load")
		}
		t.Logf("%d writes under load", written)
	}
}
