// Package agent runs in the pod of a Website besides nginx. It fetches the repository, makes releases of its commits in
// a directory that nginx serves, and answers the controller. A pure function decides on the next actions after each
// event. No failure of git, and no damage to its repository, affects the served release.
package agent

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"sync"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/kubesites/website-apiserver/pkg/agent/access"
	"github.com/kubesites/website-apiserver/pkg/agent/git"
	"github.com/kubesites/website-apiserver/pkg/agent/release"
	"github.com/kubesites/website-apiserver/pkg/agent/traffic"
)

// PodUIDVariable is the environment variable with the UID of the pod.
const PodUIDVariable = "WEBSITE_POD_UID"

// Config configures an Agent.
type Config struct {
	// Git is the repository.
	Git git.Options
	// Ref is the reference to publish: HEAD, a full name, or a commit.
	Ref string
	// Period is the interval of fetches. With 0, the repository is fetched until that has succeeded once, and on
	// request.
	Period time.Duration
	// Releases has the releases to serve.
	Releases *release.Store
	// ConfigDir is the directory with the files of website-controller, which change while the agent runs: the public
	// keys of requests, the commit to serve, and the patterns of branches to report.
	ConfigDir string
	// Access has nginx admit the users of a Secret only; nil if everyone may read the site.
	Access *access.Keeper
	// Traffic has the metrics of requests to nginx; nil if they are not counted.
	Traffic *traffic.Counter
	// PodUID is the UID of the pod, for which requests are signed.
	PodUID string
	// TerminationLog is where the kubelet reads why a container has ended, if it exists.
	TerminationLog string
	// MaxHold is the time for which a release is held for other replicas. The default is three seconds.
	MaxHold time.Duration
	// Clock is the clock of all intervals.
	Clock clock.WithTicker
}

// branchesSuffix is added to git's directory for the repository that lists branches.
const branchesSuffix = ".branches"

// spread is the largest relative difference of a pod's period from the one of the Website, in both directions. So pods
// that started together do not fetch together for ever.
const spread = 0.1

// Spread changes the period by a random amount, with a number from 0 to 1.
func (c *Config) Spread(random float64) {
	c.Period = time.Duration(float64(c.Period) * (1 - spread + 2*spread*random)).Round(time.Millisecond)
}

// repository has the methods of a git.Repository that the agent calls.
type repository interface {
	Fetch(ctx context.Context, ref string) (*git.Tree, error)
	Checkout(ctx context.Context, tree *git.Tree) error
	Message(ctx context.Context, tree *git.Tree) (author, subject string, err error)
	Earlier(ctx context.Context, tree *git.Tree, count int, match func(name string) bool,
		use func(dir string) error) error
	Compact(ctx context.Context) error
	Check(ctx context.Context) error
	Branches(ctx context.Context, match func(branch string) bool) (git.Branches, error)
	Worktree() string
}

// Agent publishes a repository.
type Agent struct {
	Config

	// repository is fetched, and branches lists branches: it does not wait for a fetch.
	repository, branches repository
	// tree is the last fetched tree. Only the current job uses it.
	tree *git.Tree
	// cancelJob ends the current job.
	cancelJob context.CancelFunc

	events chan posted
	// ended is closed when the loop has ended.
	ended chan struct{}
	// actions are the goroutines that Run awaits.
	actions  sync.WaitGroup
	refusals *refusals
	// waiting has the requests that wait, of those with and of those without a signature.
	waiting map[bool]chan struct{}

	// mu guards the state, which only the loop replaces, and its revision.
	mu       sync.Mutex
	state    state
	revision revision
	// changed is closed when the revision changes.
	changed chan struct{}
}

// New returns an agent that does nothing before Run. It returns an error for the address of a repository that git must
// not read.
func New(config Config) (*Agent, error) {
	repository, err := git.Open(config.Git)
	if err != nil {
		return nil, err
	}
	listOptions := config.Git
	listOptions.Dir += branchesSuffix
	branches, err := git.Open(listOptions)
	if err != nil {
		return nil, err
	}
	a := newAgent(config)
	a.repository, a.branches = repository, branches
	return a, nil
}

func newAgent(config Config) *Agent {
	if config.MaxHold == 0 {
		config.MaxHold = maxHold
	}
	return &Agent{
		Config: config, events: make(chan posted), ended: make(chan struct{}), changed: make(chan struct{}),
		refusals: newRefusals(),
		waiting:  map[bool]chan struct{}{true: make(chan struct{}, maxWaiting), false: make(chan struct{}, maxWaiting)},
		revision: revision{since: config.Clock.Now().UnixNano()},
		state:    state{ref: config.Ref, period: config.Period, maxHold: config.MaxHold},
	}
}

// Run publishes the repository until ctx ends.
func (a *Agent) Run(ctx context.Context) error {
	if err := a.repository.Check(ctx); err != nil {
		return err
	}
	for _, dir := range []string{a.Git.Dir, a.Git.Dir + branchesSuffix} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	if err := a.Releases.Open(); err != nil {
		return err
	}
	events, err := a.load(ctx)
	if err != nil {
		return err
	}
	a.actions.Go(func() { a.watchFiles(ctx) })
	a.loop(ctx, events)
	a.actions.Wait()
	if err := a.explainEnd(); err != nil {
		klog.FromContext(ctx).Error(err, "Failed to report the use of the volume")
	}
	return nil
}

// explainEnd reports a full volume in the status of the pod, since the kubelet does not if it evicts a pod whose
// containers then end without an error.
func (a *Agent) explainEnd() error {
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
	_, err = log.WriteString(string(git.ReasonStorageFull))
	return errors.Join(err, log.Close())
}
