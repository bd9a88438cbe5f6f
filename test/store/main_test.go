// Package store tests what happens to the children of Websites when the store of
// website-apiserver is not the one that was served before: an empty data directory,
// an older copy, the store of another cluster, another prefix, an etcd that is
// replaced behind a running server. The garbage collector of a real
// kube-controller-manager deletes what has lost its owner, within ten seconds.
// It must not find anything.
package store

import (
	"context"
	"os"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	aggregator "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset"

	"github.com/kubesites/website-apiserver/hack/devcluster"
	"github.com/kubesites/website-apiserver/pkg/generated/clientset/versioned"
	websitev1beta1 "github.com/kubesites/website-apiserver/pkg/generated/clientset/versioned/typed/website/v1beta1"
)

const (
	// startTimeout includes building the Kubernetes programs where they are not in
	// the cache yet.
	startTimeout = 30 * time.Minute
	// waitTimeout bounds every wait. What is waited for takes seconds; the rest is
	// for small machines under load.
	waitTimeout = 2 * time.Minute
	// openTimeout is how long the server may stay closed with the right store back.
	openTimeout = 5 * time.Second
	// closedTime is three times what the garbage collector takes from an owner that
	// is not found to the last deleted child.
	closedTime = 30 * time.Second
	// longClosedTime leaves room for a restart of kube-controller-manager.
	longClosedTime = 3 * time.Minute
)

// environment is a cluster of one test, with clients of a user who may do
// everything.
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
	ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
	defer cancel()
	options.Node, options.Progress = devcluster.NodeSimulated, os.Stderr
	cluster, err := devcluster.Up(ctx, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	e := &environment{Cluster: cluster}
	if e.config, err = cluster.AdminConfig(); err != nil {
		t.Fatal(err)
	}
	e.config.QPS = -1
	if e.kube, err = kubernetes.NewForConfig(e.config); err != nil {
		t.Fatal(err)
	}
	if e.websites, err = versioned.NewForConfig(e.config); err != nil {
		t.Fatal(err)
	}
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

// waitFor waits until done returns no error.
func waitFor(t *testing.T, what string, timeout time.Duration, done func(context.Context) error) {
	t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, timeout, true, func(ctx context.Context) (bool, error) {
		last = done(ctx)
		return last == nil, nil
	})
	if err != nil {
		t.Fatalf("waiting until %s: %v: %v", what, err, last)
	}
}

// newWebsitesClient is one of the server that config names.
func newWebsitesClient(t *testing.T, config *rest.Config) websitev1beta1.WebsiteInterface {
	t.Helper()
	client, err := versioned.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client.WebsiteV1beta1().Websites(namespace)
}
