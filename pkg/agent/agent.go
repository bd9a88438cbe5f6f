// Package agent is what runs in the pod of a Website as the parent of git-sync. git-sync
// fetches into a directory of its own; the agent makes releases of what it fetched, in a
// directory that is served, so that nothing that happens to git-sync or to git takes away
// what is published.
package agent

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/kubesites/website-apiserver/pkg/agent/access"
	"github.com/kubesites/website-apiserver/pkg/agent/gitsync"
	"github.com/kubesites/website-apiserver/pkg/agent/release"
)

// checkInterval is how often the processes and the error of git-sync are checked, and the
// Secret of the users.
const checkInterval = time.Second

// PodUIDVariable is the environment variable with the UID of the pod.
const PodUIDVariable = "WEBSITE_POD_UID"

// Config is what an Agent works with.
type Config struct {
	// GitSync is the child.
	GitSync *gitsync.Supervisor
	// Link is the link to the published worktree that git-sync makes in its root.
	Link string
	// Releases is what is served.
	Releases *release.Store
	// ConfigDir is the directory with the files of website-controller, which change while the
	// agent runs: the public keys of requests, the commit to serve, and the patterns of branches
	// to report.
	ConfigDir string
	// Access has nginx admit the users of a Secret only; nil if everyone may read the site.
	Access *access.Keeper
	// PodUID is the UID of the pod, for which requests are signed.
	PodUID string
	// TerminationLog is where the kubelet reads why a container has ended, if it exists.
	TerminationLog string
	// MaxHold is how long a release is held for other replicas. The default is three seconds.
	MaxHold time.Duration
	// Clock is the clock of all intervals.
	Clock clock.WithTicker
}

// Agent publishes what git-sync fetches.
type Agent struct {
	Config

	// failed is the commit whose release could not be made, and when that was. It is tried
	// again after failedBackoff, or when that is asked for.
	failed        string
	failedAt      time.Time
	failedBackoff time.Duration
	// refused is the last commit if it lacks the published path. It is not tried again.
	refused string

	// counted is the commit whose LFS pointers are counted.
	counted string
	// unserved is a release that was made while another commit is pinned.
	unserved string
	// dropped is the last commit if there was no room for its release next to the pinned one.
	dropped string
	// fetch is that of a pinned commit which is not on the disk.
	fetch pinFetch
	// listed is the last listing of branches.
	listed listing
	// peeled is the commit of a hash that was fetched.
	peeled struct{ hash, commit string }

	refusals *refusals
	// wake has what is to be done next begin at once.
	wake chan struct{}
	// background are the goroutines that Run awaits.
	background sync.WaitGroup

	mu     sync.Mutex
	status Status
	// syncing is the request to fetch that is worked on, and pin what is to be served.
	syncing syncing
	pin     pinning
	// retries is true once what is served, or a fetch, was asked for after a release could not be made.
	retries bool
	// pathNotFoundSince is when the last commit was found to lack the published path, or zero.
	pathNotFoundSince time.Time
	// unpublished is why what was fetched could not be published, or nil.
	unpublished *Failure
	// contact is the last fetch of which nothing is left to be published, and source the
	// hash that was fetched for the release that is served. For an annotated tag that is
	// not its commit.
	contact time.Time
	source  string
	// waiting are the requests that wait for something new.
	waiting waiting
	// expects is true while another replica has a commit for which git-sync is to sync. asks
	// limits how often it is signalled for that, and syncs how often for requests to sync,
	// which do not wait for the former.
	expects     bool
	asks, syncs *rate.Limiter
}

// New returns an agent that does nothing before Run.
func New(config Config) *Agent {
	if config.MaxHold == 0 {
		config.MaxHold = maxHold
	}
	return &Agent{
		Config: config, asks: newAskLimiter(), syncs: newAskLimiter(),
		refusals: newRefusals(), wake: make(chan struct{}, 1),
		waiting: waiting{since: config.Clock.Now().UnixNano(), changed: make(chan struct{})},
	}
}

// Run runs git-sync and publishes what it fetches, until ctx ends.
func (a *Agent) Run(ctx context.Context) error {
	// Before there is anything to serve.
	a.checkAccess(ctx)
	if err := a.Releases.Open(); err != nil {
		return err
	}
	if err := a.refresh(); err != nil {
		return err
	}
	if err := a.loadPin(); err != nil {
		klog.FromContext(ctx).Error(err, "Failed to restore what was to be served before")
	}
	a.readPin(ctx)
	defer a.background.Wait()
	a.background.Go(func() { a.GitSync.Run(ctx) })
	a.background.Go(func() { a.every(ctx, checkInterval, a.check) })
	// On its own: a server can take its time.
	a.background.Go(func() { a.every(ctx, checkInterval, a.listBranches) })
	a.followAlways(ctx)
	if err := a.sayWhyEnded(); err != nil {
		klog.FromContext(ctx).Error(err, "Failed to report the use of the volume")
	}
	return nil
}

// sayWhyEnded reports a full volume in the status of the pod, since the kubelet does not if
// it evicts a pod whose containers then end without an error.
func (a *Agent) sayWhyEnded() error {
	full, err := a.Releases.Full()
	if err != nil || !full {
		return err
	}
	log, err := os.OpenFile(a.TerminationLog, os.O_WRONLY|os.O_TRUNC, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = log.WriteString(string(gitsync.ReasonStorageFull))
	return errors.Join(err, log.Close())
}

// every calls a function at intervals until ctx ends.
func (a *Agent) every(ctx context.Context, interval time.Duration, function func(context.Context)) {
	ticker := a.Clock.NewTicker(interval)
	defer ticker.Stop()
	for {
		function(ctx)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
		}
	}
}

// check looks at the processes and the error of git-sync, and at the files that change while
// the agent runs.
func (a *Agent) check(ctx context.Context) {
	a.GitSync.Check(ctx)
	a.checkAccess(ctx)
	a.readPin(ctx)
	a.readFailure(ctx)
}

// readFailure takes in why git-sync fails.
func (a *Agent) readFailure(ctx context.Context) {
	failed, err := a.GitSync.LastError()
	if errors.Is(err, gitsync.ErrRemark) {
		return
	}
	if err != nil {
		klog.FromContext(ctx).Error(err, "Failed to read why git-sync fails")
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	before := a.status.Failure
	a.status.Failure = before.next(failed.Reason, failed.At, failed.Text)
	if after := a.status.Failure; before != after && (a.status.Commit != "" || after == nil || after.Count <= 2) {
		// Of a first sync that fails every few seconds there is nothing new to say.
		a.changed()
	}
}
