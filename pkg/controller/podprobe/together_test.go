package podprobe

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	"github.com/kubesites/website-apiserver/pkg/agent"
	"github.com/kubesites/website-apiserver/pkg/agent/gitsync"
	"github.com/kubesites/website-apiserver/pkg/agent/release"
	"github.com/kubesites/website-apiserver/pkg/agent/requests"
)

const (
	// testTimeout is generous: tests share the machine.
	testTimeout = 2 * time.Minute
	longTime    = time.Hour
)

// gitSyncScript syncs at its start and on SIGHUP, and publishes as git-sync does.
const gitSyncScript = `cd "$0" || exit
trap : HUP
while :; do
  while test -e ../gate; do sleep 0.01; done
  git fetch -q "$1" HEAD && h=$(git rev-parse FETCH_HEAD) &&
    { test -d .worktrees/$h || git worktree add -q --detach .worktrees/$h $h; } &&
    ln -s .worktrees/$h tmp-link && mv -T tmp-link current
  sleep 3600 & wait $!
  kill $!
done`

// replicaEnv has the program of the tests run an agent: each needs a process of its own,
// since it ends the git processes that it finds among its children. It is the directory of
// the agent, the repository, the period of git-sync, and the UID of the pod.
const replicaEnv = "WEBSITE_TEST_REPLICA"

func TestMain(m *testing.M) {
	if replica := os.Getenv(replicaEnv); replica != "" {
		if err := runReplica(strings.Fields(replica)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// runReplica runs an agent until SIGTERM. On SIGHUP its git-sync syncs. It prints its address,
// and a line at the beginning of each request that would have it hold a release.
func runReplica(args []string) error {
	dir, repository := args[0], args[1]
	period, err := time.ParseDuration(args[2])
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	root := filepath.Join(dir, "root")
	a := agent.New(agent.Config{
		GitSync: &gitsync.Supervisor{
			Command: []string{"sh", "-c", gitSyncScript, root, repository}, Root: root, ErrorFile: filepath.Join(dir, "error"),
			Period: period, Timeout: longTime, Clock: clock.RealClock{},
		},
		Link: "current", Releases: &release.Store{Dir: filepath.Join(dir, "site"), Keep: 5}, MaxHold: longTime, Clock: clock.RealClock{},
		ConfigDir: dir, PodUID: args[3],
	})
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	go func() {
		for range hangup {
			_, _ = a.GitSync.SyncNow()
		}
	}()
	handler := a.Handler("")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		query := request.URL.Query()
		if query.Has(requests.ParameterHold) && query.Get(requests.ParameterAfter) == a.Status().Revision {
			fmt.Println("hold")
		}
		handler.ServeHTTP(w, request)
	}))
	fmt.Println(server.URL)
	return a.Run(ctx)
}

// replica is an agent in a process of its own.
type replica struct {
	pod     *corev1.Pod
	url     string
	process *os.Process
	site    string
	// holds receives the beginning of each request that would have it hold a release.
	holds chan struct{}
}

func runGit(t *testing.T, dir string, args ...string) string {
	t.Helper()
	command := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=test", "-c", "user.email=test@example.com"}, args...)...)
	output, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, output)
	}
	return strings.TrimSpace(string(output))
}

