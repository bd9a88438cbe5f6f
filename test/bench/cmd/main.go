// Command bench starts a development cluster on simulated nodes, measures the API of
// Websites beside others, and writes a report. "make bench" runs it.
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

	"github.com/kubesites/website-apiserver/test/bench"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	// After the first signal, the second one ends the program at once.
	context.AfterFunc(ctx, stop)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	options := bench.Full()
	if err := parse(&options); err != nil {
		return err
	}
	if options.Quick {
		// The same flags change other defaults.
		options = bench.Quick()
		if err := parse(&options); err != nil {
			return err
		}
	}
	options.Progress = os.Stderr

	report, err := bench.Run(ctx, options)
	if report == nil {
		return err
	}
	worse := 0
	switch {
	case !options.Quick || report.Failure != "":
	case !options.AreQuick():
		fmt.Fprintln(os.Stderr, "ratios were not compared: the ranges are for the defaults of --quick")
	default:
		ranges, invalid := bench.Ranges()
		if invalid != nil {
			return invalid
		}
		worse = report.Compare(ranges)
	}
	if failed := report.Write(options.Out); failed != nil {
		return errors.Join(err, failed)
	}
	fmt.Fprintf(os.Stderr, "the report is in %s\n", filepath.Join(options.Out, "report.md"))
	for _, c := range report.Comparisons {
		if c.Verdict != bench.Within {
			fmt.Fprintf(os.Stderr, "%s: %s\n", c.Verdict, c)
		}
	}
	if worse > 0 {
		err = errors.Join(err, fmt.Errorf("%d of %d ratios got worse", worse, len(report.Comparisons)))
	}
	return err
}

// parse sets options from the command line.
func parse(options *bench.Options) error {
	flags := flag.NewFlagSet(os.Args[0], flag.ExitOnError)
	flags.BoolVar(&options.Quick, "quick", options.Quick, "Measure less, and compare ratios with the committed ranges")
	flags.IntVar(&options.Objects, "objects", options.Objects,
		"The number of objects in each of two namespaces. Ratios are compared only with the default")
	flags.IntVar(&options.Rounds, "rounds", options.Rounds, "The number of rounds")
	flags.IntVar(&options.Requests, "requests", options.Requests,
		"The number of requests for each operation, target and round")
	flags.StringArrayVar(&options.Targets, "target", options.Targets,
		"A target to measure, as the report names it, instead of all. Can be repeated")
	flags.StringVar(&options.Out, "out", "_artifacts/bench", "The directory of the report")
	return flags.Parse(os.Args[1:])
}
