package api

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	typed "github.com/kubesites/website-apiserver/pkg/generated/clientset/versioned/typed/website/v1beta1"
	"github.com/kubesites/website-apiserver/test/framework"
)

func namesOf(list *v1beta1.WebsiteList) []string {
	names := []string{}
	for _, w := range list.Items {
		names = append(names, w.Name)
	}
	return names
}

func mustList(t *testing.T, websites typed.WebsiteInterface, options metav1.ListOptions) *v1beta1.WebsiteList {
	t.Helper()
	list, err := websites.List(t.Context(), options)
	if err != nil {
		t.Fatalf("listing with %+v: %v", options, err)
	}
	return list
}

// TestPaging reads a list in pages while it changes: all pages show the revision of the first one.
func TestPaging(t *testing.T) {
	t.Parallel()
	namespace := framework.NewNamespace(t)
	websites := framework.Websites(t, namespace)
	for i := range 5 {
		framework.MustCreate(t, framework.NewWebsite(namespace, fmt.Sprintf("w%d", i), framework.Detailed))
	}
	page := mustList(t, websites, metav1.ListOptions{Limit: 2})
	if got := namesOf(page); !slices.Equal(got, []string{"w0", "w1"}) || page.Continue == "" ||
		ptr.Deref(page.RemainingItemCount, 0) != 3 {
		t.Fatalf("first page = %v, %+v; want w0 and w1, a token, and 3 remaining", got, page.ListMeta)
	}
	if err := websites.Delete(t.Context(), "w4", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	framework.MustCreate(t, framework.NewWebsite(namespace, "w9", framework.Detailed))

	var rest []string
	for next := page; next.Continue != ""; {
		next = mustList(t, websites, metav1.ListOptions{Limit: 2, Continue: next.Continue})
		if next.ResourceVersion != page.ResourceVersion {
			t.Errorf("resource version of a page = %s, want the first page's, %s", next.ResourceVersion, page.ResourceVersion)
		}
		rest = append(rest, namesOf(next)...)
	}
	if want := []string{"w2", "w3", "w4"}; !slices.Equal(rest, want) {
		t.Errorf("other pages = %v, want %v as of the first page", rest, want)
	}
	if got, want := namesOf(mustList(t, websites, metav1.ListOptions{})),
		[]string{"w0", "w1", "w2", "w3", "w9"}; !slices.Equal(got, want) {
		t.Errorf("list = %v, want %v", got, want)
	}
	if _, err := websites.List(t.Context(),
		metav1.ListOptions{Limit: 2, Continue: "nonsense"}); !apierrors.IsBadRequest(err) {
		t.Errorf("a token that is none: %v, want BadRequest", err)
	}
	if got := strings.Fields(framework.Kubectl(t, "get", "ws", "-n", namespace, "-o", "name",
		"--chunk-size=2")); len(got) != 5 {
		t.Errorf("kubectl read %q in chunks, want all five", got)
	}
}

func TestSelectors(t *testing.T) {
	t.Parallel()
	namespace := framework.NewNamespace(t)
	websites := framework.Websites(t, namespace)
	for name, team := range map[string]string{"one": "blue", "two": "blue", "three": "red"} {
		framework.MustCreate(t, framework.NewWebsite(namespace, name, framework.Detailed, func(w *v1beta1.Website) {
			w.Labels = map[string]string{"team": team}
			w.Spec.DeploymentName = name + "-website"
			w.Spec.Source.Git.Repository = "https://example.com/" + team + ".git"
		}))
	}
	framework.MustCreate(t, framework.NewWebsite(namespace, "four", framework.Detailed))

	tests := map[string]struct {
		options metav1.ListOptions
		want    []string
	}{
		"label":       {options: metav1.ListOptions{LabelSelector: "team=blue"}, want: []string{"one", "two"}},
		"other label": {options: metav1.ListOptions{LabelSelector: "team!=blue"}, want: []string{"four", "three"}},
		"set of labels": {options: metav1.ListOptions{LabelSelector: "team in (red, green)"},
			want: []string{"three"}},
		"no label": {options: metav1.ListOptions{LabelSelector: "!team"}, want: []string{"four"}},
		"name":     {options: metav1.ListOptions{FieldSelector: "metadata.name=two"}, want: []string{"two"}},
		"namespace": {options: metav1.ListOptions{FieldSelector: "metadata.namespace!=" + namespace},
			want: []string{}},
		"deployment": {options: metav1.ListOptions{FieldSelector: "spec.deploymentName=three-website"},
			want: []string{"three"}},
		"repository": {
			options: metav1.ListOptions{FieldSelector: "spec.source.git.repository=https://example.com/blue.git"},
			want:    []string{"one", "two"},
		},
		"other repository": {
			options: metav1.ListOptions{FieldSelector: "spec.source.git.repository!=https://example.com/blue.git"},
			want:    []string{"four", "three"},
		},
		"repository, deployment": {
			options: metav1.ListOptions{
				FieldSelector: "spec.source.git.repository=https://example.com/blue.git,spec.deploymentName=two-website",
			}, want: []string{"two"},
		},
		"repository and label": {
			options: metav1.ListOptions{FieldSelector: "spec.source.git.repository=https://example.com/blue.git",
				LabelSelector: "team=red"}, want: []string{},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			// The list is read from the watch cache, by an index where one exists, and from etcd.
			for _, version := range []string{"", "0"} {
				test.options.ResourceVersion = version
				if got := namesOf(mustList(t, websites, test.options)); !slices.Equal(got, test.want) {
					t.Errorf("resource version %q: selected %v, want %v", version, got, test.want)
				}
			}
		})
	}
	t.Run("by the name of v1alpha1", func(t *testing.T) {
		list, err := framework.Admin(t).Websites.WebsiteV1alpha1().Websites(namespace).List(t.Context(),
			metav1.ListOptions{FieldSelector: "spec.gitRepo=https://example.com/red.git"})
		if err != nil || len(list.Items) != 1 || list.Items[0].Name != "three" {
			t.Errorf("selected %+v (%v), want three", list, err)
		}
	})
	t.Run("by a field that is not selectable", func(t *testing.T) {
		_, err := websites.List(t.Context(), metav1.ListOptions{FieldSelector: "spec.replicas=1"})
		if !apierrors.IsBadRequest(err) || !strings.Contains(err.Error(), "field label not supported: spec.replicas") {
			t.Errorf("error = %v, want BadRequest about spec.replicas", err)
		}
	})
}

