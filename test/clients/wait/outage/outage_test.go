package outage

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/hack/devcluster"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/test/framework"
)

// answerTime is twice the time within which a client must get its 503, for slow machines.
const answerTime = 6 * time.Second

// faults are the ways in which etcd becomes unavailable.
var faults = []struct {
	name string
	// prepare runs first, if set.
	prepare    func(t *testing.T, etcd *devcluster.Process)
	begin, end func(t *testing.T, etcd *devcluster.Process)
}{
	{
		name:  "hangs",
		begin: hang,
		end:   func(t *testing.T, etcd *devcluster.Process) { signal(t, etcd, syscall.SIGCONT) },
	},
	{
		name: "is killed",
		begin: func(t *testing.T, etcd *devcluster.Process) {
			if err := etcd.Kill(t.Context()); err != nil {
				t.Fatal(err)
			}
		},
		end: func(t *testing.T, etcd *devcluster.Process) {
			if err := etcd.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
		},
	},
	{name: "has a full disk", prepare: moveToSmallDisk, begin: fillDisk, end: emptyDisk},
}

func signal(t *testing.T, p *devcluster.Process, s syscall.Signal) {
	t.Helper()
	if err := p.Signal(s); err != nil {
		t.Fatal(err)
	}
}

// hang stops a process, and waits until all its threads have stopped. They can respond for some milliseconds after the
// signal, if other processes use the processors.
func hang(t *testing.T, p *devcluster.Process) {
	t.Helper()
	signal(t, p, syscall.SIGSTOP)
	framework.WaitFor(t, p.Name()+" is stopped", func(context.Context) error {
		threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", p.PID()))
		if err != nil {
			return err
		}
		if len(threads) == 0 {
			return errors.New("it has no threads")
		}
		for _, thread := range threads {
			stat, err := os.ReadFile(thread)
			if err != nil {
				return err
			}
			// The state follows the name, which is in parentheses.
			if _, state, _ := strings.Cut(string(stat), ") "); !strings.HasPrefix(state, "T") {
				return fmt.Errorf("%s: state %.1s", thread, state)
			}
		}
		return nil
	})
}

// TestOutage makes the Websites' etcd unavailable, and uses all other parts of the
// cluster meanwhile.
func TestOutage(t *testing.T) {
	framework.RequireCluster(t)
	etcd := framework.Cluster.Process("website-etcd")
	for _, fault := range faults {
		t.Run(fault.name, func(t *testing.T) {
			if fault.prepare != nil {
				fault.prepare(t, etcd)
			}
			namespace := framework.NewNamespace(t)
			website := framework.MustCreate(t, framework.NewWebsite(namespace, "site"))
			framework.WaitFor(t, "the watch cache has the Website", func(ctx context.Context) error {
				_, err := framework.Websites(t, namespace).Get(ctx, website.Name, metav1.GetOptions{ResourceVersion: "0"})
				return err
			})
			framework.WaitFor(t, "the Website has its Deployment", func(ctx context.Context) error {
				_, err := framework.Admin(t).Kubernetes.AppsV1().Deployments(namespace).Get(ctx, website.Name, metav1.GetOptions{})
				return err
			})
			second, secondURL, err := framework.Cluster.StartAPIServer(t.Context(),
				"second-"+strings.ReplaceAll(fault.name, " ", "-"))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := second.Stop(context.Background()); err != nil {
					t.Error(err)
				}
			})
			if err := second.WaitReady(t.Context()); err != nil {
				t.Fatal(err)
			}
			lines := logLines(t)

			fault.begin(t, etcd)
			ended := false
			t.Cleanup(func() {
				if !ended {
					fault.end(t, etcd)
				}
			})
			begun := time.Now()
			websitesAreUnavailable(t, namespace)
			restartsWithoutEtcd(t, second, secondURL)
			deleted := deleteNamespace(t)
			for round := 0; round == 0 || time.Since(begun) < *outageTime; round++ {
				othersWork(t, namespace, round)
				cachedReads(t, namespace)
				streamingListEnds(t, namespace)
			}
			if *outageTime >= time.Minute {
				controllerManagerRestarts(t, namespace)
			}
			stillThere(t, deleted)
			t.Logf("etcd was away for %s; kube-apiserver has logged %d lines about Websites", time.Since(begun),
				logLines(t)-lines)

			ended = true
			fault.end(t, etcd)
			back := time.Now()
			framework.WaitFor(t, "Websites can be written again", func(ctx context.Context) error {
				_, err := framework.Websites(t, namespace).Create(ctx, framework.NewWebsite(namespace, "after"),
					metav1.CreateOptions{})
				return err
			})
			t.Logf("Websites can be written %s after etcd is back", time.Since(back))
			opens(t, secondURL)
			waitDeleted(t, deleted)
			t.Logf("the namespace is gone %s after etcd is back", time.Since(back))
		})
	}
}

