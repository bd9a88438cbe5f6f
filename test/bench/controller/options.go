package controller

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
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

// Options are the sizes of a run.
type Options struct {
	Quick bool `json:"quick"`
	// Websites is the number of Websites that are created at once, and Flood of those that
	// are created at once when these are settled.
	Websites int `json:"websites"`
	Flood    int `json:"flood"`
	// Replicas is spec.replicas of all Websites. Without pods, more Websites fit on a machine.
	Replicas int `json:"replicas"`
	// Rounds is the number of times that all contenders are measured, each time in another
	// order.
	Rounds int `json:"rounds"`
	// ChangesPerSecond and HotPerSecond are the rates of changes, Duration is how long they
	// last.
	ChangesPerSecond int           `json:"changesPerSecond"`
	HotPerSecond     int           `json:"hotPerSecond"`
	Duration         time.Duration `json:"duration"`
	// Creators is the number of concurrent requests of the client.
	Creators int `json:"creators"`
	// Contenders and Scenarios are those that are measured.
	Contenders []string `json:"contenders"`
	Scenarios  []string `json:"scenarios"`
	// Out is the directory for the report.
	Out string `json:"-"`
	// Progress receives a line per step.
	Progress io.Writer `json:"-"`
}

// Full are the sizes of "make bench-controller".
func Full() Options {
	return Options{
		Websites: 1000, Flood: 1000, Replicas: 1, Rounds: 3, ChangesPerSecond: 160, HotPerSecond: 20,
		Duration: 10 * time.Second, Creators: 20,
		Contenders: allContenders(), Scenarios: allScenarios(),
	}
}

// Quick are the sizes of "make bench-controller QUICK=1".
func Quick() Options {
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

func (o *Options) validate() error {
	if o.Websites < 1 || o.Flood < 0 || o.Replicas < 0 || o.Rounds < 1 || o.ChangesPerSecond < 1 || o.HotPerSecond < 1 ||
		o.Duration <= 0 || o.Creators < 1 {
		return errors.New("all sizes must be at least 1; only the flood and the replicas may be 0")
	}
	if o.changes(o.ChangesPerSecond) < 1 || o.changes(o.HotPerSecond) < 1 {
		return fmt.Errorf("no Website is changed within %s", o.Duration)
	}
	for _, name := range o.Contenders {
		if !slices.Contains(allContenders(), name) {
			return fmt.Errorf("there is no contender %q, only %q", name, allContenders())
		}
	}
	for _, name := range o.Scenarios {
		if !slices.Contains(allScenarios(), name) {
			return fmt.Errorf("there is no scenario %q, only %q", name, allScenarios())
		}
	}
	return nil
}

// changes is the number of changes at a rate.
func (o *Options) changes(perSecond int) int {
	return int(float64(perSecond) * o.Duration.Seconds())
}

// measures reports whether a scenario is measured.
func (o *Options) measures(scenario string) bool { return slices.Contains(o.Scenarios, scenario) }
