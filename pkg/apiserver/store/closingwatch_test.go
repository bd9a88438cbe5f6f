package store

import (
	"context"
	"testing"
	"testing/synctest"

	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/storage"
)

// watchable is a storage whose watches end with their context, as watches of etcd do.
type watchable struct{ storage.Interface }

func (watchable) Watch(ctx context.Context, _ string, _ storage.ListOptions) (watch.Interface, error) {
	w := watch.NewFake()
	context.AfterFunc(ctx, w.Stop)
	return w, nil
}

// TestClosingEndsTheWatchOfTheCache: a cache that keeps its watch would answer from a store
// that was replaced meanwhile.
func TestClosingEndsTheWatchOfTheCache(t *testing.T) {
	const endpoint = "http://127.0.0.1:1"
	right, wrong := (*Closed)(nil), &Closed{ReasonOutdated, "the store is older"}
	for name, test := range map[string]struct {
		// before are the verdicts before the watch begins, and after those that follow.
		before, after []*Closed
		refused, ends bool
	}{
		"open":                                 {before: []*Closed{right}},
		"closed":                               {before: []*Closed{right, wrong}, refused: true},
		"closed later":                         {before: []*Closed{right}, after: []*Closed{wrong}, ends: true},
		"closed and opened later":              {before: []*Closed{right}, after: []*Closed{wrong, right}, ends: true},
		"opened again":                         {before: []*Closed{right, wrong, right}},
		"opened again, and closed later":       {before: []*Closed{right, wrong, right}, after: []*Closed{wrong}, ends: true},
		"not verified, then right":             {after: []*Closed{right}},
		"not verified, then right, then wrong": {after: []*Closed{right, wrong}, ends: true},
		"not verified, then wrong":             {after: []*Closed{wrong}, ends: true},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGuard(t, newConfig(endpoint, &configMaps{}))
			setVerdicts := func(verdicts []*Closed) {
				for _, verdict := range verdicts {
					g.setVerdict(t.Context(), verdict, endpoint)
				}
			}
			synctest.Test(t, func(t *testing.T) {
				setVerdicts(test.before)
				w, err := watchSource{watchable{}, g}.Watch(t.Context(), "/websites", storage.ListOptions{})
				if test.refused {
					if err == nil {
						t.Error("a watch began while the server was closed")
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				defer w.Stop()
				setVerdicts(test.after)
				synctest.Wait()
				ended := false
				select {
				case _, open := <-w.ResultChan():
					ended = !open
				default:
				}
				if ended != test.ends {
					t.Errorf("the watch has ended: %t, want %t", ended, test.ends)
				}
			})
		})
	}
}
