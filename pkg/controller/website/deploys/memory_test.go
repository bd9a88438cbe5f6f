package deploys

import (
	"strconv"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/status"
)

var testNow = time.Unix(1_700_000_000, 0)

// TestMemory: requests to sync are started at intervals, and a new memory starts from the status.
func TestMemory(t *testing.T) {
	clock := testingclock.NewFakePassiveClock(testNow)
	website := &v1beta1.Website{}
	website.Generation = 5
	website.Status.Conditions = []metav1.Condition{{Type: v1beta1.WebsiteSynced, ObservedGeneration: 4}}
	m := New(website)
	recall := func(website *v1beta1.Website) *status.Input {
		in := &status.Input{Website: website, Now: clock.Now()}
		m.Observe(website, clock.Now())
		m.Recall(in)
		return in
	}
	if in := recall(website); !in.Origin.SpecChanged || !in.Origin.SpecChangedTime.IsZero() {
		t.Errorf("a spec that has changed before: %+v", in.Origin)
	}
	m.Served(website.Generation)
	if in := recall(website); in.Origin.SpecChanged {
		t.Errorf("a spec that all pods serve: %+v", in.Origin)
	}
	clock.SetTime(testNow.Add(time.Minute))
	website.Generation = 6
	m.Observe(website, clock.Now())
	clock.SetTime(testNow.Add(2 * time.Minute))
	if in := recall(website); !in.Origin.SpecChanged || !in.Origin.SpecChangedTime.Equal(testNow.Add(time.Minute)) {
		t.Errorf("a spec that has changed since: %+v", in.Origin)
	}

	started := 0
	for range 100 {
		if in := recall(website); in.SyncRequest.MayStart {
			started++
			m.Started(clock.Now())
		}
		clock.SetTime(clock.Now().Add(200 * time.Millisecond))
	}
	if want := syncBurst + 3; started != want {
		t.Errorf("%d requests were started in 20 s, want %d", started, want)
	}
	m.Started(clock.Now())
	if wait := m.UntilStart(clock.Now()); wait <= 0 || wait > syncInterval {
		t.Errorf("the next request waits for %v", wait)
	}
	seen := clock.Now()
	clock.SetTime(seen.Add(time.Hour))
	if wait := m.UntilStart(seen); wait <= 0 {
		t.Error("the interval counts from another time than the reconciliation, so no event would follow")
	}

	begun := clock.Now()
	website.Status.Sync = &v1beta1.WebsiteSyncStatus{LastRequest: v1beta1.WebsiteSyncRecord{ID: 4}, StartedID: 4}
	m.Observe(website, clock.Now())
	clock.SetTime(begun.Add(time.Minute))
	if in := recall(website); !in.SyncRequest.Begun.Equal(begun) {
		t.Errorf("the request is worked on since %v, want %v", in.SyncRequest.Begun, begun)
	}
	website.Status.Sync.LastCompleted = &v1beta1.WebsiteSyncCompletion{ID: 4}
	if in := recall(website); !in.SyncRequest.Begun.IsZero() {
		t.Errorf("no request is worked on since %v", in.SyncRequest.Begun)
	}
}

// TestTokensOfRequests: pods consider a token that they know completed, so a request that gets the
// same ID again after a restore of the store must have another token.
func TestTokensOfRequests(t *testing.T) {
	var m *Memory
	token := func(requested, second, started, completed int64) string {
		website := &v1beta1.Website{}
		website.Status.Sync = &v1beta1.WebsiteSyncStatus{LastRequest: v1beta1.WebsiteSyncRecord{ID: requested,
			Time: metav1.Unix(second, 0)}, StartedID: started}
		if completed != 0 {
			website.Status.Sync.LastCompleted = &v1beta1.WebsiteSyncCompletion{ID: completed}
		}
		if m == nil {
			m = New(website)
		}
		m.Observe(website, testNow)
		return m.SyncToken(website)
	}
	for _, step := range []struct {
		when                                  string
		requested, second, started, completed int64
		want                                  string
	}{
		{"pending", 8, 100, 7, 7, ""},
		{"started", 8, 100, 8, 7, "8.100"},
		{"requested again", 9, 101, 8, 7, "8.100"},
		{"an event of before is late", 8, 100, 7, 7, ""},
		{"requested again, with another event", 9, 101, 8, 7, "8.100"},
		{"completed", 9, 101, 8, 8, ""},
		{"the next is started", 9, 101, 9, 8, "9.101"},
		{"the store is restored", 7, 90, 7, 7, ""},
		{"requested after that", 8, 200, 7, 7, ""},
		{"started after that", 8, 200, 8, 7, "8.200"},
		{"another controller, when requested again", 12, 300, 11, 8, "11." + strconv.FormatInt(testNow.Unix(), 10)},
	} {
		if got := token(step.requested, step.second, step.started, step.completed); got != step.want {
			t.Errorf("%s: the token is %q, want %q", step.when, got, step.want)
		}
	}
}

// TestWhenRequestsAreObserved: delays count from the first observation of a request.
func TestWhenRequestsAreObserved(t *testing.T) {
	clock := testingclock.NewFakePassiveClock(testNow)
	website := &v1beta1.Website{}
	website.Status.Sync = &v1beta1.WebsiteSyncStatus{LastRequest: v1beta1.WebsiteSyncRecord{ID: 4,
		Time: metav1.NewTime(testNow.Add(-time.Minute))}}
	m := New(website)
	observed := func(change func(*v1beta1.WebsiteSyncStatus)) time.Time {
		clock.SetTime(clock.Now().Add(time.Second))
		change(website.Status.Sync)
		m.Observe(website, clock.Now())
		in := &status.Input{Website: website, Now: clock.Now()}
		m.Recall(in)
		if status.RunningSync(website.Status.Sync) == 0 {
			return m.CompletedSync(website)
		}
		return in.SyncRequest.Observed
	}
	if got := observed(func(s *v1beta1.WebsiteSyncStatus) { s.StartedID = 4 }); !got.Equal(testNow.Add(-time.Minute)) {
		t.Errorf("a request of before this controller was observed at %v, want its time", got)
	}
	second := func(s *v1beta1.WebsiteSyncStatus) {
		s.LastCompleted, s.LastRequest.ID = &v1beta1.WebsiteSyncCompletion{ID: 4}, 5
	}
	if got := observed(second); !got.Equal(testNow.Add(-time.Minute)) {
		t.Errorf("the completed request was observed at %v", got)
	}
	want := testNow.Add(2 * time.Second)
	if got := observed(func(s *v1beta1.WebsiteSyncStatus) { s.StartedID = 5 }); !got.Equal(want) {
		t.Errorf("the second request was observed at %v, want %v", got, want)
	}
	if got := observed(func(s *v1beta1.WebsiteSyncStatus) { s.LastCompleted.ID = 5 }); !got.Equal(want) {
		t.Errorf("the second request, completed, was observed at %v, want %v", got, want)
	}
}
