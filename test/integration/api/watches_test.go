package api

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/test/framework"
)

// observation is a short form of an event.
type observation struct {
	event watch.EventType
	name  string
}

func expectEvents(t *testing.T, watcher watch.Interface, want ...observation) {
	t.Helper()
	for _, expected := range want {
		event := framework.NextEvent(t, watcher)
		// The server sends bookmarks at any time.
		for event.Type == watch.Bookmark &&
			event.Object.(*v1beta1.Website).Annotations[metav1.InitialEventsAnnotationKey] == "" {
			event = framework.NextEvent(t, watcher)
		}
		w, ok := event.Object.(*v1beta1.Website)
		if !ok || event.Type != expected.event || w.Name != expected.name {
			t.Fatalf("event = %s %+v, want %s of %s", event.Type, event.Object, expected.event, expected.name)
		}
	}
}

// TestBookmarks watches until the server ends the watch: with bookmarks enabled, one arrives before
// the end; otherwise none.
func TestBookmarks(t *testing.T) {
	t.Parallel()
	namespace, elsewhere := framework.NewNamespace(t), framework.NewNamespace(t)
	websites := framework.Websites(t, namespace)
	started := mustList(t, websites, metav1.ListOptions{}).ResourceVersion
	// The last bookmark is sent two seconds before the end, after the other Website was created.
	options := metav1.ListOptions{ResourceVersion: started, TimeoutSeconds: ptr.To[int64](10)}
	without := framework.StartWatch(t, websites, options)
	options.AllowWatchBookmarks = true
	with := framework.StartWatch(t, websites, options)
	// The object is in another namespace: a bookmark advances the resource version of watches without
	// an event.
	other := framework.MustCreate(t, framework.NewWebsite(elsewhere, "other", framework.Detailed))

	bookmarks := func(watcher watch.Interface) []*v1beta1.Website {
		var seen []*v1beta1.Website
		for event := range watcher.ResultChan() {
			if event.Type != watch.Bookmark {
				t.Errorf("event = %s %+v, want bookmarks alone", event.Type, event.Object)
				continue
			}
			seen = append(seen, event.Object.(*v1beta1.Website))
		}
		return seen
	}
	got := bookmarks(with)
	if len(got) == 0 {
		t.Fatal("no bookmark")
	}
	last := got[len(got)-1]
	if last.Name != "" || last.Spec.Source.Git != nil {
		t.Errorf("bookmark = %+v, want a resource version and nothing else", last)
	}
	if compared, err := resourceversion.CompareResourceVersion(last.ResourceVersion, other.ResourceVersion); err != nil ||
		compared < 0 {
		t.Errorf("bookmark at %s, want it after %s (%v)", last.ResourceVersion, other.ResourceVersion, err)
	}
	if got := bookmarks(without); len(got) != 0 {
		t.Errorf("%d bookmarks although none were asked for", len(got))
	}
}

// TestStreamingList requests a list as a stream of events: the existing objects, a bookmark that
// ends them, and then the changes.
func TestStreamingList(t *testing.T) {
	t.Parallel()
	namespace := framework.NewNamespace(t)
	websites := framework.Websites(t, namespace)
	for _, name := range []string{"one", "two"} {
		framework.MustCreate(t, framework.NewWebsite(namespace, name, framework.Detailed))
	}
	options := metav1.ListOptions{
		SendInitialEvents:    ptr.To(true),
		ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
		AllowWatchBookmarks:  true,
	}
	watcher := framework.StartWatch(t, websites, options)
	expectEvents(t, watcher, observation{watch.Added, "one"}, observation{watch.Added, "two"})
	bookmark := framework.NextEvent(t, watcher)
	if bookmark.Type != watch.Bookmark ||
		bookmark.Object.(*v1beta1.Website).Annotations[metav1.InitialEventsAnnotationKey] != "true" {
		t.Fatalf("event = %s %+v, want the bookmark that ends the initial events", bookmark.Type, bookmark.Object)
	}
	framework.MustCreate(t, framework.NewWebsite(namespace, "three", framework.Detailed))
	expectEvents(t, watcher, observation{watch.Added, "three"})

	options.ResourceVersionMatch = ""
	if _, err := websites.Watch(t.Context(), options); !apierrors.IsInvalid(err) {
		t.Errorf("initial events without resourceVersionMatch: %v, want Invalid", err)
	}
}

