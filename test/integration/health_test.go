package integration

import (
	"context"
	"os"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubesites/website-apiserver/pkg/apiserver/embeddedetcd"
)

// TestReadinessFollowsEtcd stops the etcd under a running server: it must say so
// and send nobody to itself until etcd is back, without a restart.
func TestReadinessFollowsEtcd(t *testing.T) {
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
	if !s.Running() {
		t.Fatal("the server has ended with its etcd")
	}
	if etcd, err = embeddedetcd.Start(ctx, dataDir); err != nil {
		t.Fatal(err)
	}
	if err := s.WaitReady(ctx); err != nil {
		t.Fatal(err)
	}
	namespace := newNamespace(t)
	websites := newClients(t, s.config(t)).websites.WebsiteV1alpha1().Websites(namespace)
	waitFor(t, "Websites can be stored again", func(ctx context.Context) error {
		_, err := websites.Create(ctx, newWebsite(namespace, "kubia"), metav1.CreateOptions{})
		return err
	})
}