// TestResourceVersions checks the table in the API concepts on the content of a list at a
// resource version.
func TestResourceVersions(t *testing.T) {
	t.Parallel()
	namespace := framework.NewNamespace(t)
	websites := framework.Websites(t, namespace)
	framework.MustCreate(t, framework.NewWebsite(namespace, "one", framework.Detailed))
	before := mustList(t, websites, metav1.ListOptions{}).ResourceVersion
	framework.MustCreate(t, framework.NewWebsite(namespace, "two", framework.Detailed))

	tests := map[string]struct {
		options metav1.ListOptions
		want    []string
	}{
		"most recent":           {want: []string{"one", "two"}},
		"most recent, in pages": {options: metav1.ListOptions{Limit: 1}, want: []string{"one"}},
		"exact": {options: metav1.ListOptions{ResourceVersion: before,
			ResourceVersionMatch: metav1.ResourceVersionMatchExact}, want: []string{"one"}},
		"exact, with a limit alone": {options: metav1.ListOptions{ResourceVersion: before, Limit: 5}, want: []string{"one"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			list := mustList(t, websites, test.options)
			if got := namesOf(list); !slices.Equal(got, test.want) {
				t.Errorf("list = %v, want %v", got, test.want)
			}
			if asked := test.options.ResourceVersion; asked != "" && list.ResourceVersion != asked {
				t.Errorf("resource version = %s, want %s", list.ResourceVersion, asked)
			}
		})
	}
	for name, options := range map[string]metav1.ListOptions{
		// All requests go to one server, whose cache has been read at this version before.
		"any":                   {ResourceVersion: "0"},
		"not older than":        {ResourceVersion: before, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan},
		"not older, by default": {ResourceVersion: before},
	} {
		t.Run(name, func(t *testing.T) {
			list := mustList(t, websites, options)
			compared, err := resourceversion.CompareResourceVersion(list.ResourceVersion, before)
			if err != nil || compared < 0 || !slices.Contains(namesOf(list), "one") {
				t.Errorf("list = %v at %s, want one and at least %s (%v)", namesOf(list), list.ResourceVersion, before, err)
			}
		})
	}

	current, err := strconv.ParseUint(before, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	refusals := map[string]struct {
		options metav1.ListOptions
		want    func(error) bool
	}{
		"too large": {
			options: metav1.ListOptions{ResourceVersion: fmt.Sprint(current + 1e6),
				ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan},
			want: func(err error) bool {
				return apierrors.IsTimeout(err) && apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge)
			},
		},
		"match of nothing": {options: metav1.ListOptions{ResourceVersionMatch: metav1.ResourceVersionMatchExact},
			want: apierrors.IsInvalid},
		"exactly any": {
			options: metav1.ListOptions{ResourceVersion: "0", ResourceVersionMatch: metav1.ResourceVersionMatchExact},
			want:    apierrors.IsInvalid,
		},
		"unknown match": {options: metav1.ListOptions{ResourceVersion: before, ResourceVersionMatch: "Newest"},
			want: apierrors.IsInvalid},
		"not a version": {options: metav1.ListOptions{ResourceVersion: "x"},
			want: func(err error) bool { return apierrors.IsBadRequest(err) || apierrors.IsInvalid(err) }},
	}
	for name, test := range refusals {
		t.Run(name, func(t *testing.T) {
			// The client retries ten times if the response has Retry-After.
			err := framework.Admin(t).Websites.WebsiteV1beta1().RESTClient().Get().Namespace(namespace).Resource("websites").
				VersionedParams(&test.options, metav1.ParameterCodec).MaxRetries(0).Do(t.Context()).Error()
			if !test.want(err) {
				t.Errorf("error = %v (%s)", err, apierrors.ReasonForError(err))
			}
		})
	}
}