// websitesAreUnavailable: all requests that need etcd get 503 in time.
func websitesAreUnavailable(t *testing.T, namespace string) {
	t.Helper()
	websites := framework.Websites(t, namespace)
	requests := map[string]func(ctx context.Context) error{
		"get":  func(ctx context.Context) error { _, err := websites.Get(ctx, "site", metav1.GetOptions{}); return err },
		"list": func(ctx context.Context) error { _, err := websites.List(ctx, metav1.ListOptions{}); return err },
		"page": func(ctx context.Context) error {
			_, err := websites.List(ctx, metav1.ListOptions{Limit: 1})
			return err
		},
		"delete": func(ctx context.Context) error { return websites.Delete(ctx, "site", metav1.DeleteOptions{}) },
		"create": func(ctx context.Context) error {
			_, err := websites.Create(ctx, framework.NewWebsite(namespace, "new"), metav1.CreateOptions{DryRun: nil})
			return err
		},
	}
	// The first requests run into the timeout, later ones fail at once.
	for _, when := range []string{"first", "later"} {
		var parallel sync.WaitGroup
		for name, request := range requests {
			if when == "first" && (name == "delete" || name == "create") {
				continue // A hanging etcd would execute them later.
			}
			parallel.Go(func() {
				start := time.Now()
				err := request(t.Context())
				took := time.Since(start)
				t.Logf("%s %s: %v after %s", when, name, err, took)
				if !apierrors.IsServiceUnavailable(err) || took > answerTime {
					t.Errorf("%s without etcd = %v after %s, want 503 within 3s", name, err, took)
				}
			})
		}
		parallel.Wait()
		if when == "first" {
			framework.WaitFor(t, "the outage is known", func(ctx context.Context) error {
				code, metrics, err := framework.SecureGet(ctx, t, framework.Cluster.WebsiteAPIServerURL()+"/metrics", true)
				if err == nil && !strings.Contains(metrics, "website_apiserver_store_reachable 0") {
					err = fmt.Errorf("GET /metrics = %d without website_apiserver_store_reachable 0", code)
				}
				return err
			})
		}
	}
	framework.WaitFor(t, "there is an event", func(ctx context.Context) error {
		events, err := framework.Admin(t).Kubernetes.EventsV1().Events("website-system").List(ctx,
			metav1.ListOptions{FieldSelector: "reason=StoreUnreachable"})
		if err == nil && len(events.Items) == 0 {
			err = errors.New("no event StoreUnreachable")
		}
		return err
	})
}

// streamingListEnds: a streaming list ends, so informers do not wait.
func streamingListEnds(t *testing.T, namespace string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), answerTime)
	defer cancel()
	watcher, err := framework.Websites(t, namespace).Watch(ctx, metav1.ListOptions{
		SendInitialEvents: ptr.To(true), ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
		AllowWatchBookmarks: true,
	})
	if apierrors.IsServiceUnavailable(err) {
		return
	}
	if err != nil {
		t.Errorf("a streaming list without etcd: %v", err)
		return
	}
	defer watcher.Stop()
	for event := range watcher.ResultChan() {
		if website, ok := event.Object.(*v1beta1.Website); event.Type == watch.Error ||
			ok && website.Annotations[metav1.InitialEventsAnnotationKey] == "true" {
			return
		}
	}
	if ctx.Err() != nil {
		t.Errorf("a streaming list without etcd has neither an end nor all initial events after %s", answerTime)
	}
}

