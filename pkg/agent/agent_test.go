package agent

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/utils/clock"

	"github.com/kubesites/website-apiserver/pkg/agent/git"
	"github.com/kubesites/website-apiserver/pkg/agent/release"
	"github.com/kubesites/website-apiserver/pkg/agent/requests"
)

// remote is a repository whose commits have one page.
type remote struct {
	worktree string

	mu  sync.Mutex
	tip string
	err error
	// content identifies the content of all commits; empty: they differ.
	content string
}

// push has the reference lead to a commit.
func (r *remote) push(letter string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tip = commit(letter)
}

func (r *remote) Fetch(_ context.Context, ref string) (*git.Tree, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil {
		return nil, r.err
	}
	tree := &git.Tree{Commit: r.tip, Files: 1, ID: r.content}
	if requests.IsCommit(ref) {
		tree.Commit = ref
	}
	if tree.ID == "" {
		tree.ID = tree.Commit
	}
	return tree, nil
}

func (r *remote) Checkout(_ context.Context, tree *git.Tree) error {
	page, photo := filepath.Join(r.worktree, "public", "index.html"), filepath.Join(r.worktree, "public", "photo.jpg")
	pointer := "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a2146\nsize 5\n"
	return errors.Join(os.RemoveAll(page), os.WriteFile(page, []byte(tree.Commit), 0o644),
		os.RemoveAll(photo), os.WriteFile(photo, []byte(pointer), 0o644))
}

func (r *remote) Message(_ context.Context, tree *git.Tree) (author, subject string, err error) {
	return "an author", "commit " + tree.Commit[:1], nil
}

func (r *remote) Earlier(_ context.Context, _ *git.Tree, _ int, match func(string) bool,
	use func(string) error) error {
	dir := r.worktree + ".earlier"
	for _, name := range []string{"app.3f2a91bc.js", "app.js"} {
		if !match(name) {
			continue
		}
		if err := errors.Join(os.MkdirAll(filepath.Join(dir, "public"), 0o755),
			os.WriteFile(filepath.Join(dir, "public", name), nil, 0o644)); err != nil {
			return err
		}
	}
	return use(dir)
}

func (r *remote) Compact(context.Context) error { return nil }
func (r *remote) Check(context.Context) error   { return nil }
func (r *remote) Worktree() string              { return r.worktree }

func (r *remote) Branches(_ context.Context, match func(string) bool) (git.Branches, error) {
	found := git.Branches{Head: "main"}
	for _, name := range []string{"feature", "main", "refs/../bad"} {
		if match(name) {
			found.List = append(found.List, git.Branch{Name: name, Commit: commit("a")})
		}
	}
	return found, nil
}

// startAgent starts an agent of a repository, and stops it at the end of the test.
func startAgent(t *testing.T, tweaks ...func(*Agent)) (*Agent, *remote) {
	t.Helper()
	dir := t.TempDir()
	a := newAgent(Config{
		Git: git.Options{Dir: filepath.Join(dir, "git"), URL: "https://example.com/site.git"}, Ref: "HEAD", Period: time.Hour,
		Releases:  &release.Store{Dir: filepath.Join(dir, "site"), Keep: 5, Published: "public"},
		ConfigDir: filepath.Join(dir, "config"), PodUID: testPod, Clock: clock.RealClock{},
	})
	r := &remote{worktree: filepath.Join(dir, "worktree"), tip: commit("a")}
	a.repository, a.branches = r, r
	if err := errors.Join(os.MkdirAll(filepath.Join(r.worktree, "public"), 0o755), os.Mkdir(a.ConfigDir, 0o755),
		os.WriteFile(filepath.Join(a.ConfigDir, requests.KeysFile), []byte(requests.PublicKeysOf(testKey).String()),
			0o600)); err != nil {
		t.Fatal(err)
	}
	for _, tweak := range tweaks {
		tweak(a)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := a.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { cancel(); running.Wait() })
	return a, r
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for begin := time.Now(); !condition(); time.Sleep(time.Millisecond) {
		if time.Since(begin) > 20*time.Second {
			t.Fatalf("not within 20 seconds: %s", what)
		}
	}
}

