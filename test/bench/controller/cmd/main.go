// Command bench-controller starts a development cluster on simulated nodes, measures
// website-controller beside others, and writes a report. "make bench-controller" runs it.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
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
	if slices.Contains(os.Args[1:], "--quick") {
		options = controller.Quick()
	}
	flag.BoolVar(&options.Quick, "quick", options.Quick, "Measure less")
	flag.IntVar(&options.Websites, "websites", options.Websites, "The number of Websites that are created at once")
	flag.IntVar(&options.Flood, "flood", options.Flood, "The number of Websites that are created at once when those are settled")
	flag.IntVar(&options.Replicas, "replicas", options.Replicas, "The replicas of all Websites")
	flag.IntVar(&options.Rounds, "rounds", options.Rounds, "The number of rounds")
	flag.DurationVar(&options.Duration, "duration", options.Duration, "How long Websites are changed")
	flag.StringArrayVar(&options.Contenders, "contender", options.Contenders, "A contender to measure. Can be repeated")
	flag.StringSliceVar(&options.Scenarios, "scenarios", options.Scenarios, "The scenarios to measure, separated by commas. Those that others need are run in any case")
	flag.StringVar(&options.Out, "out", "_artifacts/bench-controller", "The directory of the report")
	flag.Parse()
	options.Progress = os.Stderr

	report, err := controller.Run(ctx, options)
	if err != nil {
		return err
	}
	if err := report.Write(options.Out); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "the report is in %s\n", filepath.Join(options.Out, "report.md"))
	for _, goal := range report.Goals {
		if !goal.Held {
			fmt.Fprintf(os.Stderr, "missed: %s: %.2f, want at most %.2f\n", goal.Name, goal.Value, goal.Limit)
		}
	}
	return nil
}
