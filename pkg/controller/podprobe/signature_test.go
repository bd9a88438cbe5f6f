package podprobe

import (
	"context"
	"crypto/ed25519"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/kubesites/website-apiserver/pkg/agent/requests"
	"github.com/kubesites/website-apiserver/pkg/controller/website/cached"
)

// signingKey is the key of the controller in these tests.
var signingKey = ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))

func signAs(key ed25519.PrivateKey) func(types.UID, url.Values) string {
	return func(pod types.UID, parameters url.Values) string {
		return requests.Sign(key, string(pod), parameters, time.Now())
	}
}

// guardedPods answer with one status, and reject requests without a signature of signingKey with a
// code.
type guardedPods struct {
	refusal int

	mu   sync.Mutex
	made []Request
}

func (g *guardedPods) Get(_ context.Context, pod *cached.Pod, request Request) (int, []byte, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.made = append(g.made, request)
	if requests.NeedsSignature(request.Query) {
		if err := requests.Verify(requests.PublicKeysOf(signingKey), string(pod.UID), request.Signature, request.Query,
			time.Now()); err != nil {
			return g.refusal, []byte(err.Error()), nil
		}
	}
	return http.StatusOK, []byte(`{"revision": "1.2", "commit": "` + commitA + `", "lastContact": ` +
		`"2026-11-23T12:00:00Z"}`), nil
}

// TestRequestsAreSigned: only requests that change something are signed, for their pod. A pod that
// rejects them is still observed.
func TestRequestsAreSigned(t *testing.T) {
	_, unknown, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		ask     ask
		sign    func(types.UID, url.Values) string
		refusal int
		// want are the encoded parameters of each request.
		want []string
	}{
		"nothing to sign": {ask: ask{wait: time.Second, after: "1.1"}, sign: signAs(signingKey),
			want: []string{"after=1.1&wait=1s"}},
		"signed": {ask: ask{wait: time.Second, after: "1.1", hold: true}, sign: signAs(signingKey),
			want: []string{"after=1.1&hold=true&wait=1s"}},
		"an unknown key": {ask: ask{wait: time.Second, after: "1.1", hold: true}, sign: signAs(unknown), refusal: 403,
			want: []string{"after=1.1&hold=true&wait=1s", "after=1.1&wait=1s"}},
		"no key": {ask: ask{wait: time.Second, after: "1.1", hold: true}, refusal: 401,
			want: []string{"after=1.1&hold=true&wait=1s", "after=1.1&wait=1s"}},
		"too many requests": {ask: ask{wait: time.Second, after: "1.1", hold: true}, sign: signAs(unknown), refusal: 429,
			want: []string{"after=1.1&hold=true&wait=1s", "after=1.1&wait=1s"}},
		"of a refused release": {ask: ask{wait: time.Second, after: "1.1", release: commitA}, sign: signAs(unknown),
			refusal: 403, want: []string{"after=1.1&release=" + commitA + "&wait=1s", ""}},
	} {
		t.Run(name, func(t *testing.T) {
			pods := &guardedPods{refusal: test.refusal}
			p := New(Config{Client: pods, Period: time.Minute, Clock: clock.RealClock{}, Workers: 1, Share: 1, Sign: test.sign})
			got, err := p.request(t.Context(), newPod("a"), test.ask)
			if err != nil || got.Commit != commitA || got.revision != "1.2" {
				t.Errorf("observed %+v, error %v", got, err)
			}
			var made []string
			for i, request := range pods.made {
				made = append(made, request.Query.Encode())
				if signed := request.Signature != ""; signed != (test.sign != nil && requests.NeedsSignature(request.Query)) {
					t.Errorf("request %d is signed: %t", i, signed)
				}
			}
			if !slices.Equal(made, test.want) {
				t.Errorf("requests %q, want %q", made, test.want)
			}
		})
	}
}
