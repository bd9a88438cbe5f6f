package options

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

type fakeCA []byte

func (ca *fakeCA) CurrentCABundleContent() []byte { return *ca }

const someCA = "-----BEGIN CERTIFICATE-----"

// probe is what a check is given.
func probe(t *testing.T) *http.Request {
	t.Helper()
	return httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/readyz", nil)
}

func TestNotReadyBeforeTheProxyIsTrusted(t *testing.T) {
	var ca fakeCA
	var headers []string
	check := newProxyTrustCheck(&ca, func() []string { return headers })
	if err := check.Check(probe(t)); err == nil || !strings.Contains(err.Error(), "authority") {
		t.Errorf("without an authority: %v, want that it is not known", err)
	}
	ca = fakeCA(someCA)
	if err := check.Check(probe(t)); err == nil || !strings.Contains(err.Error(), "headers") {
		t.Errorf("without names of headers: %v, want that they are not known", err)
	}
	headers = []string{"X-Remote-User"}
	if err := check.Check(probe(t)); err != nil {
		t.Errorf("not ready although the proxy is trusted: %v", err)
	}
}

func TestNotReadyBeforeClientsAreTrusted(t *testing.T) {
	unreachable := errors.New("connection refused")
	tests := map[string]struct {
		ca        fakeCA
		published bool
		err       error
		want      string
	}{
		"known":               {ca: fakeCA(someCA), published: true},
		"not known yet":       {published: true, want: "not known yet"},
		"there is none":       {},
		"nobody knows":        {err: unreachable, want: "connection refused"},
		"known, host is away": {ca: fakeCA(someCA), err: unreachable},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			check := newClientTrustCheck(&test.ca, func(context.Context) (bool, error) { return test.published, test.err })
			err := check.Check(probe(t))
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("error = %v, want %q", err, test.want)
			}
		})
	}
}

// TestReadinessDoesNotHangOnTheHost keeps a server from becoming unready when
// the host, which has no authority of clients, cannot be asked for a while.
func TestReadinessDoesNotHangOnTheHost(t *testing.T) {
	var ca fakeCA
	asked, away := 0, false
	check := newClientTrustCheck(&ca, func(context.Context) (bool, error) {
		asked++
		if away {
			return false, errors.New("connection refused")
		}
		return false, nil
	})
	if err := check.Check(probe(t)); err != nil {
		t.Fatal(err)
	}
	away = true
	if err := check.Check(probe(t)); err != nil || asked != 1 {
		t.Errorf("with the host away: %v after asking %d times, want ready and asked once", err, asked)
	}
}
