// Package robustness tests that website-apiserver keeps what Kubernetes promises its
// clients while servers, members of etcd and the network between them fail. It records what
// many clients do and see through a real kube-apiserver, and what etcd stores meanwhile, and
// package check compares both.
//
// All tests share a cluster with two website-apiservers over three members of etcd, without
// website-controller: every change is one that a test has asked for. They run one after the
// other, because each of them ends or stops components.
package robustness

import (
	"flag"
	"io"
	"testing"
	"time"

	"google.golang.org/grpc/grpclog"

	"github.com/kubesites/website-apiserver/hack/devcluster"
	"github.com/kubesites/website-apiserver/test/framework"
)

var (
	faultTime = flag.Duration("fault-time", 0, "how long each fault is injected again and again; 0: once")
	loadRate  = flag.Float64("load-rate", 100, "requests per second of the load")
)

const (
	etcdMembers = 3
	apiServers  = 2
)

func TestMain(m *testing.M) {
	flag.Parse()
	// Connections to members that faults end are no news.
	grpclog.SetLoggerV2(grpclog.NewLoggerV2(io.Discard, io.Discard, io.Discard))
	framework.Main(m, framework.Options{Name: "robustness", Cluster: &devcluster.Options{
		Node: devcluster.NodeSimulated, WithoutController: true,
		ExternalEtcd: true, WebsiteEtcdMembers: etcdMembers, APIServers: apiServers,
		// As the documentation of several replicas has it.
		APIServerArgs: []string{"--shutdown-delay-duration=2s"},
	}})
}

// thorough returns whether faults are injected again and again, on a machine that has time
// for it: then the rates of requests have an absolute minimum.
func thorough() bool { return *faultTime > 0 }

// calmTime is how long the load runs before a fault and after it, holdTime how long a fault
// lasts at least.
func calmTime() time.Duration {
	if thorough() {
		return 5 * time.Second
	}
	return 1500 * time.Millisecond
}

// pauseTime is how long a process stays paused. The servers give up connections to a member of
// etcd that does not answer after 15 seconds.
func pauseTime() time.Duration {
	if thorough() {
		return 30 * time.Second
	}
	return holdTime()
}

func holdTime() time.Duration {
	if thorough() {
		return 5 * time.Second
	}
	return 2 * time.Second
}
