package agent

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	testingclock "k8s.io/utils/clock/testing"

	"github.com/kubesites/website-apiserver/pkg/agent/requests"
)

const long = 10 * time.Minute

var commits = []string{strings.Repeat("a", 40), strings.Repeat("b", 40)}

// makeRelease makes the release of a commit, which the store then has.
func makeRelease(t *testing.T, a *Agent, commit string) {
	t.Helper()
	if err := os.MkdirAll(a.Releases.Path(commit), 0o755); err != nil {
		t.Fatal(err)
	}
}

// eventually waits for a condition of an agent.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for begin := time.Now(); !condition(); time.Sleep(time.Millisecond) {
		if time.Since(begin) > time.Minute {
			t.Fatalf("not within a minute: %s", what)
		}
	}
}

func (a *Agent) counts() (all, holders int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.waiting.all, a.waiting.holders
}

// startWaiting begins a request and waits until it waits. What is received is its answer.
func startWaiting(t *testing.T, a *Agent, parameters string) <-chan Status {
	t.Helper()
	before, _ := a.counts()
	server := httptest.NewServer(a.Handler(""))
	t.Cleanup(server.Close)
	answer := make(chan Status, 1)
	query, err := url.ParseQuery(requests.ParameterWait + "=" + long.String() + "&" + requests.ParameterAfter + "=" + a.Status().Revision + "&" + parameters)
	if err != nil {
		t.Fatal(err)
	}
	request := signedRequest(t, a, testKey, testPod, query)
	request.URL.Scheme, request.URL.Host, request.RequestURI = "http", strings.TrimPrefix(server.URL, "http://"), ""
	go func() {
		var status Status
		response, err := http.DefaultClient.Do(request)
		if err == nil {
			err = json.NewDecoder(response.Body).Decode(&status)
			_ = response.Body.Close()
		}
		if err != nil {
			t.Error(err)
		}
		answer <- status
	}()
	eventually(t, "the request waits", func() bool { all, _ := a.counts(); return all > before })
	return answer
}

// TestRequestsWait: an answer comes as soon as there is something new, and not before.
func TestRequestsWait(t *testing.T) {
	a := newAgent(t)
	answer := startWaiting(t, a, "")
	makeRelease(t, a, commits[0])
	select {
	case status := <-answer:
		t.Fatalf("answered with %+v before there was anything new", status)
	default:
	}
	if err := a.publish(t.Context(), commits[0], ""); err != nil {
		t.Fatal(err)
	}
	if status := <-answer; status.Commit != commits[0] || status.PublishedAt == nil {
		t.Errorf("answered with %+v", status)
	}
	// What has changed since the revision that the client knows is answered at once.
	a.await(t.Context(), url.Values{requests.ParameterAfter: {"another"}}, long)
	// So is what has happened already.
	a.await(t.Context(), url.Values{requests.ParameterExpect: {commits[0]}, requests.ParameterAfter: {a.Status().Revision}}, long)
	a.await(t.Context(), url.Values{requests.ParameterRelease: {commits[0]}, requests.ParameterAfter: {a.Status().Revision}}, long)
}

// TestWaitingIsBounded: requests above the limit are answered at once, and those whose
// clients have gone wait no longer.
func TestWaitingIsBounded(t *testing.T) {
	a := newAgent(t)
	ctx, cancel := context.WithCancel(t.Context())
	parameters := url.Values{requests.ParameterAfter: {a.Status().Revision}, requests.ParameterHold: {"true"}}
	ended := make(chan struct{}, maxWaiting)
	for range maxWaiting {
		go func() {
			a.await(ctx, parameters, long)
			ended <- struct{}{}
		}()
	}
	eventually(t, "as many wait as may", func() bool { all, _ := a.counts(); return all == maxWaiting })
	a.await(t.Context(), parameters, long)
	cancel()
	for range maxWaiting {
		<-ended
	}
	if all, holders := a.counts(); all != 0 || holders != 0 {
		t.Errorf("%d requests wait, %d hold", all, holders)
	}
}

