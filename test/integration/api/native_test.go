package api

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/test/framework"
)

// In these points, other API servers behind the aggregator differed from built-in types.

// TestStreamingListsInEveryForm: in every encoding and with every selector, a streamed list ends
// its initial events by the annotated bookmark. Without it, informers wait for ever.
func TestStreamingListsInEveryForm(t *testing.T) {
	t.Parallel()
	namespace := framework.NewNamespace(t)
	for _, name := range []string{"one", "two"} {
		framework.MustCreate(t, framework.NewWebsite(namespace, name, framework.Detailed))
	}
	const protobuf, partial = "application/vnd.kubernetes.protobuf", ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
	forms := map[string]string{
		"JSON": "application/json", "protobuf": protobuf + ";stream=watch",
		"table":    "application/json;as=Table;g=meta.k8s.io;v=v1",
		"metadata": "application/json" + partial, "metadata in protobuf": protobuf + partial,
	}
	selections := []string{
		"", "labelSelector=team%3Dnone", "labelSelector=team+notin+(red)", "fieldSelector=metadata.name%3Done",
		"fieldSelector=spec.deploymentName%3Dtwo",
		"fieldSelector=spec.source.git.repository%3Dnone", "fieldSelector=status.commit%3Dnone",
		"fieldSelector=status.ready%3DUnknown",
	}
	var requests sync.WaitGroup
	for form, accept := range forms {
		for _, selection := range selections {
			requests.Go(func() {
				path := websitesPath("v1beta1", namespace,
					"?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=2&"+
						selection)
				got := request(t, http.MethodGet, path, "", "Accept", accept)
				if got.code != http.StatusOK || strings.Count(string(got.body), metav1.InitialEventsAnnotationKey) != 1 {
					t.Errorf("%s, %q: status %d, want one bookmark that ends the initial events:\n%q", form, selection,
						got.code, got.body)
				}
			})
		}
	}
	requests.Wait()
}

// TestResponseHeaders: headers that kube-apiserver adds to each response occur once.
func TestResponseHeaders(t *testing.T) {
	t.Parallel()
	namespace := framework.NewNamespace(t)
	framework.MustCreate(t, framework.NewWebsite(namespace, "one"))
	invalid := `{"apiVersion": "mycontroller.nevermosby.io/v1beta1", "kind": "Website", "metadata": {"name": "two"}, ` +
		`"spec": {}}`
	for name, test := range map[string]struct {
		method, path, body string
		want               int
	}{
		"list":  {http.MethodGet, websitesPath("v1beta1", namespace, ""), "", http.StatusOK},
		"watch": {http.MethodGet, websitesPath("v1alpha1", namespace, "?watch=true&timeoutSeconds=1"), "", http.StatusOK},
		"idle": {http.MethodGet, websitesPath("v1beta1", namespace, "?watch=true&timeoutSeconds=1&labelSelector=team"),
			"", http.StatusOK},
		"not found": {http.MethodGet, websitesPath("v1beta1", namespace, "/two"), "", http.StatusNotFound},
		"invalid":   {http.MethodPost, websitesPath("v1beta1", namespace, ""), invalid, http.StatusUnprocessableEntity},
		"deleted":   {http.MethodDelete, websitesPath("v1beta1", namespace, "/one?dryRun=All"), "", http.StatusOK},
		"discovery": {http.MethodGet, "/apis/mycontroller.nevermosby.io/v1beta1", "", http.StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := request(t, test.method, test.path, test.body, "Content-Type", "application/json")
			if got.code != test.want {
				t.Fatalf("status %d, want %d: %s", got.code, test.want, got.body)
			}
			for _, name := range []string{
				"Audit-Id", "Cache-Control", "X-Kubernetes-Pf-Flowschema-Uid", "X-Kubernetes-Pf-Prioritylevel-Uid",
			} {
				if values := got.header.Values(name); len(values) != 1 || values[0] == "" {
					t.Errorf("%s is %q, want one value", name, values)
				}
			}
		})
	}
}

