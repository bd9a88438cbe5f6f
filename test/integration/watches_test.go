package integration

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	typed "github.com/kubesites/website-apiserver/pkg/generated/clientset/versioned/typed/website/v1beta1"
)

// observation is an event in few words.
type observation struct {
	event watch.EventType
	name  string
}

// startWatch watches until the test ends.
func startWatch(t *testing.T, websites typed.WebsiteInterface, options metav1.ListOptions) watch.Interface {
	t.Helper()
	watcher, err := websites.Watch(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(watcher.Stop)
	return watcher
}

// nextEvent returns the next event but those of changes, which the controller
// makes at times of its own.
func nextEvent(t *testing.T, watcher watch.Interface) watch.Event {
	t.Helper()
	timeout := time.After(waitTimeout)
	for {
		select {
		case event, open := <-watcher.ResultChan():
			if !open {
				t.Fatal("the watch has ended")
			}
			if event.Type != watch.Modified {
				return event
			}
		case <-timeout:
			t.Fatal("no event")
		}
	}
}

func expectEvents(t *testing.T, watcher watch.Interface, want ...observation) {
	t.Helper()
	for _, expected := range want {
		event := nextEvent(t, watcher)
		w, ok := event.Object.(*v1beta1.Website)
		if !ok || event.Type != expected.event || w.Name != expected.name {
			t.Fatalf("event = %s %+v, want %s of %s", event.Type, event.Object, expected.event, expected.name)
		}
	}
}

// TestBookmarks watches twice until the server ends it: with bookmarks there is
// one before the end, without none.
func TestBookmarks(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	websites := betaClient(t, namespace)
	started := mustList(t, websites, metav1.ListOptions{}).ResourceVersion
	options := metav1.ListOptions{ResourceVersion: started, TimeoutSeconds: ptr.To[int64](4)}
	without := startWatch(t, websites, options)
	options.AllowWatchBookmarks = true
	with := startWatch(t, websites, options)
	// Of another namespace: a bookmark moves watchers on over what they do not see.
	other := mustCreateBeta(t, newNamespace(t), "other")

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
	if last.Name != "" || last.Spec.Source.Repository != "" {
		t.Errorf("bookmark = %+v, want a resource version and nothing else", last)
	}
	if compared, err := resourceversion.CompareResourceVersion(last.ResourceVersion, other.ResourceVersion); err != nil || compared < 0 {
		t.Errorf("bookmark at %s, want it after %s (%v)", last.ResourceVersion, other.ResourceVersion, err)
	}
	if got := bookmarks(without); len(got) != 0 {
		t.Errorf("%d bookmarks although none were asked for", len(got))
	}
}

// TestStreamingList asks for a list as a stream of events: what is there, a
// bookmark that ends it, and then what happens.
func TestStreamingList(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	websites := betaClient(t, namespace)
	for _, name := range []string{"one", "two"} {
		mustCreateBeta(t, namespace, name)
	}
	options := metav1.ListOptions{
		SendInitialEvents:    ptr.To(true),
		ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
		AllowWatchBookmarks:  true,
	}
	watcher := startWatch(t, websites, options)
	expectEvents(t, watcher, observation{watch.Added, "one"}, observation{watch.Added, "two"})
	bookmark := nextEvent(t, watcher)
	if bookmark.Type != watch.Bookmark || bookmark.Object.(*v1beta1.Website).Annotations[metav1.InitialEventsAnnotationKey] != "true" {
		t.Fatalf("event = %s %+v, want the bookmark that ends the initial events", bookmark.Type, bookmark.Object)
	}
	mustCreateBeta(t, namespace, "three")
	expectEvents(t, watcher, observation{watch.Added, "three"})

	options.ResourceVersionMatch = ""
	if _, err := websites.Watch(t.Context(), options); !apierrors.IsInvalid(err) {
		t.Errorf("initial events without resourceVersionMatch: %v, want Invalid", err)
	}
}

// TestControllerStreamsItsLists: client-go falls back to plain lists where a
// server does not stream them, so what it did tells that ours does.
func TestControllerStreamsItsLists(t *testing.T) {
	t.Parallel()
	streamed := 0
	for _, event := range auditEvents(t, "website-apiserver", 0) {
		if event.User.Username != controllerUser || event.ObjectRef == nil || event.ObjectRef.Resource != "websites" {
			continue
		}
		switch {
		case event.Verb == "list":
			t.Errorf("the controller listed by %s", event.RequestURI)
		case event.Verb == "watch" && strings.Contains(event.RequestURI, "sendInitialEvents=true"):
			streamed++
		}
	}
	if streamed == 0 {
		t.Error("the controller has not asked for a streaming list")
	}
}

// TestWatchFromAResourceVersion misses nothing that has happened since.
func TestWatchFromAResourceVersion(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	websites := betaClient(t, namespace)
	from := mustList(t, websites, metav1.ListOptions{}).ResourceVersion
	mustCreateBeta(t, namespace, "gone")
	if err := websites.Delete(t.Context(), "gone", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	mustCreateBeta(t, namespace, "here")
	expectEvents(t, startWatch(t, websites, metav1.ListOptions{ResourceVersion: from}),
		observation{watch.Added, "gone"}, observation{watch.Deleted, "gone"}, observation{watch.Added, "here"})
}

// TestWatchOfASelection: what leaves a selection is deleted for its watchers.
func TestWatchOfASelection(t *testing.T) {
	t.Parallel()
	ctx, namespace := t.Context(), newNamespace(t)
	websites := betaClient(t, namespace)
	byLabel := startWatch(t, websites, metav1.ListOptions{LabelSelector: "team=blue"})
	byDeployment := startWatch(t, websites, metav1.ListOptions{FieldSelector: "spec.deploymentName=one"})
	byRepository := startWatch(t, websites, metav1.ListOptions{FieldSelector: "spec.source.repository=https://example.com/site.git"})

	mustCreateBeta(t, namespace, "one")
	mustCreateBeta(t, namespace, "two", func(w *v1beta1.Website) { w.Labels = map[string]string{"team": "blue"} })
	for name, patch := range map[string]string{
		"one": `{"spec":{"source":{"repository":"https://example.com/other.git"}}}`,
		"two": `{"metadata":{"labels":{"team":"red"}}}`,
	} {
		kubectl(t, "patch", "website", name, "-n", namespace, "--type=merge", "-p", patch)
	}
	if err := websites.Delete(ctx, "one", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	expectEvents(t, byLabel, observation{watch.Added, "two"}, observation{watch.Deleted, "two"})
	expectEvents(t, byDeployment, observation{watch.Added, "one"}, observation{watch.Deleted, "one"})
	expectEvents(t, byRepository, observation{watch.Added, "one"}, observation{watch.Added, "two"}, observation{watch.Deleted, "one"})
}

// TestKubectlWatches reads what "kubectl get --watch" prints: rows of the table,
// made on the server.
func TestKubectlWatches(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	// Its row tells that kubectl has listed, and so watches what is created from now on.
	mustCreateBeta(t, namespace, "earlier")
	command := exec.CommandContext(ctx, cluster.KubectlPath(), "get", "websites", "-n", namespace, "--watch", "--output-watch-events")
	command.Env = append(os.Environ(), "KUBECONFIG="+cluster.Kubeconfig(), "KUBECACHEDIR="+t.TempDir())
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		// It never ends by itself, so that it was killed is all that there is to say.
		_ = command.Wait()
	})

	wanted := []*regexp.Regexp{
		regexp.MustCompile(`^EVENT +NAME +READY +URL +COMMIT +AGE$`),
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
			mustCreateBeta(t, namespace, "kubia", func(w *v1beta1.Website) { w.Spec.Service.Type = v1beta1.ServiceTypeNodePort })
		case 1:
			kubectl(t, "delete", "website", "kubia", "-n", namespace)
		}
	}
	if len(wanted) > 0 {
		t.Errorf("kubectl printed\n%s\nand no line like %s", strings.Join(printed, "\n"), wanted[0])
	}
}
