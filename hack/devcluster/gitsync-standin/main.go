// Command gitsync-standin is a STAND-IN for git-sync v4 in development clusters without an
// image registry. It is not part of the product.
//
// It supports only the flags of git-sync that website-controller sets. Like git-sync, it
// publishes a repository by a link, <root>/<link>, to .worktrees/<commit>, which it replaces
// atomically; it removes earlier worktrees after --stale-worktree-timeout, and fetches a full
// commit hash only once.
//
// What git-sync v4.7.1 does badly it does as well, so that tests meet it: it kills git alone
// when a sync is over its time, and waits for the children of git; it removes its whole root
// if that has a shallow.lock or fails git fsck, and the published worktree if that fails it;
// a tmp-link that is left behind keeps it from publishing; on a commit hash it sleeps for
// ever; SIGTERM ends it at once, with git still running.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

const notice = "gitsync-standin is a STAND-IN for git-sync v4 in development clusters; it is not git-sync"

// options are the flags.
type options struct {
	repo, ref, root, link string
	period, syncTimeout   time.Duration
	initPeriod            time.Duration
	staleTimeout          time.Duration
	errorFile             string
	syncOnSignal          string
	syncSignal            syscall.Signal
	maxFailures, depth    int
	submodules            string
	username              string
	passwordFile          string
	sshKeyFiles           []string
	sshKnownHosts         bool
	sshKnownHostsFile     string
	httpBind              string
	httpMetrics           bool
	oneTime               bool
}

func parse(args []string, out io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("gitsync-standin", flag.ContinueOnError)
	flags.SetOutput(out)
	flags.Usage = func() {
		_, _ = fmt.Fprintf(out, "%s.\n\nflags, as those of git-sync:\n", notice)
		flags.PrintDefaults()
	}
	flags.StringVar(&o.repo, "repo", "", "the git repository to publish")
	flags.StringVar(&o.ref, "ref", "HEAD", "the branch, tag or full commit hash to publish")
	flags.StringVar(&o.root, "root", "", "the directory to work in, which is created")
	flags.StringVar(&o.link, "link", "", "the name of the link in the root to the published worktree (default: the last part of --repo)")
	flags.DurationVar(&o.period, "period", 10*time.Second, "the time between syncs")
	flags.DurationVar(&o.initPeriod, "init-period", 0, "the time between syncs until the first that succeeds (default: that of --period)")
	flags.StringVar(&o.errorFile, "error-file", "", "the file for the last error, removed after a sync without; relative to --root")
	flags.StringVar(&o.syncOnSignal, "sync-on-signal", "", "the signal that begins a sync, such as SIGHUP")
	flags.DurationVar(&o.syncTimeout, "sync-timeout", 120*time.Second, "the time limit of a sync")
	flags.IntVar(&o.maxFailures, "max-failures", 0, "the number of consecutive failed syncs after which to exit; -1: unlimited")
	flags.DurationVar(&o.staleTimeout, "stale-worktree-timeout", 0, "the time after which to remove worktrees that are no longer published")
	flags.IntVar(&o.depth, "depth", 1, "the number of commits to fetch; 0: all")
	flags.StringVar(&o.submodules, "submodules", "recursive", "submodules to fetch: recursive, shallow or off")
	flags.StringVar(&o.username, "username", os.Getenv("GITSYNC_USERNAME"), "the user for the repository")
	flags.StringVar(&o.passwordFile, "password-file", "", "the file with the password for the repository")
	flags.Func("ssh-key-file", "a file with a key for repositories over ssh; may be repeated (default: /etc/git-secret/ssh)", func(file string) error {
		o.sshKeyFiles = append(o.sshKeyFiles, file)
		return nil
	})
	flags.BoolVar(&o.sshKnownHosts, "ssh-known-hosts", true, "verify the host of a repository over ssh")
	flags.StringVar(&o.sshKnownHostsFile, "ssh-known-hosts-file", "/etc/git-secret/known_hosts", "the file with the hosts' keys")
	flags.StringVar(&o.httpBind, "http-bind", "", "the address to serve / (ready or not) at; empty: none")
	flags.BoolVar(&o.oneTime, "one-time", false, "exit after the first sync that succeeds")
	flags.BoolVar(&o.httpMetrics, "http-metrics", false, "also serve /metrics")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q: git-sync takes flags only", flags.Arg(0))
	}
	return o, o.complete()
}

func main() {
	o, err := parse(os.Args[1:], os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return
	case err != nil:
		fmt.Fprintln(os.Stderr, "gitsync-standin:", err)
		os.Exit(2)
	}
	go endOnSignal()
	if err := run(context.Background(), o, os.Stderr); err != nil {
		os.Exit(1)
	}
}

// endOnSignal ends the process at once, whatever git is doing: as the first process of a
// container it would not end by itself.
func endOnSignal() {
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM, os.Interrupt)
	<-ended
	os.Exit(128 + int(syscall.SIGTERM))
}

// run syncs until ctx ends, or until more syncs than allowed have failed in a row.
func run(ctx context.Context, o options, out io.Writer) error {
	s := syncerOf(o, out)
	s.log.info(notice, "repo", o.repo, "ref", o.ref, "pid", os.Getpid())
	closeServer, err := serve(ctx, o, s.counts)
	if err != nil {
		s.log.error(err, "can't bind HTTP endpoint")
		return err
	}
	defer closeServer()
	wake := make(chan os.Signal, 1)
	if o.syncSignal != 0 {
		signal.Notify(wake, o.syncSignal)
		defer signal.Stop(wake)
	}
	failures, wait := 0, o.initPeriod
	for {
		begin := time.Now()
		changed, err := s.sync(ctx)
		if ctx.Err() != nil {
			return nil
		}
		s.counts.note(changed, err, time.Since(begin))
		if err != nil {
			failures++
			if o.maxFailures >= 0 && failures >= o.maxFailures {
				s.log.error(err, "too many failures, aborting", "failCount", failures)
				return fmt.Errorf("%d syncs failed in a row, --max-failures=%d: %w", failures, o.maxFailures, err)
			}
			s.log.error(err, "error syncing repo, will retry", "failCount", failures)
		} else {
			failures, wait = 0, o.period
			s.log.succeeded()
			if o.oneTime {
				s.log.info("exiting after one sync", "status", 0)
				return nil
			}
			if s.hash == o.ref {
				s.log.info("ref appears to be a git hash, no further sync needed", "ref", o.ref)
				<-ctx.Done()
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-wake:
		case <-time.After(wait):
		}
	}
}

func syncerOf(o options, out io.Writer) *syncer {
	return &syncer{options: o, counts: &counts{}, log: &logger{out: out, errorFile: o.errorFile}}
}
