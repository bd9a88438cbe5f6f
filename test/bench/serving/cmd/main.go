// Command serving measures how fast the pods of Websites serve pages, beside a plain nginx,
// on a real node. "make bench-serving" runs it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/kubesites/website-apiserver/test/bench/serving"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	// After the first signal, the second one ends the program at once.
	context.AfterFunc(ctx, stop)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench-serving:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	options := serving.Options{Progress: os.Stderr}
	flag.IntVar(&options.Rounds, "rounds", 5, "The number of rounds")
	flag.DurationVar(&options.Duration, "duration", 10*time.Second, "How long each request is repeated in each round")
	flag.IntVar(&options.Connections, "connections", 32, "The number of connections")
	out := flag.String("out", "_artifacts/bench-serving", "The directory of the report")
	flag.Parse()
	report, err := serving.Run(ctx, options)
	if report == nil {
		return err
	}
	markdown, failed := report.Write(*out)
	if failed != nil {
		return errors.Join(err, failed)
	}
	fmt.Print(markdown)
	return err
}
