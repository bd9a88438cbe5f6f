// Command bench starts a development cluster, measures one part of the product beside others, and writes a
// report: "bench api", "bench controller", "bench growth" or "bench serving". "make bench" and the targets whose names
// begin with it run it.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/kubesites/website-apiserver/test/bench"
	"github.com/kubesites/website-apiserver/test/bench/controller"
	"github.com/kubesites/website-apiserver/test/bench/growth"
	"github.com/kubesites/website-apiserver/test/bench/measure"
	"github.com/kubesites/website-apiserver/test/bench/serving"
)

// benchmark is one part that is measured.
type benchmark struct {
	// name is the name of the make target.
	name string
	// full and quick are defaults of the options; without the latter, there is no --quick.
	full, quick measure.Options
	run         func(context.Context, measure.Options) (measure.Report, error)
}

var benchmarks = map[string]benchmark{
	"api":        {"bench", bench.Full(), bench.Quick(), bench.Run},
	"controller": {"bench-controller", controller.Full(), controller.Quick(), controller.Run},
	"growth":     {"bench-growth", growth.Defaults(), measure.Options{}, growth.Run},
	"serving":    {"bench-serving", serving.Defaults(), measure.Options{}, serving.Run},
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	// After the first signal, the second one ends the program at once.
	context.AfterFunc(ctx, stop)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	var b benchmark
	if len(args) > 0 {
		b = benchmarks[args[0]]
	}
	if b.run == nil {
		return fmt.Errorf("the first argument must be one of %q", measure.SortedKeys(benchmarks))
	}
	options, err := measure.Parse(b.name, args[1:], b.full, b.quick)
	if err != nil {
		return err
	}
	options.Progress = os.Stderr
	report, err := b.run(ctx, options)
	if report.Common().Begin.IsZero() {
		return err
	}
	if failed := measure.Write(report, options.Out); failed != nil {
		return errors.Join(err, failed)
	}
	fmt.Fprintf(os.Stderr, "the report is in %s\n", filepath.Join(options.Out, "report.md"))
	for _, missed := range report.Missed() {
		fmt.Fprintln(os.Stderr, missed)
	}
	return err
}
