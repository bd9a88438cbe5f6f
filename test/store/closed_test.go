package store

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/kubesites/website-apiserver/hack/devcluster"
	"github.com/kubesites/website-apiserver/test/framework"
)

const websitesPath = "/apis/mycontroller.nevermosby.io/v1beta1/namespaces/" + namespace + "/websites"

// closedRequests has a request of each kind, in both versions and with every subresource.
var closedRequests = []struct{ method, path, contentType, body string }{
	{http.MethodGet, websitesPath, "", ""},
	{http.MethodGet, websitesPath + "?resourceVersion=0", "", ""},
	{http.MethodGet, websitesPath + "?watch=true&timeoutSeconds=5", "", ""},
	{
		http.MethodGet, websitesPath +
			"?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true", "", "",
	},
	{http.MethodGet, "/apis/mycontroller.nevermosby.io/v1beta1/websites", "", ""},
	{http.MethodGet, websitesPath + "/w0", "", ""},
	{http.MethodGet, websitesPath + "/w0?resourceVersion=0", "", ""},
	{http.MethodGet, websitesPath + "/w0/status", "", ""},
	{http.MethodGet, websitesPath + "/w0/scale", "", ""},
	{http.MethodGet, websitesPath + "/missing", "", ""},
	{http.MethodGet, strings.Replace(websitesPath, "v1beta1", "v1alpha1", 1) + "/w0", "", ""},
	{http.MethodPost, websitesPath, "application/json",
		`{"metadata":{"name":"new"},"spec":{"source":{"git":{"repository":"https://example.com/new.git"}}}}`},
	{http.MethodPost, websitesPath + "?dryRun=All", "application/json",
		`{"metadata":{"name":"new"},"spec":{"source":{"git":{"repository":"https://example.com/new.git"}}}}`},
	{http.MethodPatch, websitesPath + "/w0", "application/merge-patch+json", `{"metadata":{"labels":{"a":"b"}}}`},
	{http.MethodPatch, websitesPath + "/w0/status", "application/merge-patch+json", `{"status":{"replicas":1}}`},
	{http.MethodPatch, websitesPath + "/w0/scale", "application/merge-patch+json", `{"spec":{"replicas":2}}`},
	{http.MethodPatch, websitesPath + "/applied?fieldManager=test", "application/apply-patch+yaml",
		`{"apiVersion":"mycontroller.nevermosby.io/v1beta1","kind":"Website","metadata":{"name":"applied"},` +
			`"spec":{"source":{"git":{"repository":"https://example.com/new.git"}}}}`},
	{http.MethodDelete, websitesPath + "/w0", "", ""},
	{http.MethodDelete, websitesPath, "", ""},
}

// closed waits until the server is closed for a reason, and fails if a request for Websites then
// gets any other status than 503 during the given time.
func (e *environment) closed(t *testing.T, server *devcluster.Process, url, reason string, duration time.Duration) {
	t.Helper()
	client, err := rest.HTTPClientFor(e.config)
	if err != nil {
		t.Fatal(err)
	}
	// A closed server answers at once, also requests that it received before.
	client.Timeout = 20 * time.Second
	framework.WaitFor(t, "the server is closed because of "+reason, func(ctx context.Context) error {
		return e.refused(ctx, t, client, websitesPath, reason)
	})
	start := time.Now()
	for round := 0; time.Since(start) < duration; round++ {
		for _, r := range closedRequests {
			request, err := http.NewRequestWithContext(t.Context(), r.method, e.config.Host+r.path, strings.NewReader(r.body))
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("Content-Type", r.contentType)
			response, err := client.Do(request)
			if err != nil {
				t.Fatalf("%s %s: %v", r.method, r.path, err)
			}
			body, _ := io.ReadAll(response.Body)
			response.Body.Close()
			if endedByReplica(response.StatusCode, string(body)) {
				continue
			}
			if response.StatusCode != http.StatusServiceUnavailable || response.Header.Get("Retry-After") != "" ||
				!strings.Contains(string(body), reason) {
				t.Fatalf("%s %s answered %d, Retry-After %q: %s", r.method, r.path, response.StatusCode,
					response.Header.Get("Retry-After"), body)
			}
		}
		// The garbage collector runs between two rounds of requests.
		select {
		case <-t.Context().Done():
			t.Fatal(t.Context().Err())
		case <-time.After(time.Second):
		}
	}
	e.reportsReason(t, server, url, reason)
}

// endedByReplica reports whether kube-apiserver answered because a replica of website-apiserver
// closed the connection: a replica that has lost its store redirects clients to another one while
// it knows of one, and the proxy does not repeat requests with a body.
func endedByReplica(code int, body string) bool {
	return code == http.StatusServiceUnavailable && strings.Contains(body, "error trying to reach service") &&
		(strings.Contains(body, "GOAWAY") || strings.Contains(body, "cannot rewind body after connection loss"))
}

