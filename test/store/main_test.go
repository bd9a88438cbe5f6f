// Package store tests the protection of the children of Websites from a wrong store of
// website-apiserver: an empty data directory, an older copy, the store of another cluster,
// another prefix, an etcd that is replaced behind a running server. The garbage collector of a
// real kube-controller-manager deletes objects without an owner within ten seconds. It must not
// find any.
package store

import (
	"os"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	aggregator "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset"

	"github.com/kubesites/website-apiserver/hack/devcluster"
	"github.com/kubesites/website-apiserver/pkg/generated/clientset/versioned"
	"github.com/kubesites/website-apiserver/test/framework"
)

const (
	// openTimeout bounds the time until the server opens again with the right store.
	openTimeout = 5 * time.Second
	// closedTime is one and a half times the garbage collector's time from a missing owner to the last
	// deleted child.
	closedTime = 15 * time.Second
)

// environment is a cluster of one test, with the administrator's clients.
type environment struct {
	*devcluster.Cluster
	config      *rest.Config
	kube        kubernetes.Interface
	websites    versioned.Interface
	metadata    metadata.Interface
	apiServices aggregator.Interface
}

func newEnvironment(t *testing.T, options devcluster.Options) *environment {
	t.Helper()
	e := &environment{Cluster: framework.StartCluster(t, options)}
	var err error
	e.config = e.AdminConfig()
	e.config.QPS = -1
	clients := framework.NewClients(t, e.config)
	e.kube, e.websites = clients.Kubernetes, clients.Websites
	if e.metadata, err = metadata.NewForConfig(e.config); err != nil {
		t.Fatal(err)
	}
	if e.apiServices, err = aggregator.NewForConfig(e.config); err != nil {
		t.Fatal(err)
	}
	return e
}

// mustStart starts a component that was stopped, and waits until it is ready.
func mustStart(t *testing.T, p *devcluster.Process) {
	t.Helper()
	if err := p.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := p.WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func mustStop(t *testing.T, p *devcluster.Process) {
	t.Helper()
	if err := p.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// replaceDirectory moves a directory away until the returned function restores it.
func replaceDirectory(t *testing.T, dir string) (restore func()) {
	t.Helper()
	right := dir + "-right"
	if err := os.Rename(dir, right); err != nil {
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(right, dir); err != nil {
			t.Fatal(err)
		}
	}
}
