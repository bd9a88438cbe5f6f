package measure

import (
	"fmt"
	"io"
	"slices"
	"time"

	flag "github.com/spf13/pflag"
)

// Options are the sizes of a run. A benchmark has those for which it has defaults.
type Options struct {
	// Quick measures less.
	Quick bool `json:"quick,omitempty"`
	// Websites is the number of Websites, or of objects in each of two namespaces: lists have this many and
	// twice as many. Sizes are several such numbers, in ascending order.
	Websites int   `json:"websites,omitempty"`
	Sizes    []int `json:"sizes,omitempty"`
	// PerNamespace is the number of Websites in each namespace.
	PerNamespace int `json:"perNamespace,omitempty"`
	// Flood is the number of Websites that are created at once when the others are settled.
	Flood int `json:"flood,omitempty"`
	// Replicas is spec.replicas of all Websites. Without pods, more Websites fit on a machine.
	Replicas int `json:"replicas,omitempty"`
	// Rounds is the number of times that all targets are measured, each time in another order.
	Rounds int `json:"rounds,omitempty"`
	// Requests is the number of requests for each operation, target and round, Lists the number of lists for each form.
	Requests int `json:"requests,omitempty"`
	Lists    int `json:"lists,omitempty"`
	// Clients is the number of concurrent clients.
	Clients int `json:"clients,omitempty"`
	// Watchers are the numbers of concurrent watches of one object, Events the number of writes that they receive.
	Watchers []int `json:"watchers,omitempty"`
	Events   int   `json:"events,omitempty"`
	// ChangesPerSecond and HotPerSecond are the rates of changes of all Websites, and of one.
	ChangesPerSecond int `json:"changesPerSecond,omitempty"`
	HotPerSecond     int `json:"hotPerSecond,omitempty"`
	// Duration is how long each measurement takes that has no number of requests.
	Duration time.Duration `json:"duration,omitempty"`
	// Targets and Scenarios are the names of those that are measured. Targets may be empty: all.
	Targets   []string `json:"targets,omitempty"`
	Scenarios []string `json:"scenarios,omitempty"`
	// Out is the directory for the report.
	Out string `json:"-"`
	// Progress receives a line per step.
	Progress io.Writer `json:"-"`
}

// number is a size that is one number.
type number struct {
	value *int
	name  string
	least int
	usage string
}

// numbers are in the order of --help.
func (o *Options) numbers() []number {
	return []number{
		{&o.Websites, "websites", 1, "The number of Websites, or of objects in each of two namespaces"},
		{&o.Flood, "flood", 0, "The number of Websites that are created at once when those are settled"},
		{&o.PerNamespace, "per-namespace", 1, "The number of Websites in each namespace"},
		{&o.Replicas, "replicas", 0, "The replicas of all Websites"},
		{&o.Rounds, "rounds", 1, "The number of rounds"},
		{&o.Requests, "requests", 1, "The number of requests for each operation, target and round"},
		{&o.Lists, "lists", 1, "The number of lists of each form"},
		{&o.Clients, "clients", 1, "The number of concurrent clients"},
		{&o.Events, "events", 1, "The number of writes whose events are measured"},
		{&o.ChangesPerSecond, "changes-per-second", 1, "The rate of changes of all Websites"},
		{&o.HotPerSecond, "hot-per-second", 1, "The rate of changes of one Website"},
	}
}

// Parse returns the options of a command line whose defaults are full or, with --quick, quick, if that has any.
func Parse(name string, args []string, full, quick Options) (Options, error) {
	options, err := full.parse(name, args, quick.Quick)
	if err == nil && options.Quick {
		return quick.parse(name, args, true)
	}
	return options, err
}

func (o Options) parse(name string, args []string, hasQuick bool) (Options, error) {
	flags := flag.NewFlagSet(name, flag.ExitOnError)
	if hasQuick {
		flags.BoolVar(&o.Quick, "quick", o.Quick, "Measure less: other defaults")
	}
	numbers := slices.DeleteFunc(o.numbers(), func(n number) bool { return *n.value == 0 })
	for _, n := range numbers {
		flags.IntVar(n.value, n.name, *n.value, n.usage)
	}
	if o.Sizes != nil {
		flags.IntSliceVar(&o.Sizes, "sizes", o.Sizes, "The numbers of Websites at which all is measured, in ascending order")
	}
	if o.Watchers != nil {
		flags.IntSliceVar(&o.Watchers, "watchers", o.Watchers, "The numbers of concurrent watches of one object")
	}
	if o.Duration != 0 {
		flags.DurationVar(&o.Duration, "duration", o.Duration, "How long requests or changes are repeated")
	}
	if o.Targets != nil {
		flags.StringArrayVar(&o.Targets, "target", o.Targets,
			"A target to measure, as the report names it, instead of all. Can be repeated")
	}
	if o.Scenarios != nil {
		flags.StringSliceVar(&o.Scenarios, "scenarios", o.Scenarios,
			"The scenarios to measure, separated by commas. Those that others need are run in any case")
	}
	flags.StringVar(&o.Out, "out", "_artifacts/"+name, "The directory of the report")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	for _, n := range numbers {
		if *n.value < n.least {
			return o, fmt.Errorf("--%s must be at least %d", n.name, n.least)
		}
	}
	if flags.Lookup("duration") != nil && o.Duration < time.Second {
		return o, fmt.Errorf("--duration must be at least 1s")
	}
	for i, size := range o.Sizes {
		if size < 1 || i > 0 && size <= o.Sizes[i-1] {
			return o, fmt.Errorf("--sizes must be numbers of Websites in ascending order, not %v", o.Sizes)
		}
	}
	return o, nil
}

// CheckNames returns an error for a name that is not one of valid.
func CheckNames(what string, names, valid []string) error {
	for _, name := range names {
		if !slices.Contains(valid, name) {
			return fmt.Errorf("there is no %s %q, only %q", what, name, valid)
		}
	}
	return nil
}
