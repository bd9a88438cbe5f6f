package app

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/options"
	"github.com/kubesites/website-apiserver/pkg/controller/podprobe"
)

// TestCommitThroughThePodProxy has the API server answer for a pod, and waits
// until its commit is in the status.
func TestCommitThroughThePodProxy(t *testing.T) {
	t.Parallel()
	commit := strings.Repeat("0a", 20)
	const pod = "/api/v1/namespaces/default/pods/kubia-hash-pod"
	answers := map[string]string{
		pod + ":8081/proxy/status": fmt.Sprintf(`{"commit": %q, "pathFound": true}`, commit),
	}
	reported := make(chan struct{})
	report := sync.OnceFunc(func() { close(reported) })
	server := &apiServer{websites: []v1beta1.Website{newWebsite("kubia")}, pods: []corev1.Pod{newPod("kubia")}}
	server.first = func(w http.ResponseWriter, r *http.Request, info *request.RequestInfo) bool {
		switch {
		case info.Subresource == "proxy":
			body, ok := answers[r.URL.Path]
			if !ok {
				t.Errorf("the pod was asked for %s", r.URL.Path)
			}
			_, _ = io.WriteString(w, body)
			return true
		case info.Resource == "websites" && info.Subresource == "status":
			object, err := sent(r)
			website, ok := object.(*v1beta1.Website)
			if err != nil || !ok {
				t.Errorf("instead of a status there came %v, %v", object, err)
				return false
			}
			if website.Status.Commit == commit {
				report()
			}
			answer(w, website)
			return true
		default:
			return false
		}
	}
	o := server.newOptions(t, func(o *options.Options) { o.CommitObservation = string(podprobe.PodProxy) })
	startInstrumented(t, o, Instruments{})
	await(t, "the commit is in the status", reported)
}
