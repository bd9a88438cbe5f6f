// Command website-agent runs in the pods of Websites. Its own image copies it into a pod, and it requires only git,
// ssh, a shell, and the certificates of public CAs in the image that it runs in.
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
	"runtime"
	"runtime/debug"
	"sync"
	"syscall"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/kubesites/website-apiserver/pkg/agent"
	"github.com/kubesites/website-apiserver/pkg/agent/access"
	"github.com/kubesites/website-apiserver/pkg/agent/git"
	"github.com/kubesites/website-apiserver/pkg/agent/release"
	"github.com/kubesites/website-apiserver/pkg/agent/traffic"
	"github.com/kubesites/website-apiserver/pkg/version"
)

const usage = `website-agent publishes a git repository. It runs in the pods of Websites.

Usage:
  website-agent install PATH [ACCESS-LOG]
  website-agent run [flags]
  website-agent version

Flags of run:
`

const (
	// terminationLog is the default terminationMessagePath of containers.
	terminationLog = "/dev/termination-log"
	// memoryFile contains the memory limit of the container.
	memoryFile = "/sys/fs/cgroup/memory.max"
)

func init() {
	// Of all that the agent does, git does most, in processes of its own. So its memory matters more than its speed: one
	// thread for Go code has one set of caches, on a node with any number of CPUs, and garbage is collected early.
	runtime.GOMAXPROCS(1)
	debug.SetGCPercent(25)
}

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
	case name == "install" && len(args) == 2:
		return errors.Join(agent.Install(args[0]), traffic.Create(args[1]))
	case name == "run":
		return run(args)
	case name == "version":
		fmt.Println(version.String())
		return nil
	default:
		return errors.New("use: website-agent install PATH [ACCESS-LOG], or: website-agent run --help")
	}
}

// options are the flags of run.
type options struct {
	agent.Config
	listen, statusListen string
	accessLog            string
	access               access.Keeper
	store                release.Store
}

