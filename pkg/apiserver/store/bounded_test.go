package store

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// answeringKV answers at once.
type answeringKV struct{ clientv3.KV }

func (answeringKV) Get(context.Context, string, ...clientv3.OpOption) (*clientv3.GetResponse, error) {
	return &clientv3.GetResponse{}, nil
}

// TestCompactorWaits: the compactor of a closed server, such as one that waits for an import, does not fail all the
// time.
func TestCompactorWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, err := New(newConfig("http://127.0.0.1:1", &configMaps{}))
		if err != nil {
			t.Fatal(err)
		}
		answers := make(chan error, 1)
		go func() {
			_, err := boundedKV{answeringKV{}, g}.Get(t.Context(), compactRevisionKey)
			answers <- err
		}()
		select {
		case err := <-answers:
			t.Errorf("the closed server has answered: %v", err)
			return
		case <-time.After(time.Hour):
		}
		g.state.Store(nil)
		if err := <-answers; err != nil {
			t.Errorf("the open server answers %v", err)
		}
	})
}
