// Command website-agent runs in the pods of Websites, as the parent of git-sync. It is
// copied into a pod by its own image, so it needs nothing of the image that it runs in but
// git-sync and git.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/kubesites/website-apiserver/pkg/agent"
	"github.com/kubesites/website-apiserver/pkg/agent/access"
	"github.com/kubesites/website-apiserver/pkg/agent/gitsync"
	"github.com/kubesites/website-apiserver/pkg/agent/release"
	"github.com/kubesites/website-apiserver/pkg/version"
)

const usage = `website-agent publishes what git-sync fetches. It runs in the pods of Websites.

Usage:
  website-agent install PATH
  website-agent run [flags] -- GIT-SYNC [flags of git-sync]
  website-agent version

Flags of run:
`

// terminationLog is the default terminationMessagePath of containers.
const terminationLog = "/dev/termination-log"

func main() {
	if err := command(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "website-agent:", err)
		os.Exit(1)
	}
}

func command(args []string) error {
	name := ""
	if len(args) > 0 {
		name, args = args[0], args[1:]
	}
	switch {
	case name == "install" && len(args) == 1:
		return agent.Install(args[0])
	case name == "run":
		return run(args)
	case name == "version":
		fmt.Println(version.String())
		return nil
	default:
		return errors.New("use: website-agent install PATH, or: website-agent run --help")
	}
}

// options are the flags of run.
type options struct {
	listen, statusListen string
	metricsURL           string
	link                 string
	config               string
	access               access.Keeper
	supervisor           gitsync.Supervisor
	store                release.Store
}

func parse(args []string) (*options, error) {
	o := &options{}
	flags := flag.NewFlagSet("website-agent run", flag.ContinueOnError)
	flags.Usage = func() {
		fmt.Fprint(flags.Output(), usage)
		flags.PrintDefaults()
	}
	flags.StringVar(&o.supervisor.Root, "root", "", "the --root of git-sync")
	flags.StringVar(&o.link, "link", "current", "the --link of git-sync")
	flags.StringVar(&o.config, "config", "", "the directory with the files of website-controller: the public keys of requests, and the commit to serve")
	flags.StringVar(&o.supervisor.ErrorFile, "error-file", "", "the --error-file of git-sync, an absolute path")
	flags.DurationVar(&o.supervisor.Period, "period", time.Minute, "the --period of git-sync; 0: git-sync does not poll, and its --period is so long that it never ends")
	flags.DurationVar(&o.supervisor.Timeout, "sync-timeout", 2*time.Minute, "the --sync-timeout of git-sync")
	flags.StringVar(&o.supervisor.UsernameFile, "username-file", "", "a file with the --username of git-sync, which is restarted when that changes")
	flags.StringVar(&o.store.Dir, "releases", "", "the directory to serve, in the same mount as --root")
	flags.StringVar(&o.store.Volume, "volume", "", "the directory whose content counts towards --disk-budget")
	flags.Int64Var(&o.store.Budget, "disk-budget", 0, "the size of --volume in bytes above which releases are removed, the oldest first; 0: unlimited")
	flags.IntVar(&o.store.Keep, "keep", 5, "the number of releases to keep")
	flags.StringVar(&o.store.Published, "path", "", "the directory of the repository that is to be published; a commit without it is not")
	flags.StringVar(&o.access.SecretDir, "access-secret", "", "the directory with the keys of the Secret whose users may read the site, all others being rejected")
	flags.StringVar(&o.access.File, "access-file", "", "the file of these users that nginx reads; required with --access-secret")
	flags.StringVar(&o.listen, "listen", "", "the address to serve /metrics at")
	flags.StringVar(&o.statusListen, "status-listen", "", "the address to serve /metrics and /status at, for other containers of the pod")
	flags.StringVar(&o.metricsURL, "git-sync-metrics", "", "the URL of the metrics of git-sync")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	o.supervisor.Command = flags.Args()
	if o.supervisor.Root == "" || o.store.Dir == "" || o.supervisor.ErrorFile == "" || len(o.supervisor.Command) == 0 {
		return nil, errors.New("--root, --releases, --error-file and the command of git-sync are required")
	}
	if (o.access.SecretDir == "") != (o.access.File == "") {
		return nil, errors.New("--access-secret and --access-file must be set together")
	}
	return o, nil
}

func run(args []string) error {
	o, err := parse(args)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	if err := gitsync.Adopt(); err != nil {
		return err
	}
	if o.supervisor.MemoryLimit, err = gitsync.MemoryLimit("/sys/fs/cgroup/memory.max"); err != nil {
		klog.FromContext(ctx).Error(err, "Failed to find how much memory git may have, so it is not limited, and may end this container")
	}
	o.store.Started = o.supervisor.LimitMemory
	o.supervisor.MaxFiles = o.store.MaxFiles()
	o.supervisor.Clock = clock.RealClock{}
	o.supervisor.Spread(rand.Float64())
	config := agent.Config{
		GitSync: &o.supervisor, Releases: &o.store, Link: o.link, TerminationLog: terminationLog, Clock: clock.RealClock{},
		ConfigDir: o.config, PodUID: os.Getenv(agent.PodUIDVariable),
	}
	if o.access.File != "" {
		config.Access = &o.access
	}
	a := agent.New(config)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var running sync.WaitGroup
	errs := make(chan error, 3)
	start := func(function func() error) {
		running.Go(func() {
			// Whatever ends, ends the others.
			defer cancel()
			errs <- function()
		})
	}
	for address, handler := range map[string]http.Handler{o.listen: a.MetricsHandler(o.metricsURL), o.statusListen: a.Handler(o.metricsURL)} {
		if address != "" {
			start(func() error { return agent.Serve(ctx, address, handler) })
		}
	}
	running.Go(func() { passSignals(ctx, &o.supervisor) })
	start(func() error { return a.Run(ctx) })
	running.Wait()
	close(errs)
	var failed []error
	for err := range errs {
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}

// passSignals passes on the signal for which git-sync syncs at once.
func passSignals(ctx context.Context, supervisor *gitsync.Supervisor) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGHUP)
	defer signal.Stop(signals)
	for {
		select {
		case <-ctx.Done():
			return
		case <-signals:
			if _, err := supervisor.SyncNow(); err != nil {
				klog.FromContext(ctx).Error(err, "Failed to have git-sync sync at once")
			}
		}
	}
}
