// Command gitsync-standin is a STAND-IN for git-sync v4, for development clusters that
// cannot reach a registry of images. It is no part of the product and not meant for
// anything else.
//
// It takes the flags of git-sync that website-controller passes, and refuses all others.
// It publishes a repository the way git-sync does: <root>/<link> points to
// .worktrees/<commit> and is replaced in one step; earlier worktrees stay for
// --stale-worktree-timeout; a full commit hash is fetched once and never again.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
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
	staleTimeout          time.Duration
	maxFailures, depth    int
	submodules            string
	oneTime               bool
	username              string
	passwordFile          string
	sshKeyFiles           []string
	sshKnownHosts         bool
	sshKnownHostsFile     string
	httpBind              string
	httpMetrics           bool
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
	flags.StringVar(&o.root, "root", "", "the folder to work in, which is created")
	flags.StringVar(&o.link, "link", "", "the name of the link in the root to the published worktree (default: the last part of --repo)")
	flags.DurationVar(&o.period, "period", 10*time.Second, "how long to wait between syncs")
	flags.DurationVar(&o.syncTimeout, "sync-timeout", 120*time.Second, "how long one sync may take")
	flags.IntVar(&o.maxFailures, "max-failures", 0, "the number of consecutive syncs that fail which ends the program, at least one; -1: none does")
	flags.DurationVar(&o.staleTimeout, "stale-worktree-timeout", 0, "how long worktrees stay that are no longer published")
	flags.IntVar(&o.depth, "depth", 1, "how many commits to fetch; 0: all")
	flags.StringVar(&o.submodules, "submodules", "recursive", "submodules to fetch: recursive, shallow or off")
	flags.BoolVar(&o.oneTime, "one-time", false, "end after the first sync")
	flags.StringVar(&o.username, "username", "", "the user for the repository")
	flags.StringVar(&o.passwordFile, "password-file", "", "the file with the password for the repository")
	flags.Func("ssh-key-file", "a file with a key for repositories over ssh; may be repeated (default: /etc/git-secret/ssh)", func(file string) error {
		o.sshKeyFiles = append(o.sshKeyFiles, file)
		return nil
	})
	flags.BoolVar(&o.sshKnownHosts, "ssh-known-hosts", true, "verify the host of a repository over ssh")
	flags.StringVar(&o.sshKnownHostsFile, "ssh-known-hosts-file", "/etc/git-secret/known_hosts", "the file with the hosts' keys")
	flags.StringVar(&o.httpBind, "http-bind", "", "the address to serve / (ready or not) at; empty: none")
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
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	o, err := parse(os.Args[1:], os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return
	case err != nil:
		fmt.Fprintln(os.Stderr, "gitsync-standin:", err)
		os.Exit(2)
	}
	slog.Info(notice, "repo", o.repo, "ref", o.ref)
	if err := run(ctx, o); err != nil {
		slog.Error("ending", "error", err)
		os.Exit(1)
	}
}

// run syncs until ctx ends, or until more syncs than allowed have failed in a row.
func run(ctx context.Context, o options) error {
	s := &syncer{options: o, counts: &counts{}}
	closeServer, err := serve(ctx, o, s.counts)
	if err != nil {
		return err
	}
	defer closeServer()
	failures := 0
	for {
		begin := time.Now()
		changed, err := s.sync(ctx)
		if ctx.Err() != nil {
			slog.Info("told to end")
			return nil
		}
		s.counts.note(changed, err, time.Since(begin))
		switch {
		case err == nil:
			failures = 0
			if o.oneTime {
				return nil
			}
		default:
			failures++
			slog.Error("sync failed", "error", err, "failures", failures)
			if o.maxFailures >= 0 && failures >= o.maxFailures {
				return fmt.Errorf("%d syncs failed in a row, --max-failures=%d: %w", failures, o.maxFailures, err)
			}
		}
		select {
		case <-ctx.Done():
			slog.Info("told to end")
			return nil
		case <-time.After(o.period):
		}
	}
}
