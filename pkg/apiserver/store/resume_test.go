package store

import (
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// TestResumedWatch watches from the next revision, and from one that the store has not
// reached, as etcd's client does when another store was accepted behind it.
func TestResumedWatch(t *testing.T) {
	endpoint := newEtcd(t)
	g := newGuard(t, newConfig(endpoint, &configMaps{}))
	g.Start(t.Context())
	if closed := g.Closed(); closed != nil {
		t.Fatal(closed)
	}
	client := guardedClient(t, g)
	got, err := client.Get(t.Context(), "key")
	if err != nil {
		t.Fatal(err)
	}
	resumed := client.Watch(t.Context(), "key", clientv3.WithRev(got.Header.Revision+1))
	// Another replica's: this one has seen no response of it.
	unguarded, err := NewClient(g.config.Etcd.Transport, endpoint)
	if err != nil {
		t.Fatal(err)
	}
	defer unguarded.Close()
	put, err := unguarded.Put(t.Context(), "key", "value")
	if err != nil {
		t.Fatal(err)
	}
	if response := <-resumed; len(response.Events) != 1 {
		t.Errorf("the resumed watch got %v, %v, want an event", response, response.Err())
	}
	ahead := guardedClient(t, g).Watch(t.Context(), "key", clientv3.WithRev(put.Header.Revision))
	if response := <-ahead; len(response.Events) != 1 {
		t.Errorf("a watch from a revision of another replica got %v, %v, want an event", response, response.Err())
	}
	future := guardedClient(t, g).Watch(t.Context(), "key", clientv3.WithRev(put.Header.Revision+1000))
	if response := <-future; response.Err() == nil {
		t.Errorf("a watch from a future revision got %v, want an error", response)
	}
}
