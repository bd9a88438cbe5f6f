package app

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/options"
	"github.com/kubesites/website-apiserver/pkg/controller/podprobe"
)

// purpose names the component that sends a request: the election, the informers, the workers or the
// event recorder.
func purpose(info *request.RequestInfo) string {
	switch {
	case info.Resource == "leases":
		return "election"
	case info.Resource == "events":
		return "events"
	case info.Verb == "list" || info.Verb == "watch" || !info.IsResourceRequest:
		return "informers"
	case info.Subresource == "proxy":
		return "pods"
	default:
		return "workers"
	}
}

// TestPurposesShareNoConnections compares the connections of requests. HTTP/2 needs one connection
// per client.
func TestPurposesShareNoConnections(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	connections := map[string]sets.Set[string]{}
	seen, all := sets.New[string](), make(chan struct{})
	allSeen := sync.OnceFunc(func() { close(all) })
	server := &apiServer{websites: []v1beta1.Website{newWebsite("kubia")}, pods: []corev1.Pod{newPod("kubia")}}
	server.first = func(_ http.ResponseWriter, r *http.Request, info *request.RequestInfo) bool {
		mu.Lock()
		defer mu.Unlock()
		if r.ProtoMajor != 2 {
			t.Errorf("%s %s came over %s", r.Method, r.URL.Path, r.Proto)
		}
		if connections[r.RemoteAddr] == nil {
			connections[r.RemoteAddr] = sets.New[string]()
		}
		connections[r.RemoteAddr].Insert(purpose(info))
		// A reconciliation writes the status of the Website last.
		if seen.Insert(purpose(info), info.Resource+"/"+info.Subresource).HasAll("election", "events", "informers", "pods",
			"workers", "websites/status") {
			allSeen()
		}
		return false
	}
	o := server.newOptions(t, func(o *options.Options) {
		o.LeaderElection.LeaderElect = true
		o.CommitObservation = string(podprobe.PodProxy)
	})
	stop := startInstrumented(t, o, Instruments{})
	await(t, "there was a request of every kind", all)
	stop()
	mu.Lock()
	defer mu.Unlock()
	for connection, purposes := range connections {
		if purposes.Len() > 1 {
			t.Errorf("%s is the connection of %s", connection, strings.Join(sets.List(purposes), " and "))
		}
	}
}
