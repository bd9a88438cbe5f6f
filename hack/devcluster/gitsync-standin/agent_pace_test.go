package main

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"
)

// TestThrottlingHost: a host that answers that there are too many requests is polled less and
// less often, a request to sync is not delayed by that, and the next commit is published.
func TestThrottlingHost(t *testing.T) {
	t.Parallel()
	for name, code := range map[string]int{"too many requests": http.StatusTooManyRequests, "unavailable": http.StatusServiceUnavailable} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRemote(t)
			f := startFlakyRemote(t, r)
			// The agent checks every second, and not while git runs: with a period of a second,
			// one check after the other could meet git.
			const period = 2 * time.Second
			p := startPod(t, r, "--period="+period.String(), "--", "--period="+period.String(), "--repo=http://"+f.address+"/site.git")
			p.push("one")
			p.shows("one")
			var polls atomic.Int32
			f.set(func(w http.ResponseWriter, _ *http.Request, _ http.Handler, _ <-chan struct{}) {
				polls.Add(1)
				w.Header().Set("Retry-After", "60")
				w.WriteHeader(code)
			})
			begin := time.Now()
			eventually(t, "the host is polled later", func() bool {
				status, err := p.status()
				return err == nil && status.NextSyncMilliseconds != nil && *status.NextSyncMilliseconds > (5*period/2).Milliseconds()
			})
			if got, most := int(polls.Load()), 2+int(time.Since(begin)/(2*period)); got > most {
				t.Errorf("%d polls in %v, want at most %d", got, time.Since(begin), most)
			}
			if status := p.sync("refused"); status.Failure == nil {
				t.Errorf("the status is %+v", status)
			}
			f.set(nil)
			p.push("two")
			p.sync("accepted")
			p.shows("two")
			p.push("three")
			p.shows("three")
		})
	}
}
