package store

import (
	"context"
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/utils/ptr"
)

// atRevision is a storage whose etcd has a revision, or cannot be reached.
type atRevision struct {
	storage.Interface
	revision uint64
	err      error
}

func (s atRevision) GetCurrentResourceVersion(context.Context) (uint64, error) {
	return s.revision, s.err
}

func (atRevision) Watch(context.Context, string, storage.ListOptions) (watch.Interface, error) {
	return watch.NewFake(), nil
}

// TestWatchFromTheFuture watches a store at revision 100, while this server has seen
// revision 50 of it.
func TestWatchFromTheFuture(t *testing.T) {
	unreachable := errors.New("etcd is unreachable")
	tests := map[string]struct {
		opts storage.ListOptions
		err  error
		want func(error) bool
	}{
		"now":                                {storage.ListOptions{}, unreachable, nil},
		"any":                                {storage.ListOptions{ResourceVersion: "0"}, unreachable, nil},
		"one that this server has seen":      {storage.ListOptions{ResourceVersion: "50"}, unreachable, nil},
		"one that another server wrote":      {storage.ListOptions{ResourceVersion: "100"}, nil, nil},
		"one that the store has not reached": {storage.ListOptions{ResourceVersion: "101"}, nil, apierrors.IsResourceExpired},
		"one that may be there": {storage.ListOptions{ResourceVersion: "100"}, unreachable,
			func(err error) bool { return errors.Is(err, unreachable) }},
		"a list in a stream": {storage.ListOptions{ResourceVersion: "101", SendInitialEvents: ptr.To(true)},
			nil, apierrors.IsResourceExpired},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			g := newGuard(t, newConfig("http://127.0.0.1:1", &configMaps{}))
			g.state.Store(nil)
			g.revision.Store(50)
			_, err := closable{atRevision{revision: 100, err: test.err}, g}.Watch(t.Context(), "/websites", test.opts)
			if test.want == nil && err != nil || test.want != nil && !test.want(err) {
				t.Errorf("Watch = %v", err)
			}
		})
	}
}
