package framework

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/transport"
	"k8s.io/klog/v2"

	"github.com/kubesites/website-apiserver/pkg/controller/app"
	"github.com/kubesites/website-apiserver/pkg/controller/options"
)

// Controller is a website-controller in the process of the tests, which can observe and
// change its requests.
type Controller struct {
	stop context.CancelFunc
	done chan error
}

// StartController starts a website-controller in the process of the tests. It is stopped
// when the test ends.
func StartController(t *testing.T, instruments app.Instruments, flags ...string) *Controller {
	t.Helper()
	o, err := options.NewOptions()
	if err != nil {
		t.Fatal(err)
	}
	set := pflag.NewFlagSet("website-controller", pflag.ContinueOnError)
	for _, section := range o.Flags().FlagSets {
		set.AddFlagSet(section)
	}
	if err := set.Parse(flags); err != nil {
		t.Fatal(err)
	}
	completed := o.Complete()
	if err := completed.Validate(); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(klog.NewContext(context.Background(), logr.Discard()))
	c := &Controller{stop: stop, done: make(chan error, 1)}
	go func() {
		c.done <- app.RunInstrumented(ctx, completed, instruments)
		close(c.done)
	}()
	t.Cleanup(func() {
		stop()
		<-c.done
	})
	return c
}

// Drain stops the controller as SIGTERM does, and waits until it has finished its reconciles.
func (c *Controller) Drain(t *testing.T) {
	t.Helper()
	c.stop()
	if err := <-c.done; err != nil {
		t.Errorf("a drained controller ended with: %v", err)
	}
}

// RoundTripper is a function as a http.RoundTripper.
type RoundTripper func(*http.Request) (*http.Response, error)

// RoundTrip calls the function.
func (f RoundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// RequestInfo parses the paths of requests to API servers.
var RequestInfo = &request.RequestInfoFactory{
	APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api"),
}

// PodAnswers returns the answers of a simulated pod to probes, by the last element of the path.
type PodAnswers func(pod *corev1.Pod) map[string]string

// Serving answers like a pod that serves a commit and follows its repository.
func Serving(commit string) map[string]string {
	return map[string]string{
		"status": fmt.Sprintf(`{"commit": %q, "pathFound": true, "lastContact": "2026-01-01T00:00:00Z"}`, commit),
	}
}

// Pinned answers like a pod that was requested to serve a commit, and serves it.
func Pinned(commit string) map[string]string {
	return map[string]string{
		"status": fmt.Sprintf(`{"commit": %q, "pin": {"commit": %[1]q}, "pathFound": true, "lastContact": `+
			`"2026-01-01T00:00:00Z"}`, commit),
	}
}

// Wrap wraps the connections of a controller with --commit-observation=PodProxy. It answers the
// probes itself, as kube-apiserver cannot reach simulated pods.
func (answers PodAnswers) Wrap(kube kubernetes.Interface) transport.WrapperFunc {
	return func(base http.RoundTripper) http.RoundTripper {
		return RoundTripper(func(r *http.Request) (*http.Response, error) {
			info, err := RequestInfo.NewRequestInfo(r)
			if err != nil {
				return nil, err
			}
			if info.Resource != "pods" || info.Subresource != "proxy" {
				return base.RoundTrip(r)
			}
			return answers.Answer(kube, r)
		})
	}
}

// Answer answers a probe through the pod proxy.
func (answers PodAnswers) Answer(kube kubernetes.Interface, r *http.Request) (*http.Response, error) {
	info, err := RequestInfo.NewRequestInfo(r)
	if err != nil {
		return nil, err
	}
	name, _, _ := strings.Cut(info.Name, ":")
	pod, err := kube.CoreV1().Pods(info.Namespace).Get(r.Context(), name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	body := answers(pod)[info.Parts[len(info.Parts)-1]] + "\n"
	return &http.Response{
		StatusCode: http.StatusOK, Status: "200 OK", Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)), Request: r,
	}, nil
}

// RejectStreamingLists wraps the connections of a controller. It rejects streaming lists, as API
// servers before Kubernetes 1.34 do: informers then list before they watch.
func RejectStreamingLists(base http.RoundTripper) http.RoundTripper {
	return RoundTripper(func(r *http.Request) (*http.Response, error) {
		if r.URL.Query().Get("sendInitialEvents") != "true" {
			return base.RoundTrip(r)
		}
		const status = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid","code":422}`
		return &http.Response{
			StatusCode: http.StatusUnprocessableEntity, Status: "422 Unprocessable Entity", Proto: "HTTP/1.1",
			ProtoMajor: 1, ProtoMinor: 1,
			Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(status)),
			ContentLength: int64(len(status)), Request: r,
		}, nil
	})
}
