package rollout

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// newWebsite returns a Website whose name orders it by age: "a" is the oldest.
func newWebsite(name string) *v1beta1.Website {
	created := time.Unix(1_700_000_000, 0).Add(time.Duration(name[0]) * time.Minute)
	return &v1beta1.Website{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name,
		CreationTimestamp: metav1.NewTime(created)}}
}

// TestLimit plays sequences of events: "a?" requests the rollout of a, "a!" ends its reconciliation
// with a rollout in progress, "a." without one, "a-" is its deletion. "1h" is an hour.
func TestLimit(t *testing.T) {
	for name, test := range map[string]struct {
		most int
		// start are the Websites at the start, those in capitals with a rollout in progress.
		start string
		play  string
		// admitted lists the admitted Websites in order, and woken the queued ones.
		admitted, woken     string
		pending, inProgress int
	}{
		"up to the limit": {most: 2, play: "a? b? c?", admitted: "a b", pending: 1, inProgress: 2},
		"the next when one is done": {most: 1, play: "a? a! b? c? a. b?", admitted: "a b", woken: "b",
			pending: 1, inProgress: 1},
		"the oldest first": {most: 1, play: "a? d? c? b? a. d? b?", admitted: "a b", woken: "b",
			pending: 2, inProgress: 1},
		"all that there is room for": {most: 3, play: "a? b? c? f? e? d? g? a. b.", admitted: "a b c", woken: "d d e",
			pending: 4, inProgress: 1},
		"again while in progress": {most: 1, play: "a? a! a? a! b?", admitted: "a a", pending: 1, inProgress: 1},
		"a write that failed": {most: 1, play: "a? b? a. b? a?", admitted: "a b", woken: "b",
			pending: 1, inProgress: 1},
		"one that waits is deleted":  {most: 1, play: "a? b? c? b- a. c?", admitted: "a c", woken: "c", inProgress: 1},
		"one in progress is deleted": {most: 1, play: "a? b? a-", admitted: "a", woken: "b", pending: 1},
		"changed by its user":        {most: 1, play: "a? b? b. a. c?", admitted: "a c", inProgress: 1},
		"no limit":                   {most: 0, play: "a? b? c? a! b! c.", admitted: "a b c", inProgress: 2},

		"that continues": {most: 1, play: "a? a! b? a. b? b! a! c? b. c? a. c?", admitted: "a b c",
			woken: "b c", inProgress: 1},
		"that continues before the next": {most: 1, play: "a? b? a. a! b?", admitted: "a", woken: "b",
			pending: 1, inProgress: 1},
		"that continues after too long":  {most: 1, play: "a? a. 1h a! b?", admitted: "a b", inProgress: 1},
		"interrupted, and deleted":       {most: 1, play: "a? a. a- a! b?", admitted: "a b", inProgress: 1},
		"interrupted, and changed again": {most: 1, play: "a? a. b? a? b. a?", admitted: "a b a", woken: "a", inProgress: 1},

		"for too long": {most: 1, play: "a? a! b? 1h a! b? a!", admitted: "a b",
			woken: "b", inProgress: 1},
		"for too long, with other templates": {most: 1, play: "a? a! b? 1h a? a! b?", admitted: "a a b",
			woken: "b", inProgress: 1},
		"for too long since the start": {most: 1, start: "Ab", play: "b? 1h a! b?", admitted: "b",
			woken: "b", inProgress: 1},
		"that was not admitted":            {most: 1, play: "a! b? c! c. c!", admitted: "b", inProgress: 1},
		"that was not there at the start":  {most: 1, start: "ab", play: "a! b?", admitted: "b", inProgress: 1},
		"that was not admitted, and waits": {most: 1, play: "a? b? b! a. b? b!", admitted: "a b", inProgress: 1},

		"started over rollouts in progress": {most: 2, start: "ABcd", play: "c? a! b! c?", pending: 1, inProgress: 2},
		"older ones were not reconciled yet": {most: 2, start: "abcd", play: "d? a. d? b. d?", admitted: "d",
			woken: "d", inProgress: 1},
		"an older one turns out to be settled": {most: 1, start: "ab", play: "b? a. b?", admitted: "b",
			woken: "b", inProgress: 1},
		"an older one turns out to wait": {most: 1, start: "abc", play: "c? b? a. b? b. c?", admitted: "b c",
			woken: "b c", inProgress: 1},
	} {
		t.Run(name, func(t *testing.T) {
			var admitted, woken []string
			clock := clocktesting.NewFakeClock(time.Unix(1_800_000_000, 0))
			limit := NewLimit(test.most, clock, func(key cache.ObjectName) { woken = append(woken, key.Name) })
			var websites []*v1beta1.Website
			for _, letter := range test.start {
				websites = append(websites, newWebsite(strings.ToLower(string(letter))))
			}
			limit.Start(websites, func(website *v1beta1.Website) bool {
				return strings.Contains(test.start, strings.ToUpper(website.Name))
			})
			for _, step := range strings.Fields(test.play) {
				website := newWebsite(step[:1])
				switch step[1] {
				case '?':
					if limit.Admit(website, "template") {
						admitted = append(admitted, website.Name)
					}
				case '!':
					limit.Observe(website, true)
				case '.':
					limit.Observe(website, false)
				case 'h':
					clock.Step(time.Hour)
				case '-':
					limit.Forget(cache.MetaObjectToName(website))
				}
			}
			if want := strings.Fields(test.admitted); !slices.Equal(admitted, want) {
				t.Errorf("admitted %q, want %q", admitted, want)
			}
			if want := strings.Fields(test.woken); !slices.Equal(woken, want) {
				t.Errorf("woken %q, want %q", woken, want)
			}
			if pending, inProgress := limit.Counts(); pending != test.pending || inProgress != test.inProgress {
				t.Errorf("%d pending and %d in progress, want %d and %d", pending, inProgress, test.pending, test.inProgress)
			}
		})
	}
}