// TestSetSelectors selects by sets of values in lists, watches and deletions.
func TestSetSelectors(t *testing.T) {
	t.Parallel()
	ctx, namespace := t.Context(), framework.NewNamespace(t)
	websites := framework.Websites(t, namespace)
	for name, team := range map[string]string{"blue": "blue", "green": "green", "red": "red", "none": ""} {
		framework.MustCreate(t, framework.NewWebsite(namespace, name, framework.WithReplicas(0), func(w *v1beta1.Website) {
			if team != "" {
				w.Labels = map[string]string{"team": team}
			}
		}))
	}
	for selector, want := range map[string][]string{
		"team in (blue,red)":        {"blue", "red"},
		"team notin (blue,red)":     {"green", "none"},
		"team,team notin (blue)":    {"green", "red"},
		"!team":                     {"none"},
		"team in (blue),team!=blue": {},
	} {
		if got := namesOf(mustList(t, websites, metav1.ListOptions{LabelSelector: selector})); !slices.Equal(got, want) {
			t.Errorf("%s selects %v, want %v", selector, got, want)
		}
	}
	watcher := framework.StartWatch(t, websites, metav1.ListOptions{LabelSelector: "team notin (red),team"})
	expectEvents(t, watcher, observation{watch.Added, "blue"}, observation{watch.Added, "green"})
	if err := websites.DeleteCollection(ctx, metav1.DeleteOptions{},
		metav1.ListOptions{LabelSelector: "team in (blue,red)"}); err != nil {
		t.Fatal(err)
	}
	if got, want := namesOf(mustList(t, websites, metav1.ListOptions{})),
		[]string{"green", "none"}; !slices.Equal(got, want) {
		t.Errorf("after the deletion there are %v, want %v", got, want)
	}
}

// TestDeleteAllBesideAnotherClient: an object that another client deletes meanwhile causes
// no error.
func TestDeleteAllBesideAnotherClient(t *testing.T) {
	t.Parallel()
	namespace := framework.NewNamespace(t)
	websites := framework.Websites(t, namespace)
	const count = 40
	for i := range count {
		framework.MustCreate(t, framework.NewWebsite(namespace, fmt.Sprintf("w%02d", i), framework.WithReplicas(0)))
	}
	ctx, cancel := context.WithCancel(t.Context())
	var other sync.WaitGroup
	defer other.Wait()
	defer cancel()
	other.Go(func() {
		for ctx.Err() == nil {
			for i := range count {
				err := websites.Delete(ctx, fmt.Sprintf("w%02d", count-1-i), metav1.DeleteOptions{})
				if err != nil && !apierrors.IsNotFound(err) && ctx.Err() == nil {
					t.Errorf("the other client: %v", err)
				}
			}
		}
	})
	framework.Kubectl(t, "delete", "websites", "--all", "--namespace="+namespace)
	if left := namesOf(mustList(t, websites, metav1.ListOptions{})); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// TestApplyReadsNoOpenAPIv2: the documents of version 2 contain all types of the cluster, and take
// seconds to decode.
func TestApplyReadsNoOpenAPIv2(t *testing.T) {
	t.Parallel()
	namespace := framework.NewNamespace(t)
	for _, args := range [][]string{{"apply"},
		{"apply", "--server-side", "--field-manager=other", "--force-conflicts"}, {"diff"}} {
		options := framework.Stdin(betaManifest("kubia", validSource))
		_, stderr, err := framework.Cluster.KubectlWith(t.Context(), options,
			append(args, "-v=6", "--cache-dir="+t.TempDir(), "--namespace="+namespace, "-f", "-")...)
		if args[0] != "diff" && err != nil {
			t.Errorf("kubectl %v: %v\n%s", args, err, stderr)
		}
		if !strings.Contains(stderr, "/websites") || strings.Contains(stderr, "/openapi/v2") {
			t.Errorf("kubectl %v requests OpenAPI v2, or nothing:\n%s", args, stderr)
		}
	}
}
