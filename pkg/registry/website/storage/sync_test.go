package storage

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/generic"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/utils/clock"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	registry "github.com/kubesites/website-apiserver/pkg/registry/website"
)

var commitA, commitB = strings.Repeat("0a", 20), strings.Repeat("0b", 20)

// post requests a sync of the Website kubia, and returns the response.
func post(ctx context.Context, r *SyncREST, timeoutSeconds int64, body string) (int,
	*website.WebsiteSyncRequest, error) {
	request := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
	code, obj, err := r.serve(ctx, "kubia", &website.WebsiteSyncOptions{TimeoutSeconds: &timeoutSeconds},
		httptest.NewRecorder(), request)
	response, _ := obj.(*website.WebsiteSyncRequest)
	return code, response, err
}

func syncContext(t *testing.T, user string) context.Context {
	ctx, cancel := context.WithCancel(as(requestContext("v1beta1", "sync"), user))
	t.Cleanup(cancel)
	return ctx
}

// report writes the status as website-controller does.
func report(t *testing.T, storage *WebsiteStorage, change func(*v1beta1.WebsiteStatus)) {
	t.Helper()
	update := rest.DefaultUpdatedObjectInfo(nil, func(_ context.Context, _, old runtime.Object) (runtime.Object, error) {
		w := old.DeepCopyObject().(*website.Website)
		change(&w.Status)
		return w, nil
	})
	if _, _, err := storage.Status.Update(requestContext("v1beta1", "status"), "kubia", update, rest.ValidateAllObjectFunc,
		rest.ValidateAllObjectUpdateFunc, false, &metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func start(s *v1beta1.WebsiteStatus) {
	if s.Sync == nil {
		// The watch cache lags. The store detects the conflict, and calls again.
		return
	}
	s.Sync.StartedID = s.Sync.LastRequest.ID
}

// complete reports the completion of a request with a result.
func complete(result v1beta1.SyncResult, commit string) func(*v1beta1.WebsiteStatus) {
	return func(s *v1beta1.WebsiteStatus) {
		if start(s); s.Sync == nil {
			return
		}
		s.Sync.LastCompleted = &v1beta1.WebsiteSyncCompletion{
			ID: s.Sync.LastRequest.ID, Time: metav1.Now(), Result: result, Reason: "RefNotFound", Message: "no branch main",
			Commit: commit,
		}
	}
}

func TestSyncRecordsWhoAndWhen(t *testing.T) {
	storage := newStorage(t, generic.UndecoratedStorage)
	created := mustCreate(t, storage, newWebsite())
	clock := testingclock.NewFakeClock(time.Date(2026, 1, 2, 3, 4, 5, 678901234, time.UTC))
	storage.Sync.clock = clock
	code, response, err := post(syncContext(t, "ci"), storage.Sync, 0, `{"commit":"`+commitA+`"}`)
	if err != nil || code != http.StatusAccepted {
		t.Fatalf("%d %v, want 202", code, err)
	}
	w := get(t, storage)
	recorded := w.Status.Sync.LastRequest
	if recorded.ID != 1 || recorded.By != "ci" || recorded.Commit != commitA ||
		recorded.Time.UTC().Format(time.RFC3339Nano) != "2026-01-02T03:04:05Z" {
		t.Errorf("recorded %+v, want user, commit and time", recorded)
	}
	if w.Generation != created.Generation || response.ResourceVersion != w.ResourceVersion || response.ID != 1 ||
		response.State != v1beta1.SyncStatePending {
		t.Errorf("response %+v for %+v, want the same generation, and the pending request", response, w)
	}

	ctx := registry.WithDryRun(syncContext(t, "tester"), []string{metav1.DryRunAll})
	if _, response, err := post(ctx, storage.Sync, 60, `{"commit":"`+commitB+`"}`); err != nil || response.ID != 2 ||
		response.Sync.LastRequest.By != "tester" || response.Sync.LastRequest.Commit != "" {
		t.Errorf("a dry run answered %+v (%v), want the request to record, at once", response, err)
	}
	if again := get(t, storage); again.ResourceVersion != w.ResourceVersion {
		t.Errorf("a dry run wrote %+v", again.Status.Sync)
	}
}

// TestSyncWithoutNames: with --omit-personal-names, a status does not name the requesting user.
func TestSyncWithoutNames(t *testing.T) {
	storage := newStorage(t, generic.UndecoratedStorage)
	mustCreate(t, storage, newWebsite())
	storage.Sync = newSyncREST(storage.Sync.store, runtime.NewScheme(), registry.FieldRules{OmitPersonalNames: true},
		clock.RealClock{})
	if _, response, err := post(syncContext(t, "ci"), storage.Sync, 0, ""); err != nil || response.ID != 1 ||
		response.Sync.LastRequest.By != "" {
		t.Errorf("answered %+v (%v), want a request of nobody", response, err)
	}
}

// TestSyncBodies: git hosts and typed clients name the wanted commit in different forms.
func TestSyncBodies(t *testing.T) {
	storage := newStorage(t, generic.UndecoratedStorage)
	encoded := func(commit *string) string {
		body, err := runtime.Encode(storage.Sync.protobuf, &v1beta1.WebsiteSyncRequest{
			TypeMeta: metav1.TypeMeta{APIVersion: v1beta1.SchemeGroupVersion.String(), Kind: "WebsiteSyncRequest"},
			Commit:   commit,
		})
		if err != nil {
			t.Fatal(err)
		}
		return string(body)
	}
	empty := ""
	for name, test := range map[string]struct {
		body, want string
		matches    func(error) bool
	}{
		"nothing":                  {},
		"a form":                   {body: "payload=%7B%7D"},
		"a commit":                 {body: `{"commit":"` + commitA + `"}`, want: commitA},
		"no commit":                {body: `{"commit":null}`},
		"an unset variable":        {body: `{"commit":""}`, matches: apierrors.IsInvalid},
		"protobuf":                 {body: encoded(&commitA), want: commitA},
		"protobuf of no commit":    {body: encoded(nil)},
		"protobuf of an empty one": {body: encoded(&empty), matches: apierrors.IsInvalid},
		"protobuf, cut off":        {body: encoded(&commitA)[:30], matches: apierrors.IsBadRequest},
	} {
		got, err := storage.Sync.syncCommit("kubia", []byte(test.body))
		if got != test.want || test.matches == nil && err != nil || test.matches != nil && !test.matches(err) {
			t.Errorf("%s: commit %q (%v), want %q", name, got, err, test.want)
		}
	}
}

// TestLongSyncBodies: git hosts send more than a commit takes, and no more than they document.
func TestLongSyncBodies(t *testing.T) {
	for size, test := range map[int64]struct {
		kept    int
		matches func(error) bool
	}{
		0:                   {},
		maxBodyBytes:        {kept: maxBodyBytes},
		maxBodyBytes + 1:    {},
		maxIgnoredBytes:     {},
		maxIgnoredBytes + 1: {matches: apierrors.IsRequestEntityTooLargeError},
	} {
		sent := io.LimitReader(zeros{}, size)
		body, err := readBody(httptest.NewRequest(http.MethodPost, "/", sent))
		if len(body) != test.kept || test.matches == nil && err != nil || test.matches != nil && !test.matches(err) {
			t.Errorf("%d bytes: %d are kept (%v), want %d", size, len(body), err, test.kept)
		}
		if n, _ := sent.Read(make([]byte, 1)); n > 0 {
			t.Errorf("%d bytes: not all were read", size)
		}
	}
}

// zeros is an endless body.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// impatient is a clock whose timers expire at once.
type impatient struct{ clock.RealClock }

func (impatient) After(time.Duration) <-chan time.Time {
	over := make(chan time.Time)
	close(over)
	return over
}

// TestSyncBursts: the cost of a burst does not depend on its size or on the
// requested commits.
func TestSyncBursts(t *testing.T) {
	tests := map[string]struct {
		body   func(i int) string
		writes int
	}{
		"newest":         {body: func(int) string { return "" }, writes: 1},
		"one commit":     {body: func(int) string { return `{"commit":"` + commitA + `"}` }, writes: 1},
		"any commit":     {body: func(i int) string { return fmt.Sprintf(`{"commit":"%040x"}`, i) }, writes: 2},
		"alternating":    {body: func(i int) string { return []string{"", `{"commit":"` + commitA + `"}`}[i%2] }, writes: 2},
		"after it began": {body: func(int) string { return "" }, writes: 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			storage := newCachedStorage(t, genericregistry.StorageWithCacher())
			storage.Sync.batches = newBatches(impatient{})
			mustCreate(t, storage, newWebsite())
			if name == "after it began" {
				if _, _, err := post(syncContext(t, "ci"), storage.Sync, 0, ""); err != nil {
					t.Fatal(err)
				}
				report(t, storage, start)
			}
			versions := map[string]bool{}
			var mu sync.Mutex
			var clients sync.WaitGroup
			ctx := syncContext(t, "ci")
			for i := range 100 {
				clients.Go(func() {
					for j := range 5 {
						_, response, err := post(ctx, storage.Sync, 0, test.body(5*i+j))
						mu.Lock()
						if err != nil {
							t.Error(err)
						} else {
							versions[response.ResourceVersion] = true
						}
						mu.Unlock()
					}
				})
			}
			clients.Wait()
			if len(versions) > test.writes {
				t.Errorf("500 requests took %d writes, want at most %d", len(versions), test.writes)
			}
			if len(storage.Sync.batches.queues) != 0 {
				t.Errorf("%d queues are left", len(storage.Sync.batches.queues))
			}
		})
	}
}

// TestBatchesJoinWhatIsNotBeingRecorded: a request must not share a read from before its
// arrival, and its commit must not be lost.
func TestBatchesJoinWhatIsNotBeingRecorded(t *testing.T) {
	b := newBatches(clock.RealClock{})
	commits, proceed := make(chan string), make(chan struct{})
	var clients sync.WaitGroup
	request := func(commit string) {
		clients.Go(func() {
			if _, err := b.record(t.Context(), "default/kubia", commit,
				func(_ context.Context, commit string) (*website.Website, error) {
					commits <- commit
					<-proceed
					return nil, nil
				}); err != nil {
				t.Error(err)
			}
		})
	}
	next := func(want string) {
		waitUntil(t, "the requests of the next batch have arrived", func() bool {
			b.mu.Lock()
			defer b.mu.Unlock()
			q := b.queues["default/kubia"]
			return q != nil && q.next != nil && q.next.commit == want
		})
	}
	request(commitA)
	if got := <-commits; got != commitA {
		t.Errorf("recorded %q first, want %q", got, commitA)
	}
	request(commitA)
	next(commitA)
	request(commitB)
	next("")
	proceed <- struct{}{}
	if got := <-commits; got != "" {
		t.Errorf("recorded %q for two commits, want the newest", got)
	}
	proceed <- struct{}{}
	clients.Wait()
}

// TestBatchesOfAFloodAreSpread: clients that repeat their requests at once share a batch every
// half second.
func TestBatchesOfAFloodAreSpread(t *testing.T) {
	c := testingclock.NewFakeClock(time.Unix(1000, 0))
	b := newBatches(c)
	var recorded atomic.Int64
	record := func(key string) {
		if _, err := b.record(t.Context(), key, "", func(context.Context, string) (*website.Website, error) {
			recorded.Add(1)
			return nil, nil
		}); err != nil {
			t.Error(err)
		}
	}
	for range batchBurst {
		record("default/kubia")
	}
	var clients sync.WaitGroup
	for range 100 {
		clients.Go(func() { record("default/kubia") })
	}
	waitUntil(t, "the next batch waits", c.HasWaiters)
	record("default/other")
	if got := recorded.Load(); got != batchBurst+1 {
		t.Errorf("%d batches within the same moment, want %d of the one Website and one of the other", got, batchBurst)
	}
	answered := make(chan struct{})
	go func() { clients.Wait(); close(answered) }()
	// A client that arrives after a step waits for another one.
	waitUntil(t, "all requests were answered", func() bool {
		c.Step(batchInterval)
		select {
		case <-answered:
			return true
		default:
			return false
		}
	})
	if got := recorded.Load(); got > batchBurst+1+5 {
		t.Errorf("100 requests took %d batches", got-batchBurst-1)
	}
}

// TestSyncWaits covers all ends of a wait.
func TestSyncWaits(t *testing.T) {
	suspend := func(t *testing.T, storage *WebsiteStorage) {
		if _, _, err := storage.Website.Update(
			requestContext("v1beta1", ""), "kubia", changed(func(w *website.Website) { w.Spec.Suspend = new(true) }),
			rest.ValidateAllObjectFunc, rest.ValidateAllObjectUpdateFunc, false, &metav1.UpdateOptions{},
		); err != nil {
			t.Fatal(err)
		}
	}
	tests := map[string]struct {
		body string
		end  func(t *testing.T, storage *WebsiteStorage, clock *testingclock.FakeClock, leave func())
		want string
	}{
		"succeeded": {end: func(t *testing.T, s *WebsiteStorage, _ *testingclock.FakeClock, _ func()) {
			report(t, s, start)
			report(t, s, complete(v1beta1.SyncSucceeded, commitB))
		}},
		"failed": {end: func(t *testing.T, s *WebsiteStorage, _ *testingclock.FakeClock, _ func()) {
			report(t, s, complete(v1beta1.SyncFailed, ""))
		}, want: "no branch main"},
		"another commit": {body: `{"commit":"` + commitA + `"}`,
			end: func(t *testing.T, s *WebsiteStorage, _ *testingclock.FakeClock, _ func()) {
				if _, _, err := post(syncContext(t, "other"), s.Sync, 0, ""); err != nil {
					t.Fatal(err)
				}
				report(t, s, complete(v1beta1.SyncSucceeded, commitB))
			}, want: "the commit was not published: all pods serve " + commitB},
		"requested again": {end: func(t *testing.T, s *WebsiteStorage, _ *testingclock.FakeClock, _ func()) {
			report(t, s, start)
			if _, _, err := post(syncContext(t, "other"), s.Sync, 0, ""); err != nil {
				t.Fatal(err)
			}
			report(t, s, func(status *v1beta1.WebsiteStatus) {
				if status.Sync == nil || status.Sync.StartedID == 0 {
					return
				}
				status.Sync.LastCompleted = &v1beta1.WebsiteSyncCompletion{ID: status.Sync.StartedID, Time: metav1.Now(),
					Result: v1beta1.SyncSucceeded}
			})
		}},
		"suspended": {end: func(t *testing.T, s *WebsiteStorage, _ *testingclock.FakeClock, _ func()) { suspend(t, s) },
			want: "set spec.suspend to false"},
		"deleted": {end: func(t *testing.T, s *WebsiteStorage, _ *testingclock.FakeClock, _ func()) {
			if _, _, err := s.Website.Delete(requestContext("v1beta1", ""), "kubia", rest.ValidateAllObjectFunc,
				&metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
		}, want: `websites.mycontroller.nevermosby.io "kubia" not found`},
		"over": {end: func(_ *testing.T, _ *WebsiteStorage, clock *testingclock.FakeClock, _ func()) {
			clock.Step(58 * time.Second)
		},
			want: "not all pods serve the commit yet (Pending): repeat the request to wait on"},
		"client left": {end: func(_ *testing.T, _ *WebsiteStorage, _ *testingclock.FakeClock, leave func()) { leave() },
			want: "this server has ended the wait"},
		"server stopped": {end: func(_ *testing.T, s *WebsiteStorage, _ *testingclock.FakeClock, _ func()) { s.Sync.Stop() },
			want: "this server has ended the wait"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			storage := newCachedStorage(t, genericregistry.StorageWithCacher())
			mustCreate(t, storage, newWebsite())
			clock := testingclock.NewFakeClock(time.Unix(1000, 0))
			storage.Sync.clock = clock
			ctx, leave := context.WithTimeout(syncContext(t, "ci"), 30*time.Second)
			defer leave()
			type result struct {
				code     int
				response *website.WebsiteSyncRequest
				err      error
			}
			done := make(chan result, 1)
			go func() {
				code, response, err := post(ctx, storage.Sync, 60, test.body)
				done <- result{code, response, err}
			}()
			waitUntil(t, "the request waits", clock.HasWaiters)
			if storage.Sync.waiters.total != 1 {
				t.Errorf("%d places are taken, want 1", storage.Sync.waiters.total)
			}
			test.end(t, storage, clock, leave)
			got := <-done
			if ctx.Err() != nil && name != "client left" {
				t.Error("the wait ended only with the client")
			}
			switch {
			case test.want != "" && (got.err == nil || !strings.Contains(got.err.Error(), test.want)):
				t.Errorf("answered %v, want %q", got.err, test.want)
			case test.want == "" && (got.err != nil || got.code != http.StatusOK || got.response.ID != 1 ||
				got.response.State != v1beta1.SyncStateSucceeded):
				t.Errorf("answered %d %+v (%v), want 200 and Succeeded", got.code, got.response, got.err)
			}
			if storage.Sync.waiters.total != 0 {
				t.Errorf("%d places are still taken", storage.Sync.waiters.total)
			}
		})
	}
}

// TestSyncWaitersAreLimited: requests beyond the limit get the time of a retry.
func TestSyncWaitersAreLimited(t *testing.T) {
	storage := newStorage(t, generic.UndecoratedStorage)
	mustCreate(t, storage, newWebsite())
	for range maxNamespaceWaiters {
		if _, err := storage.Sync.waiters.enter(metav1.NamespaceDefault); err != nil {
			t.Fatal(err)
		}
	}
	leave, err := storage.Sync.waiters.enter("other")
	if err != nil {
		t.Fatalf("in another namespace: %v", err)
	}
	leave()
	_, _, err = post(syncContext(t, "ci"), storage.Sync, 1, "")
	if seconds, retry := apierrors.SuggestsClientDelay(err); !apierrors.IsTooManyRequests(err) || !retry ||
		seconds != waiterRetrySeconds {
		t.Errorf("beyond the limit: %v, want 429 with a delay", err)
	}
	if w := get(t, storage); w.Status.Sync != nil {
		t.Errorf("a rejected request was recorded: %+v", w.Status.Sync)
	}
	if _, _, err := post(syncContext(t, "ci"), storage.Sync, 0, ""); err != nil {
		t.Errorf("without timeoutSeconds: %v", err)
	}
	for i := maxNamespaceWaiters; i < maxWaiters; i++ {
		if leave, err = storage.Sync.waiters.enter(fmt.Sprintf("team-%d", i)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := storage.Sync.waiters.enter("other"); !apierrors.IsTooManyRequests(err) {
		t.Errorf("beyond the limit of all namespaces: %v", err)
	}
	leave()
	if _, err := storage.Sync.waiters.enter("other"); err != nil {
		t.Errorf("when one has left: %v", err)
	}
}