// TestWatchFromAResourceVersion gets all changes since that version.
func TestWatchFromAResourceVersion(t *testing.T) {
	t.Parallel()
	namespace := framework.NewNamespace(t)
	websites := framework.Websites(t, namespace)
	from := mustList(t, websites, metav1.ListOptions{}).ResourceVersion
	framework.MustCreate(t, framework.NewWebsite(namespace, "gone", framework.Detailed))
	if err := websites.Delete(t.Context(), "gone", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	framework.MustCreate(t, framework.NewWebsite(namespace, "here", framework.Detailed))
	expectEvents(t, framework.StartWatch(t, websites, metav1.ListOptions{ResourceVersion: from}),
		observation{watch.Added, "gone"}, observation{watch.Deleted, "gone"}, observation{watch.Added, "here"})
}

// TestWatchOfASelection: an object that leaves a selection is reported as deleted.
func TestWatchOfASelection(t *testing.T) {
	t.Parallel()
	ctx, namespace := t.Context(), framework.NewNamespace(t)
	websites := framework.Websites(t, namespace)
	byLabel := framework.StartWatch(t, websites, metav1.ListOptions{LabelSelector: "team=blue"})
	byDeployment := framework.StartWatch(t, websites, metav1.ListOptions{FieldSelector: "spec.deploymentName=one"})
	byRepository := framework.StartWatch(t, websites,
		metav1.ListOptions{FieldSelector: "spec.source.git.repository=https://example.com/site.git"})

	framework.MustCreate(t, framework.NewWebsite(namespace, "one", framework.Detailed))
	framework.MustCreate(t, framework.NewWebsite(namespace, "two", framework.Detailed,
		func(w *v1beta1.Website) { w.Labels = map[string]string{"team": "blue"} }))
	for name, patch := range map[string]string{
		"one": `{"spec":{"source":{"git":{"repository":"https://example.com/other.git"}}}}`,
		"two": `{"metadata":{"labels":{"team":"red"}}}`,
	} {
		framework.Kubectl(t, "patch", "website", name, "-n", namespace, "--type=merge", "-p", patch)
	}
	if err := websites.Delete(ctx, "one", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	expectEvents(t, byLabel, observation{watch.Added, "two"}, observation{watch.Deleted, "two"})
	expectEvents(t, byDeployment, observation{watch.Added, "one"}, observation{watch.Deleted, "one"})
	expectEvents(t, byRepository, observation{watch.Added, "one"}, observation{watch.Added, "two"},
		observation{watch.Deleted, "one"})
}

// TestKubectlWatches reads the output of "kubectl get --watch": rows of the table that the
// server makes.
func TestKubectlWatches(t *testing.T) {
	t.Parallel()
	namespace := framework.NewNamespace(t)
	ctx, cancel := context.WithTimeout(t.Context(), framework.WaitTimeout)
	defer cancel()
	// The row of this Website shows that kubectl has listed, and watches from now on.
	framework.MustCreate(t, framework.NewWebsite(namespace, "earlier", framework.Detailed))
	command := exec.CommandContext(ctx, framework.Cluster.KubectlPath(), "get", "websites", "-n", namespace, "--watch",
		"--output-watch-events")
	command.Env = append(os.Environ(), "KUBECONFIG="+framework.Cluster.Kubeconfig(), "KUBECACHEDIR="+t.TempDir())
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		// The command was killed, so its error is expected.
		_ = command.Wait()
	})

	wanted := []*regexp.Regexp{
		regexp.MustCompile(`^EVENT +NAME +READY +URL +COMMIT +SYNC +PINNED +AGE$`),
		regexp.MustCompile(`^ADDED +earlier `),
		regexp.MustCompile(`^ADDED +kubia +0/1 `),
		regexp.MustCompile(`^MODIFIED +kubia +1/1 +\S*:3\d{4} `),
		regexp.MustCompile(`^DELETED +kubia `),
	}
	var printed []string
	for lines := bufio.NewScanner(output); len(wanted) > 0 && lines.Scan(); {
		printed = append(printed, lines.Text())
		if !wanted[0].MatchString(lines.Text()) {
			continue
		}
		switch wanted = slices.Delete(wanted, 0, 1); len(wanted) {
		case 3:
			framework.MustCreate(t, framework.NewWebsite(namespace, "kubia", framework.Detailed,
				func(w *v1beta1.Website) { w.Spec.Service.Type = v1beta1.ServiceTypeNodePort }))
		case 1:
			framework.Kubectl(t, "delete", "website", "kubia", "-n", namespace)
		}
	}
	if len(wanted) > 0 {
		t.Errorf("kubectl printed\n%s\nand no line like %s", strings.Join(printed, "\n"), wanted[0])
	}
}
