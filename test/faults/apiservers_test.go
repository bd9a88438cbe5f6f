package faults

import (
	"context"
	"strconv"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubesites/website-apiserver/test/framework"
)

// revisions are the current resource versions in the stores of Websites and of
// everything else.
type revisions struct{ websites, kubernetes int }

func readRevisions(ctx context.Context) (revisions, error) {
	sites, err := websites.WebsiteV1beta1().Websites("").List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return revisions{}, err
	}
	deployments, err := kube.AppsV1().Deployments("").List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return revisions{}, err
	}
	first, err := strconv.Atoi(sites.ResourceVersion)
	if err != nil {
		return revisions{}, err
	}
	second, err := strconv.Atoi(deployments.ResourceVersion)
	return revisions{first, second}, err
}

// TestRevisionsOfTwoStores runs scenarios while the resource versions of Websites are lower than
// those in the store of their children, and again while they are higher. The outcome must not
// differ, as resource versions of two stores are unrelated.
func TestRevisionsOfTwoStores(t *testing.T) {
	ctx := t.Context()
	observer := newObserver(t)
	at, err := readRevisions(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("behind: %+v", at)
	if at.websites >= at.kubernetes {
		t.Fatal("a new cluster has written more Websites than anything else")
	}
	behind := map[string]outcome{}
	var played []scenario
	for _, s := range scenarios {
		switch s.name {
		case "create", "change", "children deleted":
			played = append(played, s)
			behind[s.name] = bounds(t, play(t, observer, nil, s.undisturbed(undisturbedPlays)...))
		}
	}

	// The margin is larger than the writes of the scenarios, which change Websites less often than
	// other objects.
	if err := framework.AdvanceStore(ctx, int64(at.kubernetes+2000)); err != nil {
		t.Fatal(err)
	}
	// The resource version of a list is the revision of the last written Website.
	if err := newWorld(t).create(ctx, kubia); err != nil {
		t.Fatal(err)
	}
	if at, err = readRevisions(ctx); err != nil {
		t.Fatal(err)
	}
	t.Logf("ahead: %+v", at)
	if at.websites <= at.kubernetes {
		t.Fatal("the store of Websites is not ahead")
	}
	for _, s := range played {
		want := behind[s.name]
		for _, have := range play(t, observer, want.state, s.undisturbed(undisturbedPlays)...) {
			have.struck = true // A run without a fault counts as one.
			if problems := have.problems(point{}, want); len(problems) > 0 {
				t.Errorf("%s: %s", s.name, strings.Join(problems, "\n"))
			}
		}
	}
}
