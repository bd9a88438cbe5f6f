package website

import (
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

func createdAt(seconds int64) func(*v1beta1.Website) {
	return func(website *v1beta1.Website) { website.CreationTimestamp = metav1.NewTime(time.Unix(seconds, 0)) }
}

func TestOldestClaimantComesFirst(t *testing.T) {
	older, younger := newWebsite(withName("z-older"), createdAt(1)), newWebsite(withName("a-younger"), createdAt(2))
	for name, test := range map[string]struct {
		given func(f *fixture)
		// reconciled is the Website to reconcile; winner is the owner of the Deployment afterwards.
		reconciled, winner *v1beta1.Website
		wantError          string
	}{
		"no child has it":    {func(*fixture) {}, younger, nil, `the older Website "z-older"`},
		"the older takes it": {func(*fixture) {}, older, older, ""},
		"the younger has it": {func(f *fixture) { f.uncacheWebsite(older); f.converge(younger); f.cacheWebsite(older) },
			older, younger, `belong to Website "a-younger"`},
		"the younger keeps it": {func(f *fixture) { f.uncacheWebsite(older); f.converge(younger); f.cacheWebsite(older) },
			younger, younger, ""},
		"it loses only a part": {func(f *fixture) {
			f.uncacheWebsite(older)
			f.converge(younger)
			f.cacheWebsite(older)
			f.remove(f.deployment())
			f.syncCaches()
		}, younger, younger, ""},
		"the older is going": {func(f *fixture) {
			gone := older.DeepCopy()
			now := metav1.Now()
			gone.DeletionTimestamp = &now
			f.cacheWebsite(gone)
		}, younger, younger, ""},
		"the older is gone": {func(f *fixture) { f.uncacheWebsite(older) }, younger, younger, ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.addWebsite(younger)
			f.addWebsite(older)
			test.given(f)
			problems := f.reconcile(keyOf(test.reconciled))
			switch {
			case test.wantError == "" && len(problems) > 0:
				t.Errorf("problems: %v", problems)
			case test.wantError != "" && (len(problems) != 1 || !strings.Contains(problems[0].Error(), test.wantError)):
				t.Errorf("problems: %v, want %q", problems, test.wantError)
			}
			for _, website := range []*v1beta1.Website{older, younger} {
				deployment, found := live[*appsv1.Deployment](f, testDeployment)
				if owns := found && metav1.IsControlledBy(deployment, website); owns != (test.winner == website) {
					t.Errorf("%s owns the Deployment: %t", website.Name, owns)
				}
			}
		})
	}
}

// TestWaitingClaimantsAreQueued: a Website that lost its name is queued when the name becomes free.
func TestWaitingClaimantsAreQueued(t *testing.T) {
	first, second := newWebsite(withName("first")), newWebsite(withName("second"))
	f := newFixture(t, first, second)
	f.controller.queue.Running.Store(true)
	f.controller.handlers.websiteHandler().OnDelete(first)
	var got []string
	for f.controller.queue.Len() > 0 {
		key, _ := f.controller.queue.Get()
		f.controller.queue.Done(key)
		got = append(got, key.Name)
	}
	slices.Sort(got)
	if !slices.Equal(got, []string{"first", "second"}) {
		t.Errorf("queued %q", got)
	}
}
