package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources/requesttest"
	"github.com/kubesites/website-apiserver/test/framework"
)

var allRequests = flag.Bool("requests", false, "send the requests of all tables of requesttest to pods")

// sitesAtOnce is the number of Websites that TestRequestsOfPods has at the same time.
const sitesAtOnce = 3

// requestSite is a spec, and the names of the tables with its requests.
type requestSite struct {
	requesttest.Table
	tables []string
}

// TestRequestsOfPods sends the requests of the tables to a pod, as TestNginxRequests does to nginx alone. Tables of the
// same spec share a Website, whose repository then has a commit for each.
func TestRequestsOfPods(t *testing.T) {
	if !*allRequests {
		t.Skip("run it with -args -requests, or make test-long")
	}
	t.Parallel()
	tables, err := requesttest.Tables()
	if err != nil {
		t.Fatal(err)
	}
	sites := map[string]*requestSite{}
	for _, name := range slices.Sorted(maps.Keys(tables)) {
		table := tables[name]
		// Git makes all files readable.
		if len(table.Unreadable) > 0 {
			continue
		}
		spec := requesttest.Table{Serving: table.Serving, Protected: table.Protected, Unpublished: table.Unpublished}
		key, err := json.Marshal(spec)
		if err != nil {
			t.Fatal(err)
		}
		if sites[string(key)] == nil {
			sites[string(key)] = &requestSite{Table: spec}
		}
		sites[string(key)].tables = append(sites[string(key)].tables, name)
	}
	begun, slots := time.Now(), make(chan struct{}, sitesAtOnce)
	var rows atomic.Int64
	var running sync.WaitGroup
	for _, requests := range sites {
		running.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			t.Run(requests.tables[0], func(t *testing.T) { rows.Add(requests.run(t, tables)) })
		})
	}
	running.Wait()
	t.Logf("%d requests to %d Websites in %v", rows.Load(), len(sites), time.Since(begun).Round(time.Second))
}

// run makes the Website and sends the requests of its tables. It returns their number.
func (r *requestSite) run(t *testing.T, tables map[string]requesttest.Table) (sent int64) {
	namespace := newNamespace(t)
	repository := newRepository(t, "", namespace, "main")
	s := applySite(t, newWebsite(namespace, repository, func(w *v1beta1.Website) {
		w.Spec.Serving = r.Serving
		if r.Protected {
			withUsers("readers")(w)
		}
	}), repository)
	if r.Protected {
		s.kubectl(t, "create", "secret", "generic", "readers", "--type=kubernetes.io/basic-auth",
			"--from-literal=username="+requesttest.User, "--from-literal=password="+requesttest.Password)
	}
	for _, name := range r.tables {
		table, commit := tables[name], ""
		if len(table.Kept) > 0 {
			s.waitLive(t, pushFiles(t, repository, table, slices.Concat(table.Files, table.Kept)))
		}
		if !table.Unpublished {
			commit = pushFiles(t, repository, table, table.Files)
			s.waitLive(t, commit)
		}
		if table.Protected {
			s.waitAdmits(t, requesttest.Password)
		}
		url := "http://" + net.JoinHostPort(s.pod(t).Status.PodIP, strconv.Itoa(httpPort))
		framework.WaitFor(t, "nginx listens", func(ctx context.Context) error { return get(ctx, visitor, url).err })
		for row, want := range table.Want {
			response, body := sendRow(t, url, row)
			for _, difference := range requesttest.Check(row, want, commit, response, body) {
				t.Errorf("%s: %s", name, difference)
			}
			sent++
		}
	}
	return sent
}

// pushFiles pushes files of a table. Git has no directories without a file, and no files of its own name.
func pushFiles(t *testing.T, r *repository, table requesttest.Table, names []string) string {
	t.Helper()
	files := map[string]string{}
	for _, name := range names {
		switch {
		case strings.Contains("/"+name+"/", "/.git/"):
		case strings.HasSuffix(name, "/"):
			files[name+".keep"] = ""
		default:
			files[name] = table.Content(name)
		}
	}
	r.write(t, files)
	return r.push(t, "files")
}

// sendRow sends the request of a row.
func sendRow(t *testing.T, url, row string) (*http.Response, string) {
	t.Helper()
	request, err := requesttest.NewRequest(t.Context(), url, row)
	if err != nil {
		t.Fatal(err)
	}
	response, err := plainVisitor.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(response.Body)
	if err := errors.Join(err, response.Body.Close()); err != nil {
		t.Fatal(err)
	}
	return response, string(body)
}

// plainVisitor accepts no compressed responses, unless a request says so.
var plainVisitor = &http.Client{
	Timeout:       visitor.Timeout,
	Transport:     &http.Transport{DisableCompression: true},
	CheckRedirect: visitor.CheckRedirect,
}
