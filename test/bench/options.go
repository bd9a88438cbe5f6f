package bench

import (
	"errors"
	"io"
	"reflect"
)

// Options are the sizes of a run.
type Options struct {
	// Quick measures fewer targets and operations, and compares the result with Ranges.
	Quick bool `json:"quick"`
	// Objects is the number of objects in each of two namespaces: lists have this many and
	// twice as many.
	Objects int `json:"objects"`
	// Rounds is the number of times that all targets are measured, each time in another order.
	Rounds int `json:"rounds"`
	// Requests is the number of requests for each operation, target and round.
	Requests int `json:"requests"`
	// Lists is the number of lists for each form, target and round.
	Lists int `json:"lists"`
	// Clients is the number of concurrent clients, each with its own connection.
	Clients int `json:"clients"`
	// Watchers are the numbers of concurrent watches of one object.
	Watchers []int `json:"watchers"`
	// Events is the number of writes that each of these watches receives.
	Events int `json:"events"`
	// Targets are the names of those that are measured. Empty: all.
	Targets []string `json:"targets,omitempty"`
	// Out is the directory for the report.
	Out string `json:"-"`
	// Progress receives a line per step.
	Progress io.Writer `json:"-"`
}

// Full are the sizes of "make bench".
func Full() Options {
	return Options{Objects: 5000, Rounds: 5, Requests: 500, Lists: 5, Clients: 16, Watchers: []int{50, 200}, Events: 100}
}

// Quick are the sizes of "make bench QUICK=1".
func Quick() Options {
	return Options{Quick: true, Objects: 1000, Rounds: 1, Requests: 400, Lists: 6, Clients: 16,
		Watchers: []int{50}, Events: 40}
}

// AreQuick reports whether the sizes are those of Quick, for which the committed ranges are.
func (o Options) AreQuick() bool {
	quick := Quick()
	quick.Out, quick.Progress = o.Out, o.Progress
	return reflect.DeepEqual(o, quick)
}

func (o Options) validate() error {
	if o.Objects < 1 || o.Rounds < 1 || o.Requests < 1 || o.Lists < 1 || o.Clients < 1 || o.Events < 1 {
		return errors.New("all sizes must be at least 1")
	}
	return nil
}
