package server

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1alpha1"
	"github.com/kubesites/website-apiserver/test/framework"
)

// The tests in this file are not parallel, as they stop or kill components.

// TestKilledAPIServerKeepsAllData kills website-apiserver during creations: every acknowledged
// Website must exist afterwards.
func TestKilledAPIServerKeepsAllData(t *testing.T) {
	ctx, namespace := t.Context(), framework.NewNamespace(t)
	websites := framework.Admin(t).Websites.WebsiteV1alpha1().Websites(namespace)
	server := framework.Cluster.Process("website-apiserver")

	acknowledged := make(chan *v1alpha1.Website)
	go func() {
		defer close(acknowledged)
		for i := 0; ; i++ {
			w, err := websites.Create(ctx, framework.NewV1alpha1(namespace, fmt.Sprintf("w%d", i),
				framework.V1alpha1Replicas(0)), metav1.CreateOptions{})
			if err != nil {
				return
			}
			acknowledged <- w
		}
	}()
	kept := map[string]*v1alpha1.Website{}
	for w := range acknowledged {
		kept[w.Name] = w
		if len(kept) == 20 {
			if err := server.Kill(ctx); err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(kept) < 20 {
		t.Fatalf("only %d Websites were created", len(kept))
	}

	if err := server.Start(ctx); err != nil {
		t.Fatal(err)
	}
	if err := server.WaitReady(ctx); err != nil {
		t.Fatal(err)
	}
	var list *v1alpha1.WebsiteList
	framework.WaitFor(t, "the aggregator reaches website-apiserver again", func(ctx context.Context) (err error) {
		list, err = websites.List(ctx, metav1.ListOptions{})
		return err
	})
	for _, w := range list.Items {
		if created, ok := kept[w.Name]; ok && created.UID == w.UID && created.Spec.GitRepo == w.Spec.GitRepo {
			delete(kept, w.Name)
		}
	}
	if len(kept) != 0 {
		t.Errorf("%d acknowledged Websites are lost: %v", len(kept), kept)
	}
	// The server no longer has earlier revisions, and a client that requests them gets an error.
	// kube-apiserver may still treat the server as unavailable.
	var watcher watch.Interface
	framework.WaitFor(t, "a watch begins", func(context.Context) (err error) {
		watcher, err = framework.Websites(t, namespace).Watch(t.Context(), metav1.ListOptions{ResourceVersion: "1"})
		return err
	})
	t.Cleanup(watcher.Stop)
	if event := framework.NextEvent(t, watcher); !apierrors.IsResourceExpired(apierrors.FromObject(event.Object)) {
		t.Errorf("watching from the beginning after a restart = %s %+v, want that the version has expired",
			event.Type, event.Object)
	}
	// The controller's watches must have recovered as well.
	framework.WaitAvailable(t, framework.MustCreate(t, framework.NewV1alpha1(namespace, "after")), 1)
}

// TestStartForbidsNothing lists Websites continuously, through the aggregator and directly, while
// website-apiserver restarts, and while the ConfigMap with the CAs of its clients is deleted. A
// user with permission to list Websites never gets 401 or 403.
func TestStartForbidsNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	aggregated := framework.AdminConfig(t)
	direct := rest.CopyConfig(aggregated)
	direct.Host = framework.Cluster.WebsiteAPIServerURL()
	direct.TLSClientConfig.CAData = framework.Cluster.ServingCA()

	var clients sync.WaitGroup
	answers := map[string]map[int]int{}
	for name, config := range map[string]*rest.Config{"through the aggregator": aggregated, "directly": direct} {
		client, err := rest.HTTPClientFor(config)
		if err != nil {
			t.Fatal(err)
		}
		codes := map[int]int{}
		answers[name] = codes
		clients.Go(func() {
			wait.UntilWithContext(ctx, func(ctx context.Context) {
				code, body := list(ctx, client, config.Host)
				codes[code]++
				if code == http.StatusUnauthorized || code == http.StatusForbidden {
					t.Errorf("%s: %d %s", name, code, body)
				}
			}, 5*time.Millisecond)
		})
	}
	server := framework.Cluster.Process("website-apiserver")
	for range 3 {
		if err := server.Restart(ctx); err != nil {
			t.Fatal(err)
		}
	}
	trust := framework.Admin(t).Kubernetes.CoreV1().ConfigMaps("kube-system")
	if err := trust.Delete(ctx, "extension-apiserver-authentication", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	framework.WaitFor(t, "kube-apiserver publishes its CAs again", func(ctx context.Context) error {
		_, err := trust.Get(ctx, "extension-apiserver-authentication", metav1.GetOptions{})
		return err
	})
	for _, config := range []*rest.Config{aggregated, direct} {
		client, err := rest.HTTPClientFor(config)
		if err != nil {
			t.Fatal(err)
		}
		framework.WaitFor(t, "Websites are served at "+config.Host, func(ctx context.Context) error {
			if code, body := list(ctx, client, config.Host); code != http.StatusOK {
				return fmt.Errorf("%d %s", code, body)
			}
			return nil
		})
	}
	cancel()
	clients.Wait()
	t.Logf("answers by status: %v", answers)
	for name, codes := range answers {
		if codes[http.StatusOK] == 0 {
			t.Errorf("%s: no request succeeded", name)
		}
	}
}

// list requests all Websites, and returns 0 without a response.
func list(ctx context.Context, client *http.Client, host string) (code int, body string) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet,
		host+"/apis/mycontroller.nevermosby.io/v1beta1/websites?limit=1", nil)
	if err != nil {
		return 0, err.Error()
	}
	response, err := client.Do(request)
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	content, _ := io.ReadAll(response.Body)
	return response.StatusCode, string(content)
}
