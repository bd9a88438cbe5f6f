package controller

import (
	"time"

	"github.com/kubesites/website-apiserver/test/bench/measure"
)

// Scenarios, in the order in which they are measured.
const (
	// create creates Websites at once.
	create = "create"
	// flood creates more at once, while those are settled.
	flood = "flood"
	// changes patches the specs of settled Websites at a constant rate.
	changes = "changes"
	// hot changes the spec of one Website all the time.
	hot = "hot"
	// restart restarts the controller while all Websites are settled.
	restart = "restart"
)

// Full are the sizes of "make bench-controller".
func Full() measure.Options {
	return measure.Options{Websites: 1000, Flood: 1000, Replicas: 1, Rounds: 3, ChangesPerSecond: 160, HotPerSecond: 20,
		Duration: 10 * time.Second, Clients: 20, Targets: []string{}, Scenarios: allScenarios()}
}

// Quick are the sizes of "make bench-controller QUICK=1".
func Quick() measure.Options {
	o := Full()
	o.Quick, o.Websites, o.Flood, o.Rounds, o.Duration = true, 100, 100, 1, 5*time.Second
	return o
}

func allScenarios() []string { return []string{create, flood, changes, hot, restart} }

func allContenders() []string {
	var names []string
	for _, c := range contenders {
		names = append(names, c.name)
	}
	return names
}

func validate(o measure.Options) error {
	if err := measure.CheckNames("target", o.Targets, allContenders()); err != nil {
		return err
	}
	return measure.CheckNames("scenario", o.Scenarios, allScenarios())
}