// TestHold: a release is held only while a request asks for that, until it is released or
// for some time.
func TestHold(t *testing.T) {
	for name, test := range map[string]struct {
		parameters string
		held       bool
		end        func(*Agent, *testingclock.FakeClock)
	}{
		"no replicas": {"", false, nil},
		"released": {requests.ParameterHold, true, func(a *Agent, _ *testingclock.FakeClock) {
			a.heed(context.Background(), url.Values{requests.ParameterRelease: {"something else"}})
			a.heed(context.Background(), url.Values{requests.ParameterRelease: {commits[1]}})
			a.heed(context.Background(), url.Values{requests.ParameterRelease: {commits[1]}})
		}},
		"for three seconds": {requests.ParameterHold, true, func(_ *Agent, now *testingclock.FakeClock) { now.Step(maxHold) }},
	} {
		t.Run(name, func(t *testing.T) {
			a, now := newAgent(t), testingclock.NewFakeClock(time.Now())
			a.Clock = now
			for _, commit := range commits {
				makeRelease(t, a, commit)
			}
			if err := a.publish(t.Context(), commits[0], ""); err != nil {
				t.Fatal(err)
			}
			answer := startWaiting(t, a, test.parameters)
			published := make(chan error, 1)
			go func() { published <- a.publish(t.Context(), commits[1], "") }()
			status := <-answer
			if got := status.Prepared == commits[1]; got != test.held {
				t.Errorf("the answer is %+v, want one of a release that is held: %t", status, test.held)
			}
			if test.held {
				if a.Releases.Current() != commits[0] {
					t.Errorf("commit %s is served while another is held", a.Releases.Current())
				}
				eventually(t, "the hold has an end", now.HasWaiters)
				test.end(a, now)
			}
			if err := <-published; err != nil {
				t.Fatal(err)
			}
			if status := a.Status(); status.Commit != commits[1] || status.Prepared != "" {
				t.Errorf("then the status is %+v", status)
			}
		})
	}
}

// TestHoldBetweenRequests: a client that replaces its request still holds releases.
func TestHoldBetweenRequests(t *testing.T) {
	for ago, held := range map[time.Duration]bool{holderGrace - 1: true, holderGrace: false} {
		a, now := newAgent(t), testingclock.NewFakeClock(time.Now())
		a.Clock = now
		for _, commit := range commits {
			makeRelease(t, a, commit)
		}
		if err := a.publish(t.Context(), commits[0], ""); err != nil {
			t.Fatal(err)
		}
		a.await(t.Context(), url.Values{requests.ParameterHold: {"true"}, requests.ParameterAfter: {"another"}}, long)
		now.Step(ago)
		published := make(chan error, 1)
		go func() { published <- a.publish(t.Context(), commits[1], "") }()
		if held {
			eventually(t, "the release is held", func() bool { return a.Status().Prepared == commits[1] && now.HasWaiters() })
			now.Step(maxHold)
		}
		if err := <-published; err != nil {
			t.Fatal(err)
		}
	}
}

// TestTheFirstReleaseIsNotHeld: nothing is served meanwhile.
func TestTheFirstReleaseIsNotHeld(t *testing.T) {
	a := newAgent(t)
	a.MaxHold = long
	makeRelease(t, a, commits[0])
	answer := startWaiting(t, a, requests.ParameterHold)
	if err := a.publish(t.Context(), commits[0], ""); err != nil {
		t.Fatal(err)
	}
	if status := <-answer; status.Commit != commits[0] {
		t.Errorf("answered with %+v", status)
	}
}

// TestExpectIsBounded: requests cause a few syncs at once and then one every few seconds, and
// none for a commit that is served.
func TestExpectIsBounded(t *testing.T) {
	a, now := newAgent(t), testingclock.NewFakeClock(time.Now())
	a.Clock = now
	makeRelease(t, a, commits[0])
	if err := a.publish(t.Context(), commits[0], ""); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		commit string
		after  time.Duration
		asked  bool
	}{
		{commits[0], 0, false},
		{"main", 0, false},
		{commits[1], 0, true},
		{commits[1], 0, true},
		{commits[1], 0, true},
		{commits[1], minAskInterval - time.Millisecond, false},
		// The agent remembers it.
		{"", time.Millisecond, true},
		{"", minAskInterval, false},
	} {
		now.Step(step.after)
		before := a.asks.TokensAt(now.Now())
		a.heed(t.Context(), url.Values{requests.ParameterExpect: {step.commit}})
		a.syncExpected(t.Context())
		if asked := a.asks.TokensAt(now.Now()) < before; asked != step.asked {
			t.Errorf("%s after %v: a sync is asked for: %t, want %t", step.commit, step.after, asked, step.asked)
		}
	}
}

// TestSyncsDoNotWaitForSiblings: however often an agent has fetched for commits of other
// replicas, a request to sync has it fetch at once.
func TestSyncsDoNotWaitForSiblings(t *testing.T) {
	a := newAgent(t)
	a.Clock = testingclock.NewFakeClock(time.Now())
	for range maxAsks {
		a.expect(t.Context(), commits[0])
	}
	if a.expect(t.Context(), commits[0]); !a.expects {
		t.Fatalf("git-sync is signalled more than %d times", maxAsks)
	}
	if a.requestSync(t.Context(), "2026-11-23T12:00:00.000000Z"); !a.syncing.begun {
		t.Error("the request to sync waits")
	}
}
