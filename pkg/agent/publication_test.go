package agent

import (
	"fmt"
	"testing"
	"time"

	"github.com/kubesites/website-apiserver/pkg/agent/release"
)

// TestHold: a release is held only while a request asks for that, until it is released or for some time.
func TestHold(t *testing.T) {
	for name, test := range map[string]struct {
		holds bool
		// ago is the time from the end of the last request that held to the push.
		ago   time.Duration
		first bool
		end   func(*world)
		held  bool
	}{
		"no replicas":        {},
		"for three seconds":  {holds: true, held: true, end: func(w *world) { w.run(maxHold) }},
		"the first one":      {holds: true, first: true},
		"between requests":   {ago: holderGrace - time.Second, held: true, end: func(w *world) { w.run(maxHold) }},
		"after all requests": {ago: holderGrace},
		"released": {holds: true, held: true, end: func(w *world) {
			for _, letter := range []string{"c", "b", "b"} {
				w.take(commitReleased(commit(letter)))
			}
			w.run(step)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			if !test.first {
				w.run(time.Second)
				w.push("b")
			}
			if test.holds {
				w.take(holderCame{})
			} else if test.ago > 0 {
				w.take(holderCame{})
				w.take(holderLeft{})
				w.run(test.ago)
			}
			w.take(syncRequested("1"))
			w.run(10 * step)
			if held := w.held != ""; held != test.held {
				t.Fatalf("a release is held: %t, want %t: %s", held, test.held, w)
			}
			if test.held {
				w.serves("while it is held", "a")
				test.end(w)
			}
			want := "b"
			if test.first {
				want = "a"
			}
			if w.serves("then", want); w.held != "" {
				t.Errorf("a release is held: %s", w)
			}
		})
	}
}

// TestLaterCommits: a held release gives way to the release of a later commit. One commit is published after three
// seconds, however many are pushed, and all are after the last.
func TestLaterCommits(t *testing.T) {
	for name, test := range map[string]struct {
		// pushed are the commits that are fetched, each some time after the one before.
		pushed   string
		interval time.Duration
		// unmade is a commit whose release cannot be made, or takes the time busy.
		unmade string
		busy   time.Duration
		// after is when the first commit is served that is not the first of all, and want which.
		after time.Duration
		want  string
	}{
		"one":         {pushed: "b", after: maxHold, want: "b"},
		"a later one": {pushed: "bc", interval: time.Second, after: maxHold, want: "c"},
		"one every second": {pushed: "bcdefghij", interval: 1100 * time.Millisecond,
			after: maxHold, want: "d"},
		"one that is not made": {pushed: "bc", interval: time.Second, unmade: "c", after: maxHold, want: "b"},
		"one that takes time": {pushed: "bc", interval: time.Second, busy: 5 * time.Second,
			after: maxHold, want: "b"},
		"back to what is served, and another": {pushed: "bac", interval: time.Second,
			after: 2*time.Second + maxHold, want: "c"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, func(w *world) { w.room = 20 })
			w.run(time.Second)
			w.take(holderCame{})
			if test.unmade != "" {
				w.fails[commit(test.unmade)] = release.ErrTooLarge
			}
			first := time.Duration(-1)
			begin := w.now
			for i := range test.pushed {
				w.push(test.pushed[i : i+1])
				// The burst of requests does not last.
				w.syncLimit = limit{}
				w.take(syncRequested(fmt.Sprint(i)))
				for end := w.now.Add(max(test.interval, step)); w.now.Before(end); {
					if w.run(step); first < 0 && len(w.served) > 1 {
						first = w.now.Sub(begin)
					}
				}
				if test.busy > 0 {
					w.busy = test.busy
				}
			}
			for w.now.Sub(begin) < time.Minute {
				if w.run(step); first < 0 && len(w.served) > 1 {
					first = w.now.Sub(begin)
				}
			}
			if got := w.served[1]; got != commit(test.want) || first < test.after || first > test.after+10*step {
				t.Errorf("after %v commit %.2s is served, want %.2s after %v", first, got, commit(test.want), test.after)
			}
			last := test.pushed[len(test.pushed)-1:]
			if last == test.unmade {
				last = test.want
			}
			if w.serves("in the end", last); w.held != "" {
				t.Errorf("a release is held: %s", w)
			}
		})
	}
}