// TestConsistentReadsComeFromTheCache lists right after each write: every list has the written
// Website, and none is read from etcd, but for those of k8s.io/apiserver's consistency checker, which
// compares the cache with etcd every five to seven minutes. It is not parallel, so that no other test
// lists meanwhile.
func TestConsistentReadsComeFromTheCache(t *testing.T) {
	namespace := framework.NewNamespace(t)
	websites := framework.Websites(t, namespace)
	const labels = `group="mycontroller.nevermosby.io",`
	metrics := func() string {
		t.Helper()
		code, body, err := framework.SecureGet(t.Context(), t, framework.Cluster.WebsiteAPIServerURL()+"/metrics", true)
		if err != nil || code != http.StatusOK {
			t.Fatalf("GET /metrics = %d (%v)", code, err)
		}
		return body
	}
	sum := func(body string, series ...string) (sum float64) {
		for _, series := range series {
			// The series is missing while its count is zero.
			if value, err := framework.MetricValue(body, series); err == nil {
				sum += value
			}
		}
		return sum
	}
	etcdRequests := func(operation string) string {
		return `etcd_requests_total{` + labels + `operation="` + operation + `",resource="websites"}`
	}
	checks := func(status string) string {
		return `apiserver_storage_consistency_checks_total{` + labels + `resource="websites",status="` + status + `"}`
	}
	fromEtcd := func() float64 {
		body := metrics()
		return sum(body, etcdRequests("list"), etcdRequests("listStream")) - sum(body, checks("success"), checks("failure"))
	}
	fromCache := func() float64 {
		return sum(metrics(),
			`apiserver_watch_cache_consistent_read_total{fallback="false",`+labels+`resource="websites",success="true"}`)
	}

	etcdBefore, cacheBefore := fromEtcd(), fromCache()
	if etcdBefore == 0 {
		t.Error("no list of etcd was ever counted: the watch cache fills itself by one, so the metric has another name")
	}
	const rounds = 20
	for i := range rounds {
		name := fmt.Sprintf("w%d", i)
		framework.MustCreate(t, framework.NewWebsite(namespace, name, framework.Detailed))
		if got := namesOf(mustList(t, websites, metav1.ListOptions{})); !slices.Contains(got, name) {
			t.Fatalf("list = %v right after %s was created", got, name)
		}
	}
	if got := fromCache() - cacheBefore; got < rounds {
		t.Errorf("%v consistent reads came from the cache, want %d", got, rounds)
	}
	// A check is counted after its list.
	framework.WaitFor(t, "no more lists were read from etcd than the consistency checker's", func(context.Context) error {
		if got := fromEtcd() - etcdBefore; got > 0 {
			return fmt.Errorf("%v lists were read from etcd, want none", got)
		}
		return nil
	})
	framework.WaitFor(t, "all are deleted", func(ctx context.Context) error {
		return websites.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
	})
}
