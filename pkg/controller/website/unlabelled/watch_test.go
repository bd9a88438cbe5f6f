package unlabelled

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
)

// TestWatch has a child deleted after the watch has begun.
func TestWatch(t *testing.T) {
	services := corev1.SchemeGroupVersion.WithResource("services")
	child := newObject("child", "Website")
	child.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Service"}
	scheme := fake.NewTestScheme()
	if err := metav1.AddMetaToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	client := fake.NewSimpleMetadataClient(scheme, child)
	watching := make(chan struct{}, 10)
	client.PrependWatchReactor("*", func(action clienttesting.Action) (bool, watch.Interface, error) {
		if got := action.(clienttesting.WatchAction).GetWatchRestrictions().Labels.String(); got != selector {
			t.Errorf("watched with the label selector %q, want %q", got, selector)
		}
		watcher, err := client.Tracker().Watch(services, action.GetNamespace())
		watching <- struct{}{}
		return true, watcher, err
	})
	deleted := make(chan string, 1)
	w := New(client, "default")
	w.Add(
		services, cache.ResourceEventHandlerFuncs{DeleteFunc: func(obj any) { deleted <- obj.(metav1.Object).GetName() }},
	)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	go w.Run(ctx)
	select {
	case <-watching:
	case <-ctx.Done():
		t.Fatal("nothing is watched")
	}
	if !w.HasSynced() {
		t.Error("not synced although the initial list was read")
	}
	if err := client.Tracker().Delete(services, "default", "child"); err != nil {
		t.Fatal(err)
	}
	select {
	case name := <-deleted:
		if name != "child" {
			t.Errorf("the deletion of %q was seen", name)
		}
	case <-ctx.Done():
		t.Fatal("the deletion was not seen")
	}
}
