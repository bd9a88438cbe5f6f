package server

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubesites/website-apiserver/pkg/apiserver/embeddedetcd"
	"github.com/kubesites/website-apiserver/test/framework"
)

// TestEtcdIsNotReadiness stops the etcd of a running server: only /healthz fails, so that the
// server keeps its endpoint and serves discovery. It recovers when etcd is back.
func TestEtcdIsNotReadiness(t *testing.T) {
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
	etcd, err := embeddedetcd.Start(ctx, embeddedetcd.Config{DataDir: dataDir})
	if err != nil {
		t.Fatal(err)
	}
	// The store is closed last, so that the server never runs without it.
	t.Cleanup(func() {
		if err := etcd.Close(); err != nil {
			t.Error(err)
		}
	})
	s := framework.NewServer(t, "--etcd-servers="+endpoint)

	if err := etcd.Close(); err != nil {
		t.Fatal(err)
	}
	s.WaitFails(t, "/healthz", "etcd")
	for _, path := range []string{"/readyz", "/livez"} {
		if code, body, err := framework.SecureGet(ctx, t, s.URL+path, false); err != nil || code != http.StatusOK {
			t.Errorf("GET %s without etcd = %d %s (%v), want 200", path, code, body, err)
		}
	}
	if !s.Running() {
		t.Fatal("the server has ended with its etcd")
	}
	if etcd, err = embeddedetcd.Start(ctx, embeddedetcd.Config{DataDir: dataDir}); err != nil {
		t.Fatal(err)
	}
	framework.WaitFor(t, "/healthz succeeds with etcd back", func(ctx context.Context) error {
		code, body, err := framework.SecureGet(ctx, t, s.URL+"/healthz", false)
		if err == nil && code != http.StatusOK {
			err = fmt.Errorf("GET /healthz = %d %s", code, body)
		}
		return err
	})
	namespace := framework.NewNamespace(t)
	websites := framework.NewClients(t, s.Config(t)).Websites.WebsiteV1alpha1().Websites(namespace)
	framework.WaitFor(t, "Websites can be stored again", func(ctx context.Context) error {
		_, err := websites.Create(ctx, framework.NewV1alpha1(namespace, "kubia"), metav1.CreateOptions{})
		return err
	})
}
