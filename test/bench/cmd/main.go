// Command bench starts a development cluster on simulated nodes, measures the API of
// Websites beside others, and writes a report. "make bench" runs it.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"

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
	if slices.Contains(os.Args[1:], "--quick") {
		options = bench.Quick()
	}
	flag.BoolVar(&options.Quick, "quick", options.Quick, "Measure less, and compare ratios with the committed ranges")
	flag.IntVar(&options.Objects, "objects", options.Objects, "The number of objects in each of two namespaces. Ratios are compared only with the default")
	flag.IntVar(&options.Rounds, "rounds", options.Rounds, "The number of rounds")
	flag.IntVar(&options.Requests, "requests", options.Requests, "The number of requests for each operation, target and round")
	flag.StringVar(&options.Out, "out", "_artifacts/bench", "The directory of the report")
	flag.Parse()
	options.Progress = os.Stderr

	report, err := bench.Run(ctx, options)
	if err != nil {
		return err
	}
	worse := 0
	if options.Quick && options.Objects == bench.Quick().Objects {
		ranges, err := bench.Ranges()
		if err != nil {
			return err
		}
		worse = report.Compare(ranges)
	}
	if err := report.Write(options.Out); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "the report is in %s\n", filepath.Join(options.Out, "report.md"))
	for _, c := range report.Comparisons {
		if c.Verdict != bench.Within {
			fmt.Fprintf(os.Stderr, "%s: %s\n", c.Verdict, c)
		}
	}
	if worse > 0 {
		return fmt.Errorf("%d of %d ratios got worse", worse, len(report.Comparisons))
	}
	return nil
}
