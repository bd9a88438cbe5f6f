// Command growth measures website-apiserver with growing numbers of Websites, on simulated
// nodes. "make bench-growth" runs it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/kubesites/website-apiserver/test/bench/growth"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	// After the first signal, the second one ends the program at once.
	context.AfterFunc(ctx, stop)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench-growth:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	options := growth.Defaults()
	options.Progress = os.Stderr
	flag.Var(&options.Sizes, "sizes", "The numbers of Websites at which all is measured, in ascending order")
	flag.IntVar(&options.PerNamespace, "per-namespace", options.PerNamespace, "The number of Websites in each namespace")
	flag.IntVar(&options.Clients, "clients", options.Clients, "The number of concurrent clients that create Websites")
	flag.IntVar(&options.Changes, "changes", options.Changes, "The number of changes whose events are measured")
	flag.IntVar(&options.Lists, "lists", options.Lists, "The number of lists")
	out := flag.String("out", "_artifacts/bench-growth", "The directory of the report")
	flag.Parse()
	report, err := growth.Run(ctx, options)
	if report == nil {
		return err
	}
	markdown, failed := report.Write(*out)
	if failed != nil {
		return errors.Join(err, failed)
	}
	fmt.Print(markdown)
	if report.Failure != "" {
		err = errors.Join(errors.New(report.Failure), err)
	}
	return err
}