// commitFile commits a file with some content, and returns the commit.
func commitFile(t *testing.T, repository, content string) string {
	t.Helper()
	if err := os.WriteFile(filepath.Join(repository, "index.html"), []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	runGit(t, repository, "add", ".")
	runGit(t, repository, "commit", "-q", "-m", content)
	return runGit(t, repository, "rev-parse", "HEAD")
}

// startReplica starts an agent whose git-sync syncs only when it is signalled. With a short
// period it seems to be about to sync all the time.
func startReplica(t *testing.T, name, repository string, period time.Duration) *replica {
	t.Helper()
	dir := t.TempDir()
	root := filepath.Join(dir, "root")
	if err := os.Mkdir(root, 0o755); err != nil {
		t.Fatal(err)
	}
	runGit(t, root, "init", "-q")
	if err := os.WriteFile(filepath.Join(dir, requests.KeysFile), []byte(requests.PublicKeysOf(signingKey).String()), 0o600); err != nil {
		t.Fatal(err)
	}
	pod := newPod(name)
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), fmt.Sprintf("%s=%s %s %s %s", replicaEnv, dir, repository, period, pod.UID))
	command.Stderr = os.Stderr
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	r := &replica{process: command.Process, site: filepath.Join(dir, "site"), holds: make(chan struct{}, 1000), pod: pod}
	r.pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	lines := bufio.NewScanner(output)
	if !lines.Scan() {
		t.Fatalf("the agent prints no address: %v", lines.Err())
	}
	r.url = lines.Text()
	printed := make(chan struct{})
	go func() {
		defer close(printed)
		for lines.Scan() {
			r.holds <- struct{}{}
		}
	}()
	t.Cleanup(func() {
		if err := r.process.Signal(syscall.SIGTERM); err != nil {
			t.Error(err)
		}
		<-printed
		if err := command.Wait(); err != nil {
			t.Errorf("the agent ended with: %v", err)
		}
	})
	return r
}

// current is the commit that a replica serves.
func (r *replica) current() string {
	return (&release.Store{Dir: r.site}).Current()
}

// setGate closes or opens what git-sync waits for before it fetches.
func (r *replica) setGate(t *testing.T, closed bool) {
	t.Helper()
	gate := filepath.Join(filepath.Dir(r.site), "gate")
	change := func() error { return os.Remove(gate) }
	if closed {
		change = func() error { return os.WriteFile(gate, nil, 0o600) }
	}
	if err := change(); err != nil {
		t.Fatal(err)
	}
}

// preparedAt is when the assets of a release were complete, its last preparation, and
// switchedAt when it was published.
func (r *replica) preparedAt(commit string) (time.Time, error) {
	info, err := os.Lstat(filepath.Join(r.site, "assets", commit))
	if err != nil {
		return time.Time{}, err
	}
	return info.ModTime(), nil
}

func (r *replica) switchedAt() (time.Time, error) {
	info, err := os.Lstat(filepath.Join(r.site, "current"))
	if err != nil {
		return time.Time{}, err
	}
	return info.ModTime(), nil
}

func waitFor(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for begin := time.Now(); !condition(); time.Sleep(5 * time.Millisecond) {
		if time.Since(begin) > testTimeout {
			t.Fatalf("not within %v: %s", testTimeout, what)
		}
	}
}

// followed are three replicas that follow a repository, and a prober of them.
type followed struct {
	*Prober
	repository string
	replicas   []*replica
}

// startFollowed starts replicas that are known to serve a commit. Only the first one seems to
// be about to sync.
func startFollowed(t *testing.T) *followed {
	t.Helper()
	f := &followed{repository: t.TempDir()}
	runGit(t, f.repository, "init", "-q")
	first := commitFile(t, f.repository, "first")
	urls := map[string]string{}
	for name, period := range map[string]time.Duration{"a": time.Millisecond, "b": longTime, "c": longTime} {
		r := startReplica(t, name, f.repository, period)
		urls[name] = r.url
		f.replicas = append(f.replicas, r)
	}
	slices.SortFunc(f.replicas, func(r, other *replica) int { return strings.Compare(r.pod.Name, other.pod.Name) })
	f.Prober = New(Config{Period: time.Minute, Clock: clock.RealClock{}, Workers: 2, Share: 2, Sign: signAs(signingKey), Client: &httpClient{
		client: directClient(), timeout: testTimeout,
		url: func(pod *corev1.Pod, request Request) string {
			return urls[pod.Name] + request.Path + "?" + request.Query.Encode()
		},
	}})
	f.maxHold = longTime
	waitFor(t, "all serve the first commit", func() bool {
		return !slices.ContainsFunc(f.replicas, func(r *replica) bool { return r.current() != first })
	})
	start(t, f.Prober)
	for _, r := range f.replicas {
		f.Probe(testWebsite, r.pod)
	}
	f.waitKnown(t, first)
	return f
}

