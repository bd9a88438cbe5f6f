package podprobe

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/kubesites/website-apiserver/pkg/agent"
	"github.com/kubesites/website-apiserver/pkg/agent/git"
)

func listedNow(names ...string) *agent.BranchesStatus {
	since := time.Unix(1e9, 0).UTC()
	status := &agent.BranchesStatus{ID: strings.Repeat("0a", 16), Since: &since, Head: "main"}
	for _, name := range names {
		status.Branches = append(status.Branches, git.Branch{Name: name, Commit: strings.Repeat("a", 40)})
	}
	return status
}

func parsed(t *testing.T, branches *agent.BranchesStatus) answer {
	t.Helper()
	body, err := json.Marshal(agent.Status{Branches: branches})
	if err != nil {
		t.Fatal(err)
	}
	a, err := parseStatus(body)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestBranchesOfAnAnswer: a compromised pod can respond with anything.
func TestBranchesOfAnAnswer(t *testing.T) {
	status := listedNow("日本", "a", "a", "a b", "-x", "a\u202e", "a:b")
	status.Branches = append(status.Branches, git.Branch{Name: "c", Commit: "no commit"})
	status.Failure = &agent.Failure{Reason: git.ReasonNotFound}
	got := parsed(t, status).Branches
	if got == nil || len(got.List) != 2 || got.List[0].Name != "a" || got.List[1].Name != "日本" || got.Head != "main" ||
		got.Failure != git.ReasonNotFound {
		t.Errorf("the branches are %+v", got)
	}
	if got := parsed(t, listedNow(strings.Split(strings.Repeat("x", 300), "")...)).Branches; len(got.List) != 1 ||
		got.More {
		t.Errorf("one branch many times is %+v", got)
	}
	var many []string
	for i := range 2 * maxBranches {
		many = append(many, strings.Repeat("x", i+1))
	}
	if got := parsed(t, listedNow(many...)).Branches; len(got.List) != maxBranches || !got.More {
		t.Errorf("%d branches are taken, more %t", len(got.List), got.More)
	}
	status = listedNow("a")
	status.ID = "x"
	if got := parsed(t, status).Branches; got != nil {
		t.Errorf("branches of nothing are %+v", got)
	}
}

// TestSameBranchesAreNoNews: unchanged branches do not reconcile the Website.
func TestSameBranchesAreNoNews(t *testing.T) {
	var s state
	s.update(parsed(t, listedNow("a")), nil, time.Now())
	first := s.Observation
	s.update(parsed(t, listedNow("a")), nil, time.Now())
	if s.Observation != first {
		t.Errorf("the same branches are news: %+v", s.Branches)
	}
	s.update(parsed(t, listedNow("a", "b")), nil, time.Now())
	if s.Observation == first || len(s.Branches.List) != 2 {
		t.Errorf("another branch is no news: %+v", s.Branches)
	}
}
