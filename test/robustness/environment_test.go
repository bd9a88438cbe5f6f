package robustness

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/kubesites/website-apiserver/hack/devcluster"
	"github.com/kubesites/website-apiserver/test/framework"
	"github.com/kubesites/website-apiserver/test/robustness/history"
	"github.com/kubesites/website-apiserver/test/robustness/load"
)

// environment is a namespace under load, and the clients that faults need.
type environment struct {
	t         *testing.T
	namespace string
	recorder  *history.Recorder
	// etcd is a client of all members; members have a client of one member each.
	etcd    *clientv3.Client
	members map[string]*clientv3.Client
	// follower is nil while etcd is being replaced.
	follower *load.Follower
	load     *load.Load
}

// newEnvironment starts following etcd, and the load.
func newEnvironment(t *testing.T, change func(*load.Options)) *environment {
	t.Helper()
	e := &environment{t: t, namespace: framework.NewNamespace(t), recorder: history.NewRecorder(),
		members: map[string]*clientv3.Client{}}
	urls, config, err := framework.Cluster.WebsiteEtcdMembers()
	if err != nil {
		t.Fatal(err)
	}
	connect := func(endpoints ...string) *clientv3.Client {
		client, err := clientv3.New(clientv3.Config{
			Endpoints: endpoints, TLS: config, DialTimeout: 10 * time.Second, Logger: zap.NewNop(),
			// The connections of a stopped member are not closed.
			DialKeepAliveTime: 10 * time.Second, DialKeepAliveTimeout: 3 * time.Second,
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = client.Close() })
		return client
	}
	e.etcd = connect(slices.Sorted(maps.Values(urls))...)
	for name, url := range urls {
		e.members[name] = connect(url)
	}
	e.waitReady()

	e.follow().Start()
	t.Cleanup(e.stopFollowing)
	targets := map[string]*rest.Config{history.Balanced: framework.AdminConfig(t)}
	for name, url := range framework.Cluster.WebsiteAPIServers() {
		targets[name] = framework.AdminConfig(t)
		targets[name].Host = url
	}
	options := load.Options{
		Targets: targets, Namespace: e.namespace, Recorder: e.recorder, Rate: float32(*loadRate), Websites: 12,
	}
	if change != nil {
		change(&options)
	}
	if e.load, err = load.Start(context.Background(), options); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.load.Stop)
	return e
}

// follow returns a Follower that records etcd's own history once it is started.
func (e *environment) follow() *load.Follower {
	e.t.Helper()
	var err error
	if e.follower, err = load.NewFollower(e.t.Context(), e.etcd,
		"/registry/mycontroller.nevermosby.io/websites/"+e.namespace+"/", e.recorder); err != nil {
		e.t.Fatal(err)
	}
	return e.follower
}

func (e *environment) stopFollowing() {
	e.t.Helper()
	if e.follower == nil {
		return
	}
	if err := e.follower.Stop(); err != nil {
		e.t.Error(err)
	}
	e.follower = nil
}

// finish ends the load and returns the whole history.
func (e *environment) finish() *history.History {
	e.t.Helper()
	last, err := e.load.Finish(context.Background())
	if err != nil {
		// The recorded history is checked nevertheless.
		e.t.Errorf("stalled: %v", err)
	}
	framework.WaitFor(e.t, "etcd has reported all changes", func(context.Context) error {
		if !e.recorder.HasChange(last) {
			return fmt.Errorf("revision %d is missing", last)
		}
		return nil
	})
	return e.recorder.History()
}

func process(name string) *devcluster.Process { return framework.Cluster.Process(name) }

// waitReady waits until all servers and members are ready, and clients reach them
// through kube-apiserver.
func (e *environment) waitReady() {
	e.t.Helper()
	framework.WaitFor(e.t, "everything is ready", func(ctx context.Context) error {
		for name, member := range e.members {
			if _, err := member.Get(ctx, "ready"); err != nil {
				return fmt.Errorf("reading from %s: %w", name, err)
			}
		}
		if ready := framework.Cluster.Balancer().Ready(); len(ready) != apiServers {
			return fmt.Errorf("only %v are ready", ready)
		}
		for name, url := range framework.Cluster.WebsiteAPIServers() {
			config := framework.AdminConfig(e.t)
			config.Host = url
			if err := e.lists(ctx, config); err != nil {
				return fmt.Errorf("listing at %s: %w", name, err)
			}
		}
		return e.lists(ctx, framework.AdminConfig(e.t))
	})
}

func (e *environment) lists(ctx context.Context, config *rest.Config) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	list, err := framework.NewClients(e.t, load.WithoutRetries(config)).Websites.WebsiteV1beta1().Websites(e.namespace).
		List(ctx, metav1.ListOptions{Limit: 1})
	if err == nil && list.ResourceVersion == "" {
		err = errors.New("a list without a resource version")
	}
	return err
}

// leader returns the name of the leading member of etcd.
func (e *environment) leader(ctx context.Context) (name string, err error) {
	for name, member := range e.members {
		asking, cancel := context.WithTimeout(ctx, time.Second)
		status, failed := member.Status(asking, member.Endpoints()[0])
		cancel()
		switch {
		case failed != nil:
			err = failed
		case status.Leader == status.Header.MemberId:
			return name, nil
		}
	}
	return "", fmt.Errorf("no member of etcd leads: %w", err)
}
