package bodies

import (
	"fmt"
	"testing"
	"time"

	testclock "k8s.io/utils/clock/testing"
)

const megabyte = 1 << 20

func newTestBudget() (*budget, *testclock.FakePassiveClock) {
	clock := testclock.NewFakePassiveClock(time.Now())
	return newBudget(clock), clock
}

// exhaust returns how many megabytes a namespace gets at once.
func exhaust(b *budget, namespace string) int {
	for n := 0; ; n++ {
		if b.take(namespace, megabyte) > 0 {
			return n
		}
	}
}

func TestBudgetIsShared(t *testing.T) {
	b, _ := newTestBudget()
	if got := exhaust(b, "first"); got != 31 && got != 32 {
		t.Errorf("a single namespace gets %d MiB of 64, want half", got)
	}
	for i := range 100 {
		exhaust(b, fmt.Sprintf("other-%d", i))
	}
	if b.total > budgetBytes {
		t.Errorf("%f bytes are used, want at most %d", b.total, budgetBytes)
	}
	b, _ = newTestBudget()
	exhaust(b, "first")
	exhaust(b, "second")
	if got := exhaust(b, "third"); got < 8 {
		t.Errorf("a namespace gets %d MiB beside two others that take all they get, want more", got)
	}
}

func TestBudgetBecomesFree(t *testing.T) {
	b, clock := newTestBudget()
	exhaust(b, "first")
	wait := b.take("first", megabyte)
	if wait <= 0 || wait > 5*time.Second {
		t.Fatalf("the next megabyte after %s, want within seconds", wait)
	}
	clock.SetTime(clock.Now().Add(wait / 2))
	if b.take("first", megabyte) == 0 {
		t.Error("written before the time that was told")
	}
	clock.SetTime(clock.Now().Add(wait/2 + time.Second))
	if rest := b.take("first", megabyte); rest > 0 {
		t.Errorf("rejected after the time that was told: another %s", rest)
	}
	clock.SetTime(clock.Now().Add(time.Hour))
	if b.take("other", minBytes); len(b.used) != 1 {
		t.Errorf("%d namespaces are kept an hour later, want only the one that writes", len(b.used))
	}
}

// TestSustainedWrites writes as fast as it is allowed to for ten minutes.
func TestSustainedWrites(t *testing.T) {
	b, clock := newTestBudget()
	written := 0
	for range 600 * 10 {
		clock.SetTime(clock.Now().Add(100 * time.Millisecond))
		if b.take("first", megabyte) == 0 {
			written++
		}
	}
	// Half of the budget at once, and as much again in 75 seconds.
	if limit := 32 + 32*600/75; written > limit || written < limit*8/10 {
		t.Errorf("%d MiB in ten minutes, want nearly %d", written, limit)
	}
}

func TestProcessedAtOnce(t *testing.T) {
	b, _ := newTestBudget()
	for _, namespace := range []string{"first", "second"} {
		if !b.begin(namespace, largestWebsite) {
			t.Errorf("the largest Website of the namespace %s waits", namespace)
		}
	}
	if b.begin("third", minBytes) {
		t.Error("more than the two largest Websites are processed")
	}
	if b.end("first", largestWebsite); !b.begin("third", minBytes) {
		t.Error("a write waits after another one has ended")
	}
}
