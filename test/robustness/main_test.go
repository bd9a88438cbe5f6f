// Package robustness tests that website-apiserver keeps Kubernetes' guarantees to its clients
// during failures of servers, members of etcd and the network between them. It records the
// operations of many clients through a real kube-apiserver and the changes in etcd, and package
// check compares both.
//
// All tests share a cluster with two website-apiservers over three members of etcd, without
// website-controller: every change is caused by a test. The tests run one after the other, because
// each of them ends or stops components.
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
	// Failed connections to members are expected.
	grpclog.SetLoggerV2(grpclog.NewLoggerV2(io.Discard, io.Discard, io.Discard))
	framework.Main(m, framework.Options{Name: "robustness", Cluster: &devcluster.Options{
		Node: devcluster.NodeSimulated, WithoutController: true,
		ExternalEtcd: true, WebsiteEtcdMembers: etcdMembers, APIServers: apiServers,
		// The documentation recommends this for several replicas.
		APIServerArgs: []string{"--shutdown-delay-duration=2s"},
	}})
}

// thorough reports whether faults are injected repeatedly, on a dedicated machine: then the rates
// of requests have an absolute minimum.
func thorough() bool { return *faultTime > 0 }

// calmTime is the duration of the load before a fault and after it, holdTime the least duration of
// a fault.
func calmTime() time.Duration {
	if thorough() {
		return 5 * time.Second
	}
	return 1500 * time.Millisecond
}

// pauseTime is the duration of a pause. The servers close connections to an unresponsive member of
// etcd after 15 seconds.
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