func (a *Agent) serves(t *testing.T, letter string) {
	t.Helper()
	eventually(t, "commit "+letter+" is served", func() bool {
		page, err := os.ReadFile(filepath.Join(a.Releases.Path(a.Releases.Current()), "public", "index.html"))
		return err == nil && string(page) == commit(letter) && a.Status().Commit == commit(letter)
	})
}

// signedRequest is a request to an agent, signed with a key for a pod if it has to be.
func signedRequest(t *testing.T, a *Agent, key ed25519.PrivateKey, pod string, parameters url.Values) *http.Request {
	t.Helper()
	request := httptest.NewRequest(http.MethodGet, "/status?"+parameters.Encode(), nil)
	if requests.NeedsSignature(parameters) {
		request.Header.Set(requests.Header, requests.Sign(key, pod, parameters, a.Clock.Now()))
	}
	return request
}

// ask sends a signed request with parameters, which are pairs of names and values, and returns the answer.
func (a *Agent) ask(t *testing.T, parameters ...string) Status {
	t.Helper()
	values := url.Values{}
	for i := 0; i < len(parameters); i += 2 {
		values.Set(parameters[i], parameters[i+1])
	}
	server := httptest.NewServer(a.Handler())
	defer server.Close()
	request := signedRequest(t, a, testKey, testPod, values)
	request.URL.Scheme, request.URL.Host, request.RequestURI = "http", strings.TrimPrefix(server.URL, "http://"), ""
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Error(err)
		return Status{}
	}
	defer func() { _ = response.Body.Close() }()
	var status Status
	if err := json.NewDecoder(response.Body).Decode(&status); err != nil {
		t.Errorf("status %d: %v", response.StatusCode, err)
	}
	return status
}

const long = "10m"

// TestKeepsEarlierAssets: the first release of a pod has the hashed files of commits before it, and so have later ones.
func TestKeepsEarlierAssets(t *testing.T) {
	a, r := startAgent(t)
	for _, letter := range []string{"a", "b"} {
		r.push(letter)
		a.ask(t, requests.ParameterSync, letter, requests.ParameterWait, long)
		a.serves(t, letter)
		assets := filepath.Join(a.Releases.Dir, "assets", commit(letter), "public")
		entries, err := os.ReadDir(assets)
		if err != nil || len(entries) != 1 || entries[0].Name() != "app.3f2a91bc.js" {
			t.Errorf("commit %s has the assets %v, %v", letter, entries, err)
		}
	}
}

// TestPublishes: pushed commits are served, and a request that waits for a change is answered at each one.
func TestPublishes(t *testing.T) {
	a, r := startAgent(t)
	a.serves(t, "a")
	r.push("b")
	status := a.ask(t, requests.ParameterSync, "1", requests.ParameterWait, long)
	if status.Commit != commit("b") || status.Synced != "1" || status.PublishedAt == nil || status.LastContact == nil ||
		status.Subject != "commit b" || status.Author != "an author" || !status.PathFound || status.Path != "public" ||
		!slices.Equal(status.Warnings, []release.Warning{release.WarningLFSPointers}) {
		t.Errorf("answered with %+v", status)
	}
	a.serves(t, "b")
	answer := make(chan Status, 1)
	go func() {
		answer <- a.ask(t, requests.ParameterAfter, a.Status().Revision, requests.ParameterWait, long)
	}()
	eventually(t, "the request waits", func() bool { return len(a.waiting[false]) == 1 })
	status = a.ask(t, requests.ParameterPin, commit("a"), requests.ParameterGeneration, "2", requests.ParameterWait, long)
	if status.Commit != commit("a") || status.Pin == nil || status.Pin.Commit != commit("a") ||
		status.Pin.Generation != 2 {
		t.Errorf("answered with %+v", status)
	}
	if status := <-answer; status.Revision == "" {
		t.Errorf("answered with %+v", status)
	}
	a.serves(t, "a")
	// A past change is answered at once.
	for _, parameters := range [][]string{
		{requests.ParameterAfter, "another"},
		{requests.ParameterExpect, commit("a"), requests.ParameterAfter, a.Status().Revision},
		{requests.ParameterRelease, commit("a")},
		{requests.ParameterSync, "1"},
		{requests.ParameterPin, "", requests.ParameterGeneration, "1"},
	} {
		a.ask(t, append(parameters, requests.ParameterWait, long)...)
	}
}