// refused returns nil if a request is answered with 503 because of reason.
func (e *environment) refused(ctx context.Context, t *testing.T, client *http.Client, path, reason string) error {
	t.Helper()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, e.config.Host+path, nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		t.Fatalf("GET %s: %v", path, err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusServiceUnavailable || !strings.Contains(string(body), reason) {
		return fmt.Errorf("GET %s answered %d: %s", path, response.StatusCode, body)
	}
	return nil
}

// reportsReason checks that a closed server serves everything but Websites, and reports the reason
// to operators.
func (e *environment) reportsReason(t *testing.T, server *devcluster.Process, url, reason string) {
	t.Helper()
	ctx := t.Context()
	insecure := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	for _, path := range []string{"/readyz", "/livez"} {
		// A replica is unready while it regards another one as open, which closes some seconds later.
		framework.WaitFor(t, path+" is answered while closed", func(context.Context) error {
			response, err := insecure.Get(url + path)
			if err != nil {
				t.Fatal(err)
			}
			response.Body.Close()
			if response.StatusCode != http.StatusOK {
				return fmt.Errorf("got %d, want 200", response.StatusCode)
			}
			return nil
		})
	}
	discovered, err := e.kube.Discovery().ServerResourcesForGroupVersion("mycontroller.nevermosby.io/v1beta1")
	if err != nil || !slices.ContainsFunc(discovered.APIResources,
		func(r metav1.APIResource) bool { return r.Name == "websites" }) {
		t.Errorf("discovery while closed: %v, %v", discovered, err)
	}
	if out, stderr, err := e.Kubectl(ctx, "explain", "website.spec.source"); err != nil ||
		!strings.Contains(out, "repository") {
		t.Errorf("kubectl explain while closed: %v: %s", err, stderr)
	}
	for _, name := range []string{"v1alpha1", "v1beta1"} {
		service, err := e.apiServices.ApiregistrationV1().APIServices().Get(ctx, name+".mycontroller.nevermosby.io",
			metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, condition := range service.Status.Conditions {
			if condition.Type == "Available" && condition.Status != "True" {
				t.Errorf("the APIService %s is not Available while closed: %s", service.Name, condition.Message)
			}
		}
	}

	admin := *e.config
	admin.Host = url
	direct, err := rest.HTTPClientFor(&admin)
	if err != nil {
		t.Fatal(err)
	}
	response, err := direct.Get(url + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	metrics, _ := io.ReadAll(response.Body)
	response.Body.Close()
	if want := fmt.Sprintf("website_apiserver_store_closed{reason=%q} 1\n",
		reason); !strings.Contains(string(metrics), want) {
		t.Errorf("the metrics lack %s", want)
	}
	framework.WaitFor(t, "there is an event "+reason, func(ctx context.Context) error {
		events, err := e.kube.EventsV1().Events("website-system").List(ctx,
			metav1.ListOptions{FieldSelector: "reason=" + reason})
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(events.Items, func(event eventsv1.Event) bool {
			return event.Regarding.Name == "website-store" && event.Type == corev1.EventTypeWarning &&
				strings.Contains(event.Note, "website-apiserver store accept")
		}) {
			return fmt.Errorf("%d events", len(events.Items))
		}
		return nil
	})
	// The command runs on the server's machine, as for operators.
	output, err := e.storeCommand(ctx, server, "check")
	if err == nil || !strings.Contains(output, "store that the cluster was served from: ") ||
		!strings.Contains(output, "this store: ") {
		t.Errorf("\"store check\" of a store that is not the right one: %v: %s", err, output)
	}
}

// storeCommand runs "website-apiserver store" with the flags of a server and the
// credentials of the host cluster.
func (e *environment) storeCommand(ctx context.Context, server *devcluster.Process, command string) (string, error) {
	return e.offlineStoreCommand(ctx, server, command, "--kubeconfig="+e.Kubeconfig())
}

// offlineStoreCommand runs "website-apiserver store" with a server's flags for the store, and
// without the host cluster.
func (e *environment) offlineStoreCommand(ctx context.Context, server *devcluster.Process,
	args ...string) (string, error) {
	for _, arg := range server.Args()[1:] {
		if strings.HasPrefix(arg, "--data-dir=") || strings.HasPrefix(arg, "--etcd-") {
			args = append(args, arg)
		}
	}
	cmd := exec.CommandContext(ctx, server.Args()[0], append([]string{"store"}, args...)...)
	// The output is read separately, as a warning in it would break a line.
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	return stdout.String() + stderr.String(), err
}