func parse(args []string) (*options, error) {
	o := &options{Config: agent.Config{
		TerminationLog: terminationLog, PodUID: os.Getenv(agent.PodUIDVariable), Clock: clock.RealClock{},
	}}
	o.Releases = &o.store
	flags := flag.NewFlagSet("website-agent run", flag.ContinueOnError)
	flags.Usage = func() {
		fmt.Fprint(flags.Output(), usage)
		flags.PrintDefaults()
	}
	repository := &o.Git
	flags.StringVar(&repository.URL, "repository", "",
		"the http, https or ssh `address` of the repository, or user@host:path")
	flags.StringVar(&o.Ref, "ref", "HEAD", "published revision: HEAD, a reference by its full name, or a commit")
	flags.StringVar(&o.store.Published, "path", "",
		"the directory of the repository that is published; a commit without it is not")
	submodules := flags.String("submodules", string(git.SubmodulesNone),
		"fetched submodules: None, Shallow (the repository's own) or Recursive")
	flags.StringVar(&o.store.Index, "index", "",
		"the `name` of the file that is served for a directory; a published directory without it is reported")
	flags.StringVar(&repository.Revision, "revision", "",
		"the `name` of the configuration of nginx, which is part of each ETag")
	flags.DurationVar(&o.Period, "period", time.Minute,
		"the interval of fetches, of which a pod's differs by up to 10 %; 0: fetch until that has succeeded "+
			"once, and on request")
	flags.DurationVar(&repository.Timeout, "timeout", 2*time.Minute, "the time limit of a fetch, and of a checkout")
	credentials := &repository.Credentials
	flags.StringVar(&credentials.UsernameFile, "username-file", "",
		"a `file` with the user name for an https repository, read for each fetch, as are the following")
	flags.StringVar(&credentials.PasswordFile, "password-file", "", "a `file` with the password")
	flags.StringVar(&credentials.KeyFile, "ssh-key-file", "", "a `file` with the private key for an ssh repository")
	flags.StringVar(&credentials.KnownHostsFile, "ssh-known-hosts-file", "",
		"a `file` with the public keys of the host, which ssh requires")
	scope := flags.String("credential-scope", "Repository",
		"scope of the password: Repository, or Host for submodules of the same host too")
	flags.StringVar(&repository.CAFile, "ca-file", "", "a `file` with CA certificates in the place of the public ones")
	flags.StringVar(&repository.Proxy.HTTPS, "https-proxy", "", "the `URL` of the proxy for https repositories")
	flags.StringVar(&repository.Proxy.HTTP, "http-proxy", "", "the `URL` of the proxy for http repositories")
	flags.StringVar(&repository.Proxy.None, "no-proxy", "", "the `hosts` that are reached without, separated by commas")
	flags.StringVar(&repository.Dir, "root", "", "the `directory` for git, in the same mount as --releases")
	flags.StringVar(&o.store.Dir, "releases", "", "the `directory` to serve")
	flags.StringVar(&o.store.Volume, "volume", "", "the `directory` whose content counts towards --disk-budget")
	flags.Int64Var(&o.store.Budget, "disk-budget", 0,
		"the size of --volume in `bytes` above which releases are removed, the oldest first, and larger "+
			"commits refused; 0: unlimited")
	flags.IntVar(&o.store.Keep, "keep", 5, "the number of releases to keep")
	flags.StringVar(&o.ConfigDir, "config", "",
		"the `directory` with the files of website-controller: the public keys of requests, and the commit to "+
			"serve")
	flags.StringVar(&o.access.SecretDir, "access-secret", "",
		"the `directory` with the keys of the Secret whose users may read the site, all others being rejected")
	flags.StringVar(&o.access.File, "access-file", "",
		"the `file` of these users that nginx reads; required with --access-secret")
	flags.StringVar(&o.accessLog, "access-log", "",
		"the `file` in which nginx logs requests for the metrics; if empty, requests are not counted")
	flags.StringVar(&o.listen, "listen", "", "the `address` to serve /metrics at")
	flags.StringVar(&o.statusListen, "status-listen", "",
		"the `address` to serve /metrics and /status at, for other containers of the pod")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	switch {
	case flags.NArg() > 0:
		return nil, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case repository.URL == "" || repository.Dir == "" || o.store.Dir == "":
		return nil, errors.New("--repository, --root and --releases are required")
	case (o.access.SecretDir == "") != (o.access.File == ""):
		return nil, errors.New("--access-secret and --access-file must be set together")
	}
	repository.Path, repository.Submodules = o.store.Published, git.SubmodulePolicy(*submodules)
	credentials.WholeHost = *scope == "Host"
	if o.access.File != "" {
		o.Access = &o.access
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
	if o.Git.Memory, err = agent.MemoryLimit(memoryFile); err != nil {
		klog.FromContext(ctx).Error(err,
			"Failed to find how much memory git may have, so it is not limited, and may end this container")
	}
	if o.store.Budget > 0 {
		o.Git.Room, o.Git.MaxFiles = o.store.Room, o.store.MaxFiles()
	}
	o.Spread(rand.Float64())
	if o.accessLog != "" {
		// The site is more than its metrics.
		if o.Traffic, err = traffic.Open(o.accessLog); err != nil {
			klog.FromContext(ctx).Error(err, "Failed to count requests, so their metrics are missing")
		}
	}
	a, err := agent.New(o.Config)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var running sync.WaitGroup
	errs := make(chan error, 4)
	start := func(function func() error) {
		running.Go(func() {
			// The first component that ends stops the others.
			defer cancel()
			errs <- function()
		})
	}
	for address, handler := range map[string]http.Handler{o.listen: a.MetricsHandler(), o.statusListen: a.Handler()} {
		if address != "" {
			start(func() error { return agent.Serve(ctx, address, handler) })
		}
	}
	if o.Traffic != nil {
		start(func() error { return o.Traffic.Run(ctx) })
	}
	start(func() error { return a.Run(ctx) })
	running.Wait()
	close(errs)
	var failed []error
	for err := range errs {
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}