// TestHeldReleases: a request learns of a release that is held, ends it, and learns of one that takes its place.
func TestHeldReleases(t *testing.T) {
	a, r := startAgent(t, func(a *Agent) { a.state.maxHold = time.Hour })
	a.serves(t, "a")
	hold := func() Status {
		return a.ask(t, requests.ParameterHold, "true", requests.ParameterAfter, a.Status().Revision,
			requests.ParameterWait, long)
	}
	r.push("b")
	answer := make(chan Status, 1)
	go func() { answer <- hold() }()
	eventually(t, "the request waits", func() bool { return len(a.waiting[true]) == 1 })
	if status := a.ask(t, requests.ParameterSync, "1", requests.ParameterAfter, a.Status().Revision,
		requests.ParameterWait, long); status.Prepared != commit("b") || status.Commit != commit("a") {
		t.Errorf("a sync is answered with %+v", status)
	}
	if status := <-answer; status.Revision == "" {
		t.Errorf("the holder is answered with %+v", status)
	}
	go func() { answer <- hold() }()
	r.push("c")
	if status := a.ask(t, requests.ParameterExpect, commit("d"), requests.ParameterAfter, a.Status().Revision,
		requests.ParameterWait, long); status.Prepared != commit("c") {
		t.Errorf("a request for another commit is answered with %+v", status)
	}
	<-answer
	a.serves(t, "a")
	if status := a.ask(t, requests.ParameterRelease, commit("c"), requests.ParameterWait,
		long); status.Commit != commit("c") || status.Prepared != "" {
		t.Errorf("then the status is %+v", status)
	}
}

// TestSameContent: a release takes the name of a commit that changes nothing of it, and the releases before it stay.
func TestSameContent(t *testing.T) {
	a, r := startAgent(t, func(a *Agent) { a.Releases.Keep = 3 })
	a.serves(t, "a")
	r.push("b")
	a.ask(t, requests.ParameterSync, "1", requests.ParameterWait, long)
	r.mu.Lock()
	r.content = commit("b")
	r.mu.Unlock()
	var replaced []string
	for _, letter := range []string{"c", "d", "e"} {
		replaced = append([]string{a.Status().Commit}, replaced...)
		r.push(letter)
		status := a.ask(t, requests.ParameterSync, letter, requests.ParameterWait, long)
		if status.Commit != commit(letter) || status.Synced != letter || !slices.Equal(status.Replaced, replaced) {
			t.Errorf("the status is %+v, want the replaced commits %.2s", status, replaced)
		}
	}
	// The directory of the last one that was replaced stays for requests that have begun with it.
	eventually(t, "three releases are left", func() bool {
		return slices.Equal(a.Status().Releases, []string{commit("e"), commit("d"), commit("a")})
	})
}

