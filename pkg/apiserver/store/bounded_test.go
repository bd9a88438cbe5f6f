package store

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// hangingKV answers once it does not hang.
type hangingKV struct {
	clientv3.KV
	hangs *atomic.Bool
}

func (k hangingKV) Get(ctx context.Context, _ string, _ ...clientv3.OpOption) (*clientv3.GetResponse, error) {
	if k.hangs.Load() {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return &clientv3.GetResponse{}, nil
}

// TestCompactorWaits: the compactor of a closed server, such as one that waits for an import, does not fail all the
// time, nor does that of a server whose etcd does not answer.
func TestCompactorWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, err := New(newConfig("http://127.0.0.1:1", &configMaps{}))
		if err != nil {
			t.Fatal(err)
		}
		var hangs atomic.Bool
		hangs.Store(true)
		answers := make(chan error, 1)
		go func() {
			_, err := boundedKV{hangingKV{hangs: &hangs}, g}.Get(t.Context(), compactRevisionKey)
			answers <- err
		}()
		for _, step := range []struct {
			state string
			end   func()
		}{
			{"is closed", func() { g.state.Store(nil) }},
			{"has an etcd that hangs", func() { g.unreachable(t.Context(), &Outage{Message: "etcd does not answer"}) }},
			{"has an outage", func() { hangs.Store(false); g.reachable(t.Context()) }},
		} {
			select {
			case err := <-answers:
				t.Errorf("the server that %s has answered: %v", step.state, err)
				return
			case <-time.After(time.Hour):
			}
			step.end()
		}
		if err := <-answers; err != nil {
			t.Errorf("the open server answers %v", err)
		}
	})
}