// cachedReads: reads at resourceVersion 0 are served from the watch cache.
func cachedReads(t *testing.T, namespace string) {
	t.Helper()
	websites := framework.Websites(t, namespace)
	if _, err := websites.Get(t.Context(), "site", metav1.GetOptions{ResourceVersion: "0"}); err != nil {
		t.Errorf("get at resourceVersion 0: %v", err)
	}
	if list, err := websites.List(t.Context(), metav1.ListOptions{ResourceVersion: "0"}); err != nil ||
		len(list.Items) != 1 {
		t.Errorf("list at resourceVersion 0 = %v, %v; want the Website", list, err)
	}
}

// restartsWithoutEtcd ends a server by SIGTERM, promptly, and starts it: it is ready,
// serves discovery, and reports why Websites are not served.
func restartsWithoutEtcd(t *testing.T, server *devcluster.Process, url string) {
	t.Helper()
	start := time.Now()
	if err := server.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	exit, err := server.Wait(t.Context())
	t.Logf("SIGTERM: %+v (%v) after %s", exit, err, time.Since(start))
	if err != nil || exit.Code != 0 || time.Since(start) > 15*time.Second {
		t.Errorf("SIGTERM without etcd: %+v (%v) after %s, want exit code 0 at once", exit, err, time.Since(start))
	}
	start = time.Now()
	if err := server.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := server.WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Logf("ready %s after its start", time.Since(start))
	for path, want := range map[string]struct {
		code int
		body string
	}{
		"/apis/mycontroller.nevermosby.io/v1beta1": {http.StatusOK, `"websites"`},
		"/openapi/v2": {http.StatusOK, "mycontroller"},
		"/livez":      {http.StatusOK, "ok"},
		"/apis/mycontroller.nevermosby.io/v1beta1/websites": {http.StatusServiceUnavailable, "StoreUnverified"},
	} {
		if code, body, err := framework.SecureGet(t.Context(), t, url+path, true); err != nil || code != want.code ||
			!strings.Contains(body, want.body) {
			t.Errorf("GET %s of a server that has started without etcd = %d (%v) %.200s, want %d with %q", path, code, err, body,
				want.code, want.body)
		}
	}
}

func opens(t *testing.T, url string) {
	t.Helper()
	framework.WaitFor(t, "the server that was restarted opens", func(ctx context.Context) error {
		code, body, err := framework.SecureGet(ctx, t, url+"/apis/mycontroller.nevermosby.io/v1beta1/websites", true)
		if err == nil && code != http.StatusOK {
			err = fmt.Errorf("%d %s", code, body)
		}
		return err
	})
}

// deleteNamespace deletes a namespace without Websites.
func deleteNamespace(t *testing.T) string {
	t.Helper()
	name := framework.NewNamespace(t)
	if err := framework.Admin(t).Kubernetes.CoreV1().Namespaces().Delete(t.Context(), name,
		metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	return name
}

// stillThere: the namespace stays, as it may contain Websites.
func stillThere(t *testing.T, namespace string) {
	t.Helper()
	if _, err := framework.Admin(t).Kubernetes.CoreV1().Namespaces().Get(t.Context(), namespace,
		metav1.GetOptions{}); err != nil {
		t.Errorf("a namespace was deleted although its Websites could not be listed: %v", err)
	}
}

func waitDeleted(t *testing.T, namespace string) {
	t.Helper()
	framework.WaitFor(t, "the namespace is gone", func(ctx context.Context) error {
		_, err := framework.Admin(t).Kubernetes.CoreV1().Namespaces().Get(ctx, namespace, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			return nil
		case err == nil:
			return errors.New("it is there")
		default:
			return err
		}
	})
}

// logLines counts the lines about Websites in kube-apiserver's log.
func logLines(t *testing.T) int {
	t.Helper()
	data, err := os.ReadFile(framework.Cluster.Process("kube-apiserver").LogFile())
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(data), "mycontroller.nevermosby.io")
}
