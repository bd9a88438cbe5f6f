package podprobe

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// waitAnswered waits until all replicas have completed a request to sync and serve a commit, and
// returns the time that took.
func (f *followed) waitAnswered(t *testing.T, sync, commit string) time.Duration {
	t.Helper()
	begun := time.Now()
	f.Want(testWebsite, &Wanted{UID: "1", Generation: 1, Sync: sync})
	waitFor(t, "all have answered", func() bool {
		for _, r := range f.replicas {
			seen, _ := f.Observation(r.pod.UID)
			if seen.Synced != sync {
				return false
			}
			if seen.Commit != commit || r.current() != commit {
				t.Fatalf("pod %s has answered and serves %s, want %s", r.pod.Name, r.current(), commit)
			}
		}
		return true
	})
	return time.Since(begun)
}

// TestReplicasSyncTogether: replicas that fetch only on request serve a pushed commit together, once
// they have synced.
func TestReplicasSyncTogether(t *testing.T) {
	t.Parallel()
	f := startFollowed(t, longTime)
	f.Want(testWebsite, &Wanted{UID: "1", Generation: 1})
	t.Logf("nothing new: %v", f.waitAnswered(t, "nothing", runGit(t, f.repository, "rev-parse", "HEAD")))
	for attempt := range attempts {
		commit := commitFile(t, f.repository, fmt.Sprint("attempt ", attempt))
		t.Logf("something new: %v", f.waitAnswered(t, fmt.Sprint("sync", attempt), commit))
		if seen, _ := f.Observation(f.replicas[0].pod.UID); seen.Subject != fmt.Sprint("attempt ", attempt) ||
			seen.Author != "test" {
			t.Errorf("the commit is %q by %q", seen.Subject, seen.Author)
		}
		if switchedTogether(t, f.replicas, commit) {
			return
		}
	}
	t.Errorf("in none of %d attempts did all replicas prepare the commit before one served it", attempts)
}

// TestReplicasSwitchToPin: replicas switch together to a release that they have, and back to the
// newest commit.
func TestReplicasSwitchToPin(t *testing.T) {
	t.Parallel()
	// So many requests exceed the limit of requests that end a hold: the last hold ends by itself.
	f := startFollowed(t, 5*time.Second)
	first := runGit(t, f.repository, "rev-parse", "HEAD")
	second := commitFile(t, f.repository, "second")
	f.waitAnswered(t, "second", second)
	for generation, pin := range []string{first, "", first} {
		want := pin
		if want == "" {
			want = second
		}
		begun := time.Now()
		f.Want(testWebsite, &Wanted{UID: "1", Generation: int64(generation) + 2, Pin: pin})
		f.waitKnown(t, want)
		t.Logf("pinned to %q: %v", pin, time.Since(begun))
		for _, r := range f.replicas {
			if r.current() != want {
				t.Errorf("pod %s serves %s, want %s", r.pod.Name, r.current(), want)
			}
		}
	}

	// A commit that is fetched meanwhile is served when the pin is removed.
	third := commitFile(t, f.repository, "third")
	f.Want(testWebsite, &Wanted{UID: "1", Generation: 4, Pin: first, Sync: "third"})
	waitFor(t, "all have fetched the commit", func() bool {
		for _, r := range f.replicas {
			if seen, _ := f.Observation(r.pod.UID); seen.Newest != third || seen.Synced != "third" {
				return false
			}
		}
		return true
	})
	for _, r := range f.replicas {
		if r.current() != first {
			t.Errorf("pod %s serves %s, want %s", r.pod.Name, r.current(), first)
		}
	}
	f.Want(testWebsite, &Wanted{UID: "1", Generation: 5})
	waitFor(t, "all serve the commit", func() bool {
		return !slices.ContainsFunc(f.replicas, func(r *replica) bool { return r.current() != third })
	})
}
