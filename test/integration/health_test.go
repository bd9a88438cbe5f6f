package integration

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubesites/website-apiserver/pkg/apiserver/embeddedetcd"
)

// TestHealthFollowsEtcd stops the etcd under a running server: it must say so
// and send nobody to itself until etcd is back. Whether to restart it meanwhile
// is for the kubelet to decide; it goes on by itself, too.
func TestHealthFollowsEtcd(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	dataDir, err := os.MkdirTemp("/tmp", "websites-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dataDir) })
	endpoint, err := embeddedetcd.Endpoint(dataDir)
	if err != nil {
		t.Fatal(err)
	}
	etcd, err := embeddedetcd.Start(ctx, dataDir)
	if err != nil {
		t.Fatal(err)
	}
	// Closed last, so that the server never runs without its store.
	t.Cleanup(func() {
		if err := etcd.Close(); err != nil {
			t.Error(err)
		}
	})
	s := newServer(t, "--etcd-servers="+endpoint)

	if err := etcd.Close(); err != nil {
		t.Fatal(err)
	}
	s.unready(t, "etcd")
	s.unready(t, "etcd-readiness")
	s.fails(t, "/livez", "etcd")
	if !s.Running() {
		t.Fatal("the server has ended with its etcd")
	}
	if etcd, err = embeddedetcd.Start(ctx, dataDir); err != nil {
		t.Fatal(err)
	}
	if err := s.WaitReady(ctx); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the server is live with etcd back", func(ctx context.Context) error {
		code, body, err := secureGet(ctx, t, s.url+"/livez", false)
		if err == nil && code != http.StatusOK {
			err = fmt.Errorf("GET /livez = %d %s", code, body)
		}
		return err
	})
	namespace := newNamespace(t)
	websites := newClients(t, s.config(t)).websites.WebsiteV1alpha1().Websites(namespace)
	waitFor(t, "Websites can be stored again", func(ctx context.Context) error {
		_, err := websites.Create(ctx, newWebsite(namespace, "kubia"), metav1.CreateOptions{})
		return err
	})
}
