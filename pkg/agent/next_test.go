package agent

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/kubesites/website-apiserver/pkg/agent/git"
	"github.com/kubesites/website-apiserver/pkg/agent/release"
	"github.com/kubesites/website-apiserver/pkg/agent/requests"
)

// TestFetches: when the repository is fetched.
func TestFetches(t *testing.T) {
	const m = time.Minute
	fails := func(reason git.Reason) func(*world) {
		return func(w *world) { w.fails[w.ref] = gitError(reason) }
	}
	seconds := func(seconds ...int) (times []time.Duration) {
		for _, s := range seconds {
			times = append(times, time.Duration(s)*time.Second)
		}
		return times
	}
	for name, test := range map[string]struct {
		period time.Duration
		ref    string
		// begin changes the state at the start, and later after a minute and a half.
		begin, later func(*world)
		want         []time.Duration
	}{
		"each period": {period: m, want: seconds(0, 60, 120, 180, 240, 300, 360, 420, 480, 540, 600)},
		"once":        {want: seconds(0)},
		"a commit":    {period: m, ref: commit("a"), want: seconds(0)},
		"a server that is down": {period: m, begin: fails(git.ReasonUnreachable),
			want: seconds(0, 5, 15, 35, 75, 155, 315)},
		"one that comes up": {period: m, begin: fails(git.ReasonUnreachable),
			later: func(w *world) { clear(w.fails) }, want: seconds(0, 5, 15, 35, 75, 155, 215, 275, 335, 395, 455, 515, 575)},
		"one that goes down": {period: m, later: fails(git.ReasonTimedOut), want: seconds(0, 60, 120, 180, 300, 540)},
		"a short period": {period: time.Second, begin: fails(git.ReasonUnreachable),
			want: seconds(0, 1, 3, 7, 15, 31, 63, 127, 255, 511)},
		"a long period": {period: 4 * m, later: fails(git.ReasonUnreachable), want: seconds(0, 240, 480)},
		"no path": {period: 2 * m, begin: fails(git.ReasonPathNotFound),
			want: seconds(0, 120, 240, 360, 480, 600)},
		"never, and down": {begin: fails(git.ReasonUnreachable), later: func(w *world) { clear(w.fails) },
			want: seconds(0, 5, 15, 35, 75, 155)},
		"a release that is not made": {period: m, begin: func(w *world) { w.fails[commit("a")] = release.ErrTooLarge },
			want: seconds(0, 5, 15, 35, 75, 155, 315)},
		"and without polling": {begin: func(w *world) { w.fails[commit("a")] = release.ErrTooLarge },
			want: seconds(0, 5, 15, 35, 75, 155, 315)},
		"a later one, seldom": {period: 4 * m, later: func(w *world) {
			w.push("b")
			w.fails[commit("b")] = release.ErrTooLarge
		}, want: seconds(0, 240, 245, 255, 275, 315, 395, 555)},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, func(w *world) {
				w.period = test.period
				if test.ref != "" {
					w.ref = test.ref
				}
				if test.begin != nil {
					test.begin(w)
				}
			})
			w.run(90 * time.Second)
			if test.later != nil {
				test.later(w)
			}
			w.run(10*time.Minute - 89*time.Second)
			for i := range w.fetchedAt {
				w.fetchedAt[i] = w.fetchedAt[i].Truncate(time.Second)
			}
			if !slices.Equal(w.fetchedAt, test.want) {
				t.Errorf("fetched at %v, want %v", w.fetchedAt, test.want)
			}
		})
	}
}

