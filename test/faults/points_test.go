package faults

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
)

var (
	updatePoints = flag.Bool("update-points", false, "write the calls of undisturbed plays to "+pointsFile)
	alonePoints  = flag.Bool("points-alone", false,
		"play every point also alone, with a controller of its own, not only 20")
	pointsSeed = flag.Uint64("points-seed", rand.Uint64(), "draws the points that are also played alone")
)

const (
	// undisturbedPlays is the number of namespaces of a batch without a fault, drawnPoints the number
	// of points that are also played alone.
	undisturbedPlays, drawnPoints = 4, 20
	// updatePlays is the number of undisturbed plays that must make a call before it is listed.
	updatePlays = 12
	// costlyPlays is the number of successive plays that attribute a cost to the fault.
	costlyPlays = 3
)

// TestEveryCall plays every scenario undisturbed and, at the same time, once per point of the
// committed list: a fault at one call of the controller. Calls outside the namespace of a Website,
// such as lists and watches, meet their faults in plays of their own, as the faults would affect
// all namespaces.
func TestEveryCall(t *testing.T) {
	observer := newObserver(t)
	wanted, err := rules()
	if err != nil {
		t.Fatal(err)
	}
	if *updatePoints {
		if err := writePoints(pointsFile, listPoints(t, observer)); err != nil {
			t.Fatal(err)
		}
		return
	}
	listed, err := readPoints(pointsFile)
	if err != nil {
		t.Fatal(err)
	}
	covered := &coverage{struck: map[string]map[string]int{}}
	references := map[string]outcome{}
	var alone, inBatch []point
	for _, batch := range batches(listed) {
		began := time.Now()
		outcomes := play(t, observer, nil, batch...)
		t.Logf("%d plays in %s", len(batch), time.Since(began).Round(time.Second))
		undisturbed := map[string][]outcome{}
		for i, p := range batch {
			if p.fault == nil {
				undisturbed[p.scenario.name] = append(undisturbed[p.scenario.name], outcomes[i])
			}
		}
		for name, plays := range undisturbed {
			references[name] = bounds(t, plays)
			t.Logf("%s: calls: %v\nevents: %v", name, references[name].calls, references[name].reported)
		}
		for i, p := range batch {
			if p.fault == nil {
				continue
			}
			if problems := outcomes[i].problems(p, references[p.scenario.name]); len(problems) > 0 {
				// The cluster may have caused the cost. The fault causes it in every play.
				t.Logf("%s (%s): %s", p, outcomes[i].world.namespace, strings.Join(problems, "; "))
				alone = append(alone, p)
				continue
			}
			covered.add(p.fault, p.at)
			inBatch = append(inBatch, p)
		}
	}
	for _, p := range listed {
		if p.at.single() {
			alone = append(alone, p)
		}
	}
	drawn := inBatch
	if !*alonePoints {
		t.Logf("-points-seed=%d", *pointsSeed)
		random := rand.New(rand.NewPCG(*pointsSeed, 0))
		random.Shuffle(len(drawn), func(i, j int) { drawn[i], drawn[j] = drawn[j], drawn[i] })
		drawn = drawn[:min(drawnPoints, len(drawn))]
	}
	t.Run("alone", func(t *testing.T) {
		for _, p := range slices.Concat(alone, drawn) {
			t.Run(p.String(), func(t *testing.T) {
				t.Parallel()
				p.meet(t, observer, references[p.scenario.name])
				covered.add(p.fault, p.at)
			})
		}
	})
	if !t.Failed() { // Else the coverage hides the failed points, and lacks them.
		covered.report(t, wanted)
	}
}

// meet plays a point alone until it costs nothing, and fails the test after costlyPlays.
func (p point) meet(t *testing.T, o *observer, want outcome) {
	t.Helper()
	var all []string
	for range costlyPlays {
		problems := play(t, o, want.state, p)[0].problems(p, want)
		if len(problems) == 0 {
			return
		}
		t.Logf("%s", strings.Join(problems, "; "))
		all = append(all, problems...)
	}
	t.Fatalf("in each of %d plays:\n%s", costlyPlays, strings.Join(all, "\n"))
}

// problems returns the differences between an outcome and the undisturbed plays.
func (have outcome) problems(p point, want outcome) []string {
	switch {
	case have.err != nil:
		return []string{fmt.Sprintf("the controller does not get there: %v\nits calls: %v", have.err, have.calls)}
	case !have.struck:
		return []string{fmt.Sprintf("the fault did not strike\nits calls: %v", have.calls)}
	}
	problems := have.costs(p, want)
	if difference := have.state.diff(want.state); difference != "" {
		problems = append(problems, "in the end:\n"+difference)
	}
	return problems
}

// costs returns the cost of a fault: additional writes and events, and missing events.
func (have outcome) costs(p point, want outcome) []string {
	f, at := p.fault, p.at
	var costs []string
	for site, n := range have.settled {
		costs = append(costs, fmt.Sprintf("a controller started in the settled namespace did %s %d times", site, n))
	}
	for site, n := range have.writes {
		most := want.writes[site]
		if f != nil && f.sent && site == at.site {
			most++ // The controller cannot know that the write with the lost response was done.
		}
		if site.resource == "services" {
			// The API server releases a node port after it has reported the deletion of the Service:
			// creating a Service with the same port is retried up to five times.
			most += 5
		}
		if site.name == resources.AgentKeysConfigMapName {
			most++ // Between two Websites of one name, the namespace may be reconciled without Websites.
		}
		if site.verb == "patch" && n > most {
			costs = append(costs, fmt.Sprintf("%s was done %d times, want %d", site, n, most))
		}
	}
	for about, n := range have.reported {
		if n > want.reported[about] {
			costs = append(costs, fmt.Sprintf("event %q was reported %d times, want %d", about, n, want.reported[about]))
		}
	}
	if f != nil && (f.sent || f.crash) || at.resource == "events.events.k8s.io" {
		return costs // An event is lost with its process.
	}
	for about, n := range want.due {
		// A problem may be over before the controller reconciles.
		if strings.HasPrefix(about, "Normal") && have.reported[about] < n {
			costs = append(costs, fmt.Sprintf("event %q was reported %d times, want %d", about, have.reported[about], n))
		}
	}
	return costs
}

// single reports whether a call serves all namespaces of a controller.
func (s site) single() bool { return s.verb == "list" || s.verb == "watch" || s.resource == "secrets" }

// exposes reports whether a call is to meet a fault. One fault of each kind is enough for a call
// that has met the others in another scenario or at its first occurrence.
func (s scenario) exposes(at call, f *fault) bool {
	return f.meets(at.site) && (!s.listing || at.single()) && (f.kind || !s.again && at.n == 0)
}

// batchSize is the largest number of namespaces in a batch, unless a single scenario has more.
const batchSize = 130

// batches packs undisturbed plays and points. A scenario is never divided, and scenarios with
// probed pods have batches of their own, as their controller has other flags.
func batches(listed []point) [][]point {
	var all [][]point
	for _, s := range scenarios {
		plays := s.undisturbed(undisturbedPlays)
		for _, p := range listed {
			if p.scenario.name == s.name && !p.at.single() {
				plays = append(plays, p)
			}
		}
		i := slices.IndexFunc(all, func(batch []point) bool {
			other := batch[0].scenario
			return s.observed == other.observed && s.listing == other.listing && len(batch)+len(plays) <= batchSize
		})
		if i < 0 {
			all = append(all, plays)
		} else {
			all[i] = append(all[i], plays...)
		}
	}
	return all
}
