package e2e

import (
	"context"
	"crypto/sha256"
	"flag"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/test/framework"
)

// The long form of TestBrowsersDuringPushes.
var (
	pushes = flag.Int("pushes", 0, "how many commits are pushed while each browser makes 25 requests per second; "+
		"0: three, one after the other, with one, three and one replicas")
	pushInterval = flag.Duration("push-interval", 10*time.Second, "time between two commits of -pushes")
	browsers     = flag.Int("browsers", 8, "how many browsers load pages during pushes")
	scaling      = flag.String("scaling", "3", "numbers of replicas, as in 1,3,1, each during an equal part of -pushes")
)

const (
	// browserInterval is the time between two requests of a browser in the long form.
	browserInterval = time.Second / 25
	// chunks is the number of scripts of a page, one of them loaded later.
	chunks = 4
)

// bundle returns a site in the form of bundlers: every file but one script has a hash of
// its content in its name.
func bundle(marker string) map[string]string {
	files := map[string]string{"plain.js": marker}
	page := strings.Builder{}
	fmt.Fprintf(&page, "%s <script src=\"plain.js\"></script>", marker)
	for i := range chunks {
		content := fmt.Sprintf("%s %d", marker, i)
		name := fmt.Sprintf("assets/chunk%d.h%.4x.js", i, sha256.Sum256([]byte(content)))
		files[name] = content
		fmt.Fprintf(&page, " <script src=\"%s\"></script>", name)
	}
	files["index.html"] = page.String()
	return files
}

var script = regexp.MustCompile(`src="([^"]+)"`)

// pageLoads counts loaded pages and files.
type pageLoads struct {
	mu       sync.Mutex
	requests int
	// missing counts hashed scripts of a page that were not found, mixed plain scripts
	// of another commit than their page.
	missing, mixed int
	failures       []string
}

func (l *pageLoads) note(missing, mixed int, failure string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.requests++
	l.missing += missing
	l.mixed += mixed
	if failure != "" {
		l.failures = append(l.failures, failure)
	}
}

// load loads a page and its scripts, each over a connection of its own: any replica
// may answer.
func (l *pageLoads) load(ctx context.Context, url string, pace func()) {
	pace()
	page := get(ctx, visitor, url+"/")
	marker, _, _ := strings.Cut(page.body, " ")
	if page.status != http.StatusOK || !strings.HasPrefix(marker, "bundle-") {
		l.note(0, 0, fmt.Sprintf("%s GET /: %v", time.Now().UTC().Format(time.TimeOnly), page))
		return
	}
	l.note(0, 0, "")
	for _, match := range script.FindAllStringSubmatch(page.body, -1) {
		pace()
		path := match[1]
		a := get(ctx, visitor, url+"/"+path)
		switch got, _, _ := strings.Cut(a.body, " "); {
		case path == "plain.js" && a.status == http.StatusOK && got != marker:
			l.note(0, 1, "")
		case path != "plain.js" && a.status == http.StatusNotFound:
			l.note(1, 0, "")
		case a.status != http.StatusOK || got != marker:
			l.note(0, 0, fmt.Sprintf("%s GET %s of %s: %v", time.Now().UTC().Format(time.TimeOnly), path, marker, a))
		default:
			l.note(0, 0, "")
		}
	}
}

// everyPodHas checks that each pod, however new, has the hashed scripts of an earlier commit.
func (s *site) everyPodHas(t *testing.T, files map[string]string) {
	t.Helper()
	pods, err := s.pods(t.Context(), framework.Admin(t).Kubernetes)
	if err != nil {
		t.Fatal(err)
	}
	for _, pod := range pods {
		for name, content := range files {
			if !strings.HasPrefix(name, "assets/") {
				continue
			}
			if a := adminGet(t.Context(), pod, httpPort, "/"+name); a.status != http.StatusOK || a.body != content {
				t.Errorf("pod %s: %s of an earlier commit: %v", pod.Name, name, a)
			}
		}
	}
}

// TestBrowsersDuringPushes makes browsers load pages and their files while commits are pushed and pods are added and
// removed: no request fails, and every page gets its own hashed scripts from every replica.
func TestBrowsersDuringPushes(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	r := newRepository(t, "", namespace, "main")
	push := func(i int) string {
		marker := fmt.Sprintf("bundle-%d", i)
		r.write(t, bundle(marker))
		return r.push(t, marker)
	}
	first := push(0)
	s := applySite(t, newWebsite(namespace, r, framework.WithReplicas(3)), r)
	s.waitLive(t, first)

	idle, loaded := memory{}, memory{}
	if *pushes > 0 {
		idle.observe(t, s)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	loads, url, interval := &pageLoads{}, s.url(t), time.Duration(*browsers)*trafficInterval
	if *pushes > 0 {
		interval = browserInterval
	}
	var running sync.WaitGroup
	for range *browsers {
		running.Go(func() {
			tick := time.NewTicker(interval)
			defer tick.Stop()
			for ctx.Err() == nil {
				// A started page load is finished after the end of the browsers.
				loads.load(context.WithoutCancel(ctx), url, func() { <-tick.C })
			}
		})
	}
	t.Cleanup(func() { stop(); running.Wait() })

	begun := time.Now()
	if *pushes == 0 {
		for i, replicas := range []int{1, 3, 1} {
			s.patch(t, fmt.Sprintf(`{"spec":{"replicas":%d}}`, replicas))
			s.waitLive(t, push(i+1))
			s.everyPodHas(t, bundle("bundle-0"))
		}
	} else {
		tick := time.NewTicker(*pushInterval)
		defer tick.Stop()
		replicas, last := strings.Split(*scaling, ","), first
		for i := range *pushes {
			if part := (*pushes + len(replicas) - 1) / len(replicas); i%part == 0 {
				s.patch(t, fmt.Sprintf(`{"spec":{"replicas":%s}}`, replicas[i/part]))
			}
			last = push(i + 1)
			if time.Duration(i)**pushInterval%(10*time.Second) == 0 {
				loaded.observe(t, s)
			}
			<-tick.C
		}
		s.waitLive(t, last)
	}
	stop()
	running.Wait()
	t.Logf("%d requests, %.0f per second: %d failed, %d scripts with a hash in their names were missing, %d without one "+
		"were of another commit",
		loads.requests, float64(loads.requests)/time.Since(begun).Seconds(), len(loads.failures), loads.missing, loads.mixed)
	if n := len(loads.failures); n > 0 {
		t.Errorf("%d requests failed:\n%s", n, strings.Join(loads.failures[:min(n, shownFailures)], "\n"))
	}
	if *pushes > 0 {
		t.Logf("memory before: %v; the most under load: %v", idle, loaded)
	}
	// On a machine that runs all tests, a replica may need longer than old releases are kept.
	if loads.missing > 0 && *pushes > 0 {
		t.Errorf("pages missed %d scripts of their own", loads.missing)
	}
	s.waitCondition(t, v1beta1.WebsiteReady, "True", v1beta1.WebsiteReasonServing)
}