// TestSync: a request to fetch is answered once a fetch that began later is published, or will not be.
func TestSync(t *testing.T) {
	newSynced := func(t *testing.T, tweaks ...func(*world)) *world {
		w := newWorld(t, tweaks...)
		w.run(time.Second)
		return w
	}
	answered := func(w *world, id string) {
		w.t.Helper()
		if w.synced != id || w.syncing.id != "" {
			w.t.Errorf("request %s is not answered: %s", id, w)
		}
	}
	t.Run("a push", func(t *testing.T) {
		w := newSynced(t)
		w.push("b")
		w.take(syncRequested("1"))
		w.run(5 * step)
		w.serves("after the request", "b")
		answered(w, "1")
		// One that is repeated does nothing.
		fetches := len(w.fetchedAt)
		w.take(syncRequested("1"))
		if w.run(time.Second); len(w.fetchedAt) != fetches {
			t.Error("the same request has caused another fetch")
		}
	})
	t.Run("during a fetch", func(t *testing.T) {
		w := newSynced(t)
		w.run(time.Minute - time.Second + 2*step)
		if w.state.job.kind != jobFetch {
			t.Fatalf("there is no fetch: %s", w)
		}
		w.push("b")
		w.take(syncRequested("1"))
		if w.run(step); w.synced != "" {
			t.Error("the fetch of before has answered the request")
		}
		w.run(6 * step)
		w.serves("after the request", "b")
		answered(w, "1")
	})
	t.Run("that fails", func(t *testing.T) {
		w := newSynced(t)
		w.fails[w.ref] = gitError(git.ReasonNotFound)
		w.take(syncRequested("1"))
		w.run(2 * step)
		answered(w, "1")
		if reason := w.status(w.now).Failure.Reason; reason != git.ReasonNotFound {
			t.Errorf("the reason is %s", reason)
		}
		clear(w.fails)
		w.push("b")
		w.take(syncRequested("2"))
		w.run(6 * step)
		w.serves("after another request", "b")
		answered(w, "2")
		if failure := w.status(w.now).Failure; failure != nil {
			t.Errorf("there is the failure %+v", failure)
		}
	})
	t.Run("of a commit", func(t *testing.T) {
		w := newSynced(t, func(w *world) { w.ref = commit("a") })
		w.take(syncRequested("1"))
		answered(w, "1")
		if len(w.fetchedAt) != 1 {
			t.Errorf("fetched at %v", w.fetchedAt)
		}
	})
	t.Run("often", func(t *testing.T) {
		w := newSynced(t)
		for i := range 200 {
			w.take(syncRequested(fmt.Sprint(i)))
			w.run(step)
		}
		if got := len(w.fetchedAt) - 1; got != fetchBurst {
			t.Errorf("fetched %d times in two seconds, want %d", got, fetchBurst)
		}
		w.run(fetchInterval * 2)
		answered(w, "199")
	})
	t.Run("while pinned", func(t *testing.T) {
		w := newSynced(t)
		w.pin(commit("a"))
		w.push("b")
		w.take(syncRequested("1"))
		w.run(6 * step)
		w.serves("pinned", "a")
		answered(w, "1")
	})
	t.Run("while a fetch of the pinned commit is canceled", func(t *testing.T) {
		w := newSynced(t)
		w.hung[w.ref] = true
		w.take(syncRequested("1"))
		w.run(step)
		delete(w.hung, w.ref)
		w.pin(commit("c"))
		w.run(10 * step)
		w.serves("pinned", "c")
		w.run(fetchInterval)
		answered(w, "1")
	})
}

// TestCompaction gives way to a requested fetch once, and is made up for later.
func TestCompaction(t *testing.T) {
	compacting := func() *world {
		w := newWorld(t, func(w *world) { w.compaction = 30 * time.Second })
		w.run(time.Second)
		if w.state.job.kind != jobCompact {
			t.Fatalf("nothing is compacted: %s", w)
		}
		return w
	}
	for name, request := range map[string]func(*world){
		"a sync":          func(w *world) { w.take(syncRequested("1")) },
		"another replica": func(w *world) { w.take(commitExpected(commit("b"))) },
		"a pin":           func(w *world) { w.pin(commit("b")) },
		"a sync while a fetch is due": func(w *world) {
			w.nextFetch = w.now
			w.take(syncRequested("1"))
		},
	} {
		w := compacting()
		w.push("b")
		request(w)
		w.run(6 * step)
		w.serves(name, "b")
		if w.run(50 * time.Second); w.compactions != 1 {
			t.Errorf("%s: compacted %d times: %s", name, w.compactions, w)
		}
	}

	for name, request := range map[string]func(*world){
		"a fetch by itself": func(w *world) { w.nextFetch = w.now; w.take(timePassed{}) },
		"the second sync": func(w *world) {
			w.take(syncRequested("1"))
			w.run(6 * step)
			w.take(syncRequested("2"))
		},
	} {
		w := compacting()
		request(w)
		w.push("b")
		if w.run(20 * time.Second); w.compactions != 0 || w.state.job.kind != jobCompact {
			t.Errorf("%s interrupts the removal of objects: %s", name, w)
		}
		w.run(20 * time.Second)
		w.serves(name, "b")
		if w.run(40 * time.Second); w.compactions == 0 {
			t.Errorf("%s: nothing was compacted: %s", name, w)
		}
	}
}

