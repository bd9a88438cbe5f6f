package agent

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	testingclock "k8s.io/utils/clock/testing"

	"github.com/kubesites/website-apiserver/pkg/agent/gitsync"
	"github.com/kubesites/website-apiserver/pkg/agent/requests"
)

// branchesFixture is an agent and the repository whose branches it lists.
type branchesFixture struct {
	*Agent
	t      *testing.T
	clock  *testingclock.FakeClock
	remote string
	commit string
}

func newBranchesFixture(t *testing.T) *branchesFixture {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git on PATH")
	}
	f := &branchesFixture{Agent: newAgent(t), t: t, clock: testingclock.NewFakeClock(time.Unix(1e9, 0)), remote: filepath.Join(t.TempDir(), "repo.git")}
	f.Clock = f.clock
	f.GitSync.Period, f.GitSync.Timeout = time.Minute, time.Minute
	f.GitSync.Command = []string{"git-sync", "--repo=file://" + f.remote}
	f.git("init", "--quiet", "--bare", "--initial-branch=main", f.remote)
	f.commit = f.git("-C", f.remote, "-c", "user.name=a", "-c", "user.email=a@example.com", "commit-tree", "-m", "x",
		f.git("-C", f.remote, "hash-object", "-t", "tree", "-w", "/dev/null"))
	f.push("main")
	return f
}

func (f *branchesFixture) git(arguments ...string) string {
	f.t.Helper()
	output, err := exec.Command("git", arguments...).CombinedOutput()
	if err != nil {
		f.t.Fatalf("git %q: %v: %s", arguments, err, output)
	}
	return strings.TrimSpace(string(output))
}

func (f *branchesFixture) push(branch string) {
	f.t.Helper()
	f.git("-C", f.remote, "update-ref", "refs/heads/"+branch, f.commit)
}

// want has the agent list branches as the file says, or none.
func (f *branchesFixture) want(patterns ...string) {
	f.t.Helper()
	file := filepath.Join(f.ConfigDir, requests.PreviewsFile)
	err := os.WriteFile(file, []byte(requests.Previews{Branches: patterns}.String()), 0o600)
	if patterns == nil {
		err = os.Remove(file)
	}
	if err != nil {
		f.t.Fatal(err)
	}
}

// list lists after some time, and returns the branches that are reported.
func (f *branchesFixture) list(after time.Duration) []string {
	f.t.Helper()
	f.clock.Step(after)
	f.listBranches(f.t.Context())
	var names []string
	if status := f.Status().Branches; status != nil {
		for _, branch := range status.Branches {
			names = append(names, branch.Name)
		}
	}
	return names
}

// fetched has git-sync have fetched something.
func (f *branchesFixture) fetched(at time.Time) {
	f.t.Helper()
	file := filepath.Join(f.GitSync.Root, ".git", "FETCH_HEAD")
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(f.commit), 0o600), os.Chtimes(file, at, at)); err != nil {
		f.t.Fatal(err)
	}
}

func TestBranchesAreListed(t *testing.T) {
	f := newBranchesFixture(t)
	f.push("feature/a")
	if got := f.list(0); got != nil || f.Status().Branches != nil {
		t.Errorf("without previews %q are listed", got)
	}
	f.want("feature/*")
	if got := f.list(0); !slices.Equal(got, []string{"feature/a"}) {
		t.Fatalf("listed %q", got)
	}
	first := f.Status()
	if want := (requests.Previews{Branches: []string{"feature/*"}}).ID("file://" + f.remote); first.Branches.ID != want || first.Branches.Branches[0].Commit != f.commit {
		t.Errorf("listed %+v, want the ID %s", first.Branches, want)
	}
	// Names that a Website cannot have are left out.
	f.push("feature/ä")
	f.push("feature/b")
	if got := f.list(time.Minute); len(got) != 1 {
		t.Errorf("listed again before the next fetch: %q", got)
	}
	f.fetched(time.Unix(1e9+60, 0))
	if got := f.list(time.Second); !slices.Equal(got, []string{"feature/a", "feature/b"}) {
		t.Errorf("after a fetch %q are listed", got)
	}
	second := f.Status()
	if second.Revision == first.Revision || !second.Branches.Since.After(*first.Branches.Since) {
		t.Errorf("another list is not told from the one before: %+v", second.Branches)
	}
	f.push("feature/c")
	if got := f.list(89 * time.Second); len(got) != 2 {
		t.Errorf("listed again too early: %q", got)
	}
	if got := f.list(time.Second); len(got) != 3 {
		t.Errorf("without a fetch %q are listed", got)
	}
	f.push("feature/never")
	f.GitSync.Period = 0
	if got := f.list(24 * time.Hour); len(got) != 3 {
		t.Errorf("without polling %q are listed", got)
	}
	f.git("-C", f.remote, "update-ref", "-d", "refs/heads/feature/never")
	f.GitSync.Period = time.Minute
	third := f.Status()
	f.list(90 * time.Second)
	if again := f.Status(); again.Revision != third.Revision || !again.Branches.Since.Equal(*third.Branches.Since) {
		t.Errorf("the same list is news: %+v", again.Branches)
	}
	f.want("feature/c")
	if got := f.list(0); !slices.Equal(got, []string{"feature/c"}) {
		t.Errorf("with another pattern %q are listed", got)
	}
	f.want()
	if got := f.list(0); got != nil || f.Status().Branches != nil {
		t.Errorf("without previews %q are still listed", got)
	}
}

// TestFailedListingKeepsBranches: what is not known is not gone.
func TestFailedListingKeepsBranches(t *testing.T) {
	f := newBranchesFixture(t)
	f.push("feature/a")
	f.want("feature/*")
	f.list(0)
	since := f.Status().Branches.Since
	if err := os.Rename(f.remote, f.remote+".away"); err != nil {
		t.Fatal(err)
	}
	if got := f.list(2 * time.Minute); !slices.Equal(got, []string{"feature/a"}) {
		t.Errorf("after a failed listing %q are reported", got)
	}
	status := f.Status()
	if failure := status.Branches.Failure; failure == nil || failure.Reason != gitsync.ReasonNotFound || failure.Count != 1 || !status.Branches.Since.Equal(*since) {
		t.Errorf("a failed listing is reported as %+v", status.Branches)
	}
	f.list(minListRetry)
	if again := f.Status(); again.Branches.Failure.Count != 2 || again.Revision != status.Revision {
		t.Errorf("the same failure is news, or is not counted: %+v", again.Branches.Failure)
	}
	f.list(minListRetry)
	if got := f.Status().Branches.Failure.Count; got != 2 {
		t.Errorf("after two failures in a row %d are reported %v later", got, minListRetry)
	}
	if err := os.Rename(f.remote+".away", f.remote); err != nil {
		t.Fatal(err)
	}
	f.list(minListRetry)
	if status := f.Status(); status.Branches.Failure != nil || !status.Branches.Since.Equal(*since) {
		t.Errorf("after the failure the report is %+v", status.Branches)
	}
}