// TestWaitingIsBounded: requests above the limit are answered at once, and those whose
// clients have closed the connection end.
func TestWaitingIsBounded(t *testing.T) {
	a, _ := startAgent(t)
	a.serves(t, "a")
	ctx, cancel := context.WithCancel(t.Context())
	parameters := url.Values{requests.ParameterAfter: {a.Status().Revision}, requests.ParameterHold: {"true"}}
	var waiting sync.WaitGroup
	for range maxWaiting {
		waiting.Go(func() { a.await(ctx, parameters, time.Hour) })
	}
	eventually(t, "as many wait as may", func() bool { return len(a.waiting[true]) == maxWaiting })
	a.await(t.Context(), parameters, time.Hour)
	cancel()
	waiting.Wait()
	if count := len(a.waiting[true]); count != 0 {
		t.Errorf("%d requests wait", count)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.state.holders != 0 {
		t.Errorf("%d requests hold releases", a.state.holders)
	}
}

// TestRestart: a requested pin holds after a restart, and nothing else is served before.
func TestRestart(t *testing.T) {
	dir := t.TempDir()
	in := func(a *Agent) {
		a.Git.Dir, a.Releases.Dir, a.ConfigDir = filepath.Join(dir, "git"), filepath.Join(dir, "site"),
			filepath.Join(dir, "config")
		_ = os.Mkdir(a.ConfigDir, 0o755)
		_ = os.WriteFile(filepath.Join(a.ConfigDir, requests.KeysFile),
			[]byte(requests.PublicKeysOf(testKey).String()), 0o600)
	}
	t.Run("before", func(t *testing.T) {
		a, r := startAgent(t, in)
		a.serves(t, "a")
		r.push("b")
		a.ask(t, requests.ParameterPin, commit("a"), requests.ParameterGeneration, "2", requests.ParameterWait, long)
		a.ask(t, requests.ParameterSync, "1", requests.ParameterWait, long)
		a.serves(t, "a")
	})
	t.Run("after", func(t *testing.T) {
		a, r := startAgent(t, in, func(a *Agent) {
			// A client that was answered before the releases were read learns of them.
			before := a.Status()
			if _, err := a.load(t.Context()); err != nil {
				t.Fatal(err)
			}
			if after := a.Status(); after.Commit != commit("a") || after.Revision == before.Revision {
				t.Errorf("the status is %+v after %+v", after, before)
			}
		})
		r.push("c")
		if status := a.ask(t, requests.ParameterSync, "1", requests.ParameterWait, long); status.Commit != commit("a") ||
			status.Newest != commit("c") || status.Subject != "commit a" || len(status.Warnings) != 1 {
			t.Errorf("the status is %+v", status)
		}
		// The file of the controller is read, and has a later generation.
		pin := requests.Pin{Generation: 3}
		if err := os.WriteFile(filepath.Join(a.ConfigDir, requests.PinFile), []byte(pin.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		a.serves(t, "c")
	})
	t.Run("a new pod", func(t *testing.T) {
		pin := requests.Pin{Commit: commit("d"), Generation: 9}
		a, r := startAgent(t, func(a *Agent) {
			if err := os.WriteFile(filepath.Join(a.ConfigDir, requests.PinFile), []byte(pin.String()), 0o600); err != nil {
				t.Fatal(err)
			}
		})
		a.serves(t, "d")
		if releases := a.Status().Releases; len(releases) > 2 {
			t.Errorf("there are the releases %.2s", releases)
		}
		// The file is removed with the pin.
		r.push("e")
		if err := os.Remove(filepath.Join(a.ConfigDir, requests.PinFile)); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the pin has ended", func() bool { return a.Status().Pin.Commit == "" })
		a.ask(t, requests.ParameterSync, "1", requests.ParameterWait, long)
		a.serves(t, "e")
	})
}

// TestBranchesAreListed: the branches that match are in the status, and the branch of HEAD if it was requested.
func TestBranchesAreListed(t *testing.T) {
	a, _ := startAgent(t)
	for _, previews := range []requests.Previews{{Branches: []string{"feature*"}}, {Branches: []string{"*"}, Head: true}} {
		if err := os.WriteFile(filepath.Join(a.ConfigDir, requests.PreviewsFile), []byte(previews.String()),
			0o600); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the branches are listed", func() bool {
			listed := a.Status().Branches
			return listed != nil && listed.ID == previews.ID(a.Git.URL) && listed.Since != nil
		})
		listed := a.Status().Branches
		if want := len(previews.Branches[0]); (want == 1) != (len(listed.Branches) == 2) ||
			(listed.Head != "") != previews.Head {
			t.Errorf("with %+v the status has %+v", previews, listed)
		}
	}
	if err := os.Remove(filepath.Join(a.ConfigDir, requests.PreviewsFile)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "there are no branches", func() bool { return a.Status().Branches == nil })
}
