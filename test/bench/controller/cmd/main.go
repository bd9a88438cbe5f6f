// Command bench-controller starts a development cluster on simulated nodes, measures
// website-controller beside others, and writes a report. "make bench-controller" runs it.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	flag "github.com/spf13/pflag"

	"github.com/kubesites/website-apiserver/test/bench/controller"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	// After the first signal, the second one ends the program at once.
	context.AfterFunc(ctx, stop)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench-controller:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	options := controller.Full()
	if err := parse(&options); err != nil {
		return err
	}
	if options.Quick {
		// The same flags change other defaults.
		options = controller.Quick()
		if err := parse(&options); err != nil {
			return err
		}
	}
	options.Progress = os.Stderr

	report, err := controller.Run(ctx, options)
	if report == nil {
		return err
	}
	if failed := report.Write(options.Out); failed != nil {
		return errors.Join(err, failed)
	}
	fmt.Fprintf(os.Stderr, "the report is in %s\n", filepath.Join(options.Out, "report.md"))
	for _, goal := range report.Goals {
		if !goal.Held {
			fmt.Fprintf(os.Stderr, "missed: %s: %.2f, want at most %.2f\n", goal.Name, goal.Value, goal.Limit)
		}
	}
	return err
}

// parse sets options from the command line.
func parse(options *controller.Options) error {
	flags := flag.NewFlagSet(os.Args[0], flag.ExitOnError)
	flags.BoolVar(&options.Quick, "quick", options.Quick, "Measure less")
	flags.IntVar(&options.Websites, "websites", options.Websites, "The number of Websites that are created at once")
	flags.IntVar(&options.Flood, "flood", options.Flood,
		"The number of Websites that are created at once when those are settled")
	flags.IntVar(&options.Replicas, "replicas", options.Replicas, "The replicas of all Websites")
	flags.IntVar(&options.Rounds, "rounds", options.Rounds, "The number of rounds")
	flags.DurationVar(&options.Duration, "duration", options.Duration, "How long Websites are changed")
	flags.StringArrayVar(&options.Contenders, "contender", options.Contenders, "A contender to measure. Can be repeated")
	flags.StringSliceVar(&options.Scenarios, "scenarios", options.Scenarios,
		"The scenarios to measure, separated by commas. Those that others need are run in any case")
	flags.StringVar(&options.Out, "out", "_artifacts/bench-controller", "The directory of the report")
	return flags.Parse(os.Args[1:])
}
