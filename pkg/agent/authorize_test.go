package agent

import (
	"crypto/ed25519"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	testingclock "k8s.io/utils/clock/testing"

	"github.com/kubesites/website-apiserver/pkg/agent/requests"
)

const testPod = "3d9b1d5e-6d43-4b51-b3a5-4a1c3f0f4f43"

var testKey = newKey()

func newKey() ed25519.PrivateKey {
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		panic(err)
	}
	return key
}

// answers returns the status code with which an agent answers.
func answers(a *Agent, request *http.Request) int {
	w := httptest.NewRecorder()
	a.Handler().ServeHTTP(w, request)
	return w.Code
}

// publishKeys replaces the public keys, as the kubelet does.
func publishKeys(t *testing.T, a *Agent, content string) {
	t.Helper()
	path := filepath.Join(a.ConfigDir, requests.KeysFile)
	if err := os.WriteFile(path+".new", []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

// TestRequestsAreAuthorized: what changes something is refused and counted unless the
// controller has signed it, for this pod, this request and recently.
func TestRequestsAreAuthorized(t *testing.T) {
	changes := map[string]url.Values{
		"hold":    {requests.ParameterHold: {"true"}},
		"expect":  {requests.ParameterExpect: {commit("b")}},
		"release": {requests.ParameterRelease: {commit("b")}},
		"sync":    {requests.ParameterSync: {"2026-11-23T12:00:00.000000Z"}},
		"pin":     {requests.ParameterPin: {commit("b")}, requests.ParameterGeneration: {"7"}},
		"unpin":   {requests.ParameterPin: {""}, requests.ParameterGeneration: {"7"}},
	}
	for change, parameters := range changes {
		for name, test := range map[string]struct {
			key   ed25519.PrivateKey
			pod   string
			given func(t *testing.T, a *Agent, request *http.Request, now *testingclock.FakeClock)
			want  int
		}{
			"signed": {key: testKey, pod: testPod, want: http.StatusOK},
			"by any pod of the cluster": {key: testKey, pod: testPod, want: http.StatusUnauthorized,
				given: func(_ *testing.T, _ *Agent, request *http.Request, _ *testingclock.FakeClock) {
					request.Header.Del(requests.Header)
				}},
			"replayed to another pod": {key: testKey, pod: "another", want: http.StatusForbidden},
			"by an unknown key":       {key: newKey(), pod: testPod, want: http.StatusForbidden},
			"expired": {key: testKey, pod: testPod, want: http.StatusForbidden,
				given: func(_ *testing.T, _ *Agent, _ *http.Request, now *testingclock.FakeClock) {
					now.Step(2 * time.Minute)
				}},
			"with another parameter": {key: testKey, pod: testPod, want: http.StatusForbidden,
				given: func(_ *testing.T, _ *Agent, request *http.Request, _ *testingclock.FakeClock) {
					request.URL.RawQuery += "&" + requests.ParameterSync + "=now"
				}},
			"an agent without keys": {key: testKey, pod: testPod, want: http.StatusForbidden,
				given: func(t *testing.T, a *Agent, _ *http.Request, _ *testingclock.FakeClock) {
					if err := os.Remove(filepath.Join(a.ConfigDir, requests.KeysFile)); err != nil {
						t.Fatal(err)
					}
				}},
			"an agent with keys that it cannot read": {key: testKey, pod: testPod, want: http.StatusForbidden,
				given: func(t *testing.T, a *Agent, _ *http.Request, _ *testingclock.FakeClock) {
					publishKeys(t, a, "nonsense")
				}},
			"an agent with a large file of keys": {key: testKey, pod: testPod, want: http.StatusForbidden,
				given: func(t *testing.T, a *Agent, _ *http.Request, _ *testingclock.FakeClock) {
					publishKeys(t, a, strings.Repeat(" ", 64<<10)+requests.PublicKeysOf(testKey).String())
				}},
		} {
			t.Run(change+"/"+name, func(t *testing.T) {
				now := testingclock.NewFakeClock(time.Now())
				a, _ := startAgent(t, func(a *Agent) { a.Clock = now })
				a.serves(t, "a")
				request := signedRequest(t, a, test.key, test.pod, parameters)
				if test.given != nil {
					test.given(t, a, request, now)
				}
				if code := answers(a, request); code != test.want {
					t.Errorf("status %d, want %d", code, test.want)
				}
				refused := 0
				if test.want != http.StatusOK {
					refused = 1
					a.mu.Lock()
					s := a.state
					a.mu.Unlock()
					if s.syncing.id != "" || s.synced != "" || s.expected != "" || s.pin.known || !s.heldUntil.IsZero() ||
						s.fetches != 1 {
						t.Errorf("a refused request has changed something: %+v", s)
					}
				}
				if got := a.Status().Counts.RefusedRequests; got != int64(refused) {
					t.Errorf("%d refused requests are counted, want %d", got, refused)
				}
			})
		}
	}
}

// TestReadingNeedsNoSignature: anyone may read the status.
func TestReadingNeedsNoSignature(t *testing.T) {
	a, _ := startAgent(t)
	for _, path := range []string{"/status", "/status?wait=1ms&after=another", "/metrics"} {
		if code := answers(a, httptest.NewRequest(http.MethodGet, path, nil)); code != http.StatusOK {
			t.Errorf("%s: status %d", path, code)
		}
	}
}

// TestKeysRotate: an agent accepts the keys that its file has now.
func TestKeysRotate(t *testing.T) {
	a, _ := startAgent(t)
	next := newKey()
	parameters := url.Values{requests.ParameterHold: {"true"}}
	for _, step := range []struct {
		published           string
		byCurrent, byTheNew int
	}{
		{requests.PublicKeysOf(testKey).String(), http.StatusOK, http.StatusForbidden},
		{requests.PublicKeysOf(testKey, next).String(), http.StatusOK, http.StatusOK},
		{requests.PublicKeysOf(next, newKey()).String(), http.StatusForbidden, http.StatusOK},
	} {
		publishKeys(t, a, step.published)
		if code := answers(a, signedRequest(t, a, testKey, testPod, parameters)); code != step.byCurrent {
			t.Errorf("by the first key: %d, want %d", code, step.byCurrent)
		}
		if code := answers(a, signedRequest(t, a, next, testPod, parameters)); code != step.byTheNew {
			t.Errorf("by the second key: %d, want %d", code, step.byTheNew)
		}
	}
}

// TestRefusalsAreLimited: the signatures of a client that sends wrong ones are no longer
// checked, while signatures of the controller are. All refusals are counted.
func TestRefusalsAreLimited(t *testing.T) {
	now := testingclock.NewFakeClock(time.Now())
	a, _ := startAgent(t, func(a *Agent) { a.Clock = now })
	parameters := url.Values{requests.ParameterExpect: {commit("b")}}
	from := func(client string, key ed25519.PrivateKey) int {
		request := signedRequest(t, a, key, testPod, parameters)
		request.RemoteAddr = "127.0.0.1:1234"
		request.Header.Set(ClientHeader, client)
		return answers(a, request)
	}
	attacker := newKey()
	for i := range 2 * refusedBurst {
		want := http.StatusForbidden
		if i >= refusedBurst {
			want = http.StatusTooManyRequests
		}
		if code := from("10.0.0.7", attacker); code != want {
			t.Fatalf("request %d of the attacker: status %d, want %d", i, code, want)
		}
	}
	if code := from("10.0.0.7", testKey); code != http.StatusTooManyRequests {
		t.Errorf("a signature of that client is checked: status %d", code)
	}
	if code := from("10.0.0.8", testKey); code != http.StatusOK {
		t.Errorf("the controller is refused: status %d", code)
	}
	now.Step(time.Second)
	if code := from("10.0.0.7", testKey); code != http.StatusOK {
		t.Errorf("after a second: status %d", code)
	}
	w := httptest.NewRecorder()
	a.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if want := "\nwebsite_agent_requests_refused_total 41\n"; !strings.Contains(w.Body.String(), want) {
		t.Errorf("the metrics are\n%s\nwant %q", w.Body, want)
	}
	status, err := json.Marshal(a.Status())
	if err != nil || !strings.Contains(string(status), `"refusedRequests":41`) {
		t.Errorf("the status is %s, %v", status, err)
	}
	// Many clients do not take memory without end, and the controller gets through.
	for i := range 4 * maxClients {
		from("client "+strings.Repeat("x", i), attacker)
	}
	if len(a.refusals.clients) > maxClients {
		t.Errorf("%d clients are counted apart", len(a.refusals.clients))
	}
	now.Step(time.Minute)
	if code := from("10.0.0.9", testKey); code != http.StatusOK {
		t.Errorf("a client among many is refused for ever: status %d", code)
	}
}