// TestExpectIsBounded: commits of other replicas cause a few fetches at once, and then one every few seconds.
func TestExpectIsBounded(t *testing.T) {
	w := newWorld(t)
	w.run(time.Second)
	for _, known := range []string{"a"} {
		w.take(commitExpected(commit(known)))
	}
	if w.run(step); len(w.fetchedAt) != 1 {
		t.Error("fetched for a commit that is served")
	}
	for range 200 {
		w.take(commitExpected(commit("b")))
		w.run(step)
	}
	if got := len(w.fetchedAt) - 1; got != fetchBurst {
		t.Errorf("fetched %d times in two seconds, want %d", got, fetchBurst)
	}
	w.push("b")
	w.run(fetchInterval)
	w.serves("as soon as it may", "b")
	if w.expected != "" {
		t.Error("the commit is still expected")
	}
	// A request to sync does not wait for these.
	w.push("c")
	w.take(syncRequested("1"))
	w.run(6 * step)
	w.serves("after a request to sync", "c")
}

// TestPins: the served release with a pin.
func TestPins(t *testing.T) {
	pinned := func(t *testing.T, tweaks ...func(*world)) *world {
		w := newWorld(t, tweaks...)
		w.run(time.Second)
		w.push("b")
		w.run(time.Minute)
		w.serves("at first", "b")
		return w
	}
	t.Run("on the disk", func(t *testing.T) {
		w := pinned(t)
		w.hung[w.ref] = true
		w.take(syncRequested("1"))
		w.pin(commit("a"))
		w.run(2 * step)
		w.serves("although a fetch hangs", "a")
		w.pin("")
		w.run(2 * step)
		w.serves("without the pin", "b")
	})
	t.Run("not on the disk", func(t *testing.T) {
		w := pinned(t)
		w.hung[w.ref] = true
		w.take(syncRequested("1"))
		w.run(step)
		w.pin(commit("c"))
		w.run(8 * step)
		w.serves("although a fetch hangs", "c")
		if w.newest != commit("b") || w.status(w.now).Failure != nil {
			t.Errorf("it is taken for the last commit: %s", w)
		}
	})
	t.Run("follows the repository", func(t *testing.T) {
		w := pinned(t)
		w.pin(commit("a"))
		for _, letter := range []string{"c", "d", "e"} {
			w.push(letter)
			w.run(time.Minute)
			if w.serves("pinned", "a"); !w.has(commit(letter)) || w.newest != commit(letter) {
				t.Errorf("the last commit is not prepared: %s", w)
			}
		}
		if w.has(commit("c")) || w.has(commit("d")) || !w.has(commit("b")) {
			t.Errorf("there are the releases %.2s", w.releases)
		}
		w.pin("")
		w.run(2 * step)
		w.serves("at once", "e")
	})
	t.Run("no room for the last commit", func(t *testing.T) {
		w := pinned(t)
		w.room = 1
		w.pin(commit("a"))
		w.push("c")
		w.run(3 * time.Minute)
		if w.has(commit("c")) || w.dropped != commit("c") {
			t.Errorf("there are the releases %.2s", w.releases)
		}
		w.pin("")
		w.run(10 * step)
		w.serves("without the pin", "c")
	})
	for reason, want := range map[git.Reason][]int{
		git.ReasonUnreachable: {0, 5, 15, 35, 75, 155, 315}, git.ReasonCommitRefused: {0, 600},
	} {
		t.Run(string(reason), func(t *testing.T) {
			w := pinned(t)
			w.period = 0
			w.nextFetch = time.Time{}
			w.fetchedAt = nil
			begin := w.now.Sub(time.Unix(1e9, 0))
			w.fails[commit("c")] = gitError(reason)
			w.pin(commit("c"))
			w.run(2 * step)
			if pin := w.status(w.now).Pin; pin.Failure == nil || pin.Failure.Reason != reason || !w.hasPinned(commit("c")) {
				t.Errorf("the failure is %+v", pin.Failure)
			}
			w.run(10*time.Minute + time.Second)
			var got []int
			for _, at := range w.fetchedAt {
				got = append(got, int((at-begin)/time.Second))
			}
			if !slices.Equal(got, want) {
				t.Errorf("fetched at %v, want %v", got, want)
			}
			w.serves("what was", "b")
			w.pin("")
			if w.run(2 * step); w.status(w.now).Failure != nil {
				t.Errorf("there is the failure %+v", w.status(w.now).Failure)
			}
		})
	}
	t.Run("what is served", func(t *testing.T) {
		w := newWorld(t)
		w.pin(requests.PinCurrent)
		w.run(2 * time.Minute)
		w.serves("nothing", "")
		w.pin("")
		w.run(2 * step)
		w.serves("without the pin", "a")
		w.pin(requests.PinCurrent)
		if !w.hasPinned(requests.PinCurrent) {
			t.Error("a request waits for it")
		}
		w.push("b")
		w.run(2 * time.Minute)
		w.serves("what was", "a")
		w.take(holderCame{})
		w.pin("")
		if w.run(time.Second); w.held != commit("b") {
			t.Fatalf("nothing is held: %s", w)
		}
		w.pin(requests.PinCurrent)
		if w.run(time.Minute); w.held != "" {
			t.Errorf("a release is held: %s", w)
		}
		w.serves("while a release was held", "a")
		w.pin(commit("b"))
		w.run(time.Minute)
		w.serves("pinned", "b")
	})
	t.Run("generations", func(t *testing.T) {
		w := pinned(t)
		for _, read := range []struct {
			e    event
			want string
		}{
			{pinRequested{Commit: commit("a"), Generation: 5}, "a"},
			{pinRequested{Generation: 4}, "a"},
			{pinRead{Generation: 4}, "a"},
			{pinRead{Commit: commit("b"), Generation: 6}, "b"},
			// Of a store that was restored.
			{pinRead{Commit: commit("a"), Generation: 3}, "a"},
			{pinRequested{Commit: commit("b"), Generation: 3}, "b"},
			{pinRequested{Commit: commit("a"), Generation: 9}, "a"},
			// Of a store that was restored before the file had the request.
			{pinRead{Commit: commit("b"), Generation: 5}, "a"},
			{pinRequested{Commit: commit("b"), Generation: 5}, "a"},
			{timePassed{}, "a"},
			{pinRequested{Commit: commit("b"), Generation: 5}, "b"},
		} {
			w.take(read.e)
			w.run(5 * step)
			if (read.e == timePassed{}) {
				w.run(pinMemory)
			}
			w.serves(fmt.Sprintf("%#v", read.e), read.want)
		}
	})
}

