package agent

import (
	"net/url"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubesites/website-apiserver/pkg/agent/requests"
)

// TestPinCurrent: what is served stays, whatever is fetched, and nothing is served that was not before.
func TestPinCurrent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAgent(t)
		for _, commit := range commits {
			makeRelease(t, a, commit)
		}
		generation := 0
		pin := func(commit string) {
			generation++
			a.heed(t.Context(), url.Values{
				requests.ParameterPin: {commit}, requests.ParameterGeneration: {strconv.Itoa(generation)},
			})
		}
		serves := func(when, want string) {
			t.Helper()
			time.Sleep(time.Minute)
			if status := a.Status(); status.Commit != want || a.Releases.Current() != want || status.Prepared != "" || status.Failure != nil {
				t.Errorf("%s: %+v, want commit %q", when, status, want)
			}
		}
		startFollowing(t, a)
		pin(requests.PinCurrent)
		fetches(t, a, commits[0])
		serves("nothing was served", "")
		pin("")
		serves("any more", commits[0])
		pin(requests.PinCurrent)
		begun := time.Now()
		a.await(t.Context(), url.Values{requests.ParameterPin: {requests.PinCurrent}, requests.ParameterGeneration: {"3"}}, long)
		if took := time.Since(begun); took > 0 {
			t.Errorf("the request is answered after %v: there is nothing to wait for", took)
		}
		fetches(t, a, commits[1])
		serves("something is served", commits[0])
		pin("")
		// The release is held for other replicas.
		time.Sleep(time.Second)
		pin(requests.PinCurrent)
		serves("while a release is held", commits[0])
		pin(commits[1])
		serves("pinned to a commit", commits[1])
	})
}