// waitKnown waits until all replicas are known to serve a commit.
func (f *followed) waitKnown(t *testing.T, commit string) {
	t.Helper()
	waitFor(t, "all are known to serve the commit", func() bool {
		return !slices.ContainsFunc(f.replicas, func(r *replica) bool {
			seen, known := f.Observation(r.pod.UID)
			return !known || seen.Commit != commit
		})
	})
}

// syncFirst has the first replica sync while a request waits that has it hold a release.
func (f *followed) syncFirst(t *testing.T) {
	t.Helper()
	first := f.replicas[0]
	for len(first.holds) > 0 {
		<-first.holds
	}
	select {
	case <-first.holds:
	case <-time.After(testTimeout):
		t.Fatal("no request waits for the first replica")
	}
	if err := first.process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
}

// attempts is how often a test may try: a replica that is slow, because the machine is, is not
// waited for.
const attempts = 5

// TestReplicasSwitchTogether: when one replica has fetched a commit, the others fetch it too,
// and no replica serves it before all have prepared it.
func TestReplicasSwitchTogether(t *testing.T) {
	t.Parallel()
	f := startFollowed(t)
	for attempt := range attempts {
		commit := commitFile(t, f.repository, fmt.Sprint("attempt ", attempt))
		f.syncFirst(t)
		f.waitKnown(t, commit)
		if switchedTogether(t, f.replicas, commit) {
			return
		}
	}
	t.Errorf("in none of %d attempts did all replicas prepare the commit before one served it", attempts)
}

// TestPushBetweenTwoFetches: the replica that has prepared a commit which the others have
// never had gives it up for that of the others.
func TestPushBetweenTwoFetches(t *testing.T) {
	t.Parallel()
	f := startFollowed(t)
	for attempt := range attempts {
		for _, r := range f.replicas[1:] {
			r.setGate(t, true)
		}
		earlier := commitFile(t, f.repository, fmt.Sprint("attempt ", attempt))
		f.syncFirst(t)
		waitFor(t, "the first replica has prepared the commit", func() bool {
			_, err := f.replicas[0].preparedAt(earlier)
			return err == nil
		})
		later := commitFile(t, f.repository, fmt.Sprint("later than attempt ", attempt))
		for _, r := range f.replicas[1:] {
			r.setGate(t, false)
		}
		served := false
		waitFor(t, "all serve the later commit", func() bool {
			served = served || f.replicas[0].current() == earlier
			return !slices.ContainsFunc(f.replicas, func(r *replica) bool { return r.current() != later })
		})
		if together := switchedTogether(t, f.replicas, later); together && !served {
			return
		}
		f.waitKnown(t, later)
	}
	t.Errorf("in none of %d attempts did all replicas prepare the later commit before one served it, or the earlier one", attempts)
}

// switchedTogether reports whether all replicas had prepared a commit before one served it.
func switchedTogether(t *testing.T, replicas []*replica, commit string) bool {
	t.Helper()
	var lastPrepared, firstSwitched, lastSwitched time.Time
	for _, r := range replicas {
		prepared, err := r.preparedAt(commit)
		switched, switchErr := r.switchedAt()
		if err := errors.Join(err, switchErr); err != nil {
			t.Fatal(err)
		}
		if prepared.After(lastPrepared) {
			lastPrepared = prepared
		}
		if firstSwitched.IsZero() || switched.Before(firstSwitched) {
			firstSwitched = switched
		}
		if switched.After(lastSwitched) {
			lastSwitched = switched
		}
	}
	t.Logf("%d replicas switched within %v, %v after the last had prepared the release",
		len(replicas), lastSwitched.Sub(firstSwitched), firstSwitched.Sub(lastPrepared))
	return !firstSwitched.Before(lastPrepared)
}