// TestLargeCommits: releases give way to a commit that does not fit. If that is not enough, the served release stays.
func TestLargeCommits(t *testing.T) {
	w := newWorld(t)
	for _, letter := range []string{"a", "b", "c"} {
		w.push(letter)
		w.run(time.Minute)
	}
	w.push("d")
	w.fails[w.ref] = gitError(git.ReasonTooLarge)
	fetches := len(w.fetchedAt)
	w.take(syncRequested("1"))
	w.run(time.Second)
	if got := len(w.fetchedAt) - fetches; got != 2 || len(w.releases) != 1 || w.synced != "1" {
		t.Errorf("fetched %d times, with the releases %.2s and the answer %q", got, w.releases, w.synced)
	}
	w.serves("the commit that fits", "c")
	if failure := w.status(w.now).Failure; failure == nil || failure.Reason != git.ReasonTooLarge {
		t.Errorf("the failure is %+v", failure)
	}
	// A pin ends it at once.
	w.pin(commit("a"))
	w.run(10 * step)
	w.serves("a pin", "a")
	w.pin("")
	clear(w.fails)
	w.push("e")
	w.take(syncRequested("2"))
	w.run(time.Second)
	w.serves("a smaller one", "e")
}

// TestPublishingFails: it is tried again, and requests do not wait for it.
func TestPublishingFails(t *testing.T) {
	w := newWorld(t)
	w.run(time.Second)
	w.push("b")
	w.fails["publish"] = gitError(git.ReasonStorageFull)
	w.take(syncRequested("1"))
	w.run(6 * step)
	if failure := w.status(w.now).Failure; failure == nil || failure.Reason != git.ReasonStorageFull || w.synced != "1" {
		t.Errorf("the failure is %+v, the answered request %q", failure, w.synced)
	}
	w.serves("what was", "a")
	clear(w.fails)
	w.run(publishBackoff)
	w.serves("later", "b")
	if w.status(w.now).Failure != nil {
		t.Errorf("there is the failure %+v", w.status(w.now).Failure)
	}
}