func TestWaits(t *testing.T) {
	limit := NewLimit(1, clocktesting.NewFakeClock(time.Unix(1_800_000_000, 0)), func(cache.ObjectName) {})
	a, b := newWebsite("a"), newWebsite("b")
	limit.Admit(a, "new")
	limit.Admit(b, "new")
	for name, test := range map[string]struct {
		website  *v1beta1.Website
		template string
		want     bool
	}{
		"for this template": {b, "new", true},
		"for another":       {b, "newer", false},
		"in progress":       {a, "new", false},
		"unknown":           {newWebsite("c"), "new", false},
	} {
		if got := limit.Waits(cache.MetaObjectToName(test.website), test.template); got != test.want {
			t.Errorf("%s: got %t, want %t", name, got, test.want)
		}
	}
}

func TestCompare(t *testing.T) {
	older, younger := newWebsite("b"), newWebsite("b")
	younger.CreationTimestamp = metav1.NewTime(younger.CreationTimestamp.Add(time.Second))
	younger.Name = "a"
	same := newWebsite("b")
	same.Namespace = "elsewhere"
	if Compare(older, younger) >= 0 || Compare(younger, older) <= 0 || Compare(older, same) >= 0 ||
		Compare(older, older) != 0 {
		t.Error("Websites are not ordered by age, then namespace and name")
	}
}

// TestOldestOfMany: the oldest of many Websites are found as by sorting, without a list of all: at
// the start there is one such search for each Website.
func TestOldestOfMany(t *testing.T) {
	const most = 10
	random := rand.New(rand.NewPCG(1, 2))
	l := NewLimit(most, clocktesting.NewFakeClock(time.Unix(1_700_000_000, 0)), nil)
	var all []cache.ObjectName
	for i := range 5000 {
		key := cache.NewObjectName(fmt.Sprint(random.IntN(10)), fmt.Sprint(i))
		l.set(
			key, entry{created: time.Unix(int64(random.IntN(1000)), 0),
				state: []state{unknown, waiting, interrupted}[random.IntN(3)]},
		)
		all = append(all, key)
	}
	slices.SortFunc(all, func(a, b cache.ObjectName) int {
		return compareAge(l.websites[a].created, a, l.websites[b].created, b)
	})
	for running := range most + 1 {
		var want []cache.ObjectName
		mayWait := slices.DeleteFunc(slices.Clone(all),
			func(key cache.ObjectName) bool { return !l.websites[key].state.mayWait() })
		for _, key := range mayWait[:most-running] {
			if l.websites[key].state == waiting {
				want = append(want, key)
			}
		}
		if got := l.admissible(); !slices.Equal(got, want) {
			t.Fatalf("with %d rollouts in progress %v may begin, want %v", running, got, want)
		}
		l.set(cache.NewObjectName("running", fmt.Sprint(running)), entry{state: inProgress})
	}
	l.drop(cache.NewObjectName("running", "0"))
	l.drop(cache.NewObjectName("running", "1"))
	if allocations := testing.AllocsPerRun(10, func() { l.admissible() }); allocations > 2 {
		t.Errorf("%.0f allocations, want one for the oldest", allocations)
	}
}