// TestExpectOfCommit: an agent that follows a commit does not fetch for the commit of another replica.
func TestExpectOfCommit(t *testing.T) {
	w := newWorld(t, func(w *world) { w.ref = commit("a") })
	w.run(time.Second)
	w.take(commitExpected(commit("b")))
	if w.run(time.Hour); len(w.fetchedAt) != 1 || w.expected != "" {
		t.Errorf("fetched at %v", w.fetchedAt)
	}
}

// TestReleaseDuringCollection: a release that is made while others are removed is kept.
func TestReleaseDuringCollection(t *testing.T) {
	w := newWorld(t)
	w.run(time.Second)
	w.push("b")
	w.take(syncRequested("1"))
	w.run(2 * step)
	collection := w.collected(collect{})
	w.publishing = true
	w.run(step)
	w.take(collection)
	w.run(10 * step)
	w.serves("then", "b")
}

// TestLostSite: a removed site is published again, or fetched.
func TestLostSite(t *testing.T) {
	for name, left := range map[string][]string{"the link": {commit("a")}, "all": nil} {
		w := newWorld(t)
		w.run(time.Second)
		w.take(siteLost{left})
		w.run(10 * step)
		w.serves(name, "a")
	}
}

// TestAnyOrder: whatever happens in whatever order, in the end the right commit is served.
func TestAnyOrder(t *testing.T) {
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 0))
		w := newWorld(t, func(w *world) {
			if seed%5 == 0 {
				w.ref = commit("a")
			}
		})
		letters := "abcdef"
		any := func() string { i := random.IntN(len(letters)); return letters[i : i+1] }
		holders := 0
		for range 60 {
			switch random.IntN(13) {
			case 0, 1:
				w.push(any())
			case 2:
				w.take(syncRequested(fmt.Sprint(random.IntN(5))))
			case 3:
				w.take(commitExpected(commit(any())))
			case 4:
				w.take(commitReleased(commit(any())))
			case 5:
				w.take(holderCame{})
				holders++
			case 6:
				if holders > 0 {
					w.take(holderLeft{})
					holders--
				}
			case 7:
				w.pin([]string{"", requests.PinCurrent, commit(any()), commit(any())}[random.IntN(4)])
			case 8:
				w.fails[[]string{w.ref, commit(any()), "publish"}[random.IntN(3)]] = []error{
					gitError(git.ReasonUnreachable), gitError(git.ReasonTooLarge), gitError(git.ReasonPathNotFound),
					release.ErrTooLarge,
				}[random.IntN(4)]
			case 9:
				clear(w.fails)
			case 10:
				w.room = 1 + random.IntN(4)
			case 12:
				if w.current != "" {
					w.take(siteLost{w.releases[:random.IntN(len(w.releases))]})
				}
			case 11:
				w.take(previewsRead{&requests.Previews{Branches: []string{any()}}, any()})
			}
			w.run(time.Duration(random.IntN(4000)) * time.Millisecond)
		}
		clear(w.fails)
		w.take(syncRequested("last"))
		w.run(20 * time.Minute)
		if w.isFixed() {
			w.tip = w.ref
		}
		want := w.tip
		switch pin := w.state.pin.Commit; pin {
		case "":
		case requests.PinCurrent:
			want = w.current
		default:
			want = pin
		}
		if w.current != want || w.held != "" || w.synced != "last" || w.newest != w.tip || w.status(w.now).Failure != nil {
			t.Fatalf("seed %d: commit %.2s is served, want %.2s, the last is %.2s: %s", seed, w.current, want, w.tip, w)
		}
	}
}
