package load

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/apiserver"
	"github.com/kubesites/website-apiserver/test/robustness/history"
)

// marker follows the prefix in the key of a Follower's marker. It is not a valid Website name.
const marker = "~marker"

// Follower records etcd's own history of the Websites of a namespace.
type Follower struct {
	client   *clientv3.Client
	prefix   string
	decoder  runtime.Decoder
	recorder *history.Recorder
	// from is the first recorded revision, last the state of each Website before it.
	from int64
	last map[string]history.Object

	stop   context.CancelFunc
	ended  chan error
	marked chan struct{}
}

// NewFollower reads the Websites below a prefix, and records nothing yet.
func NewFollower(ctx context.Context, client *clientv3.Client, prefix string,
	recorder *history.Recorder) (*Follower, error) {
	_, codecs, err := apiserver.NewScheme()
	if err != nil {
		return nil, fmt.Errorf("decoding the object in etcd: %w", err)
	}
	f := &Follower{
		client: client, prefix: prefix, decoder: codecs.UniversalDeserializer(), recorder: recorder,
		last: map[string]history.Object{}, ended: make(chan error, 1), marked: make(chan struct{}),
	}
	stored, err := client.Get(ctx, prefix, clientv3.WithPrefix())
	if err != nil {
		return nil, fmt.Errorf("reading the Websites in etcd: %w", err)
	}
	f.from = stored.Header.Revision + 1
	for _, pair := range stored.Kvs {
		name := strings.TrimPrefix(string(pair.Key), prefix)
		if f.last[name], err = f.decode(pair.Value, pair.ModRevision); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// Revision returns etcd's revision before the recorded history.
func (f *Follower) Revision() int64 { return f.from - 1 }

// Websites returns the Websites at that revision, sorted by name.
func (f *Follower) Websites() []history.Object {
	return slices.SortedFunc(maps.Values(f.last), func(a, b history.Object) int { return strings.Compare(a.Name, b.Name) })
}

// Start starts recording, until Stop.
func (f *Follower) Start() {
	ctx, cancel := context.WithCancel(context.Background())
	f.stop = cancel
	events := f.client.Watch(ctx, f.prefix, clientv3.WithPrefix(), clientv3.WithRev(f.from))
	go func() { f.ended <- f.follow(ctx, events) }()
}

// Stop ends the recording, and returns an error if a part of the history is missing.
func (f *Follower) Stop() error {
	f.stop()
	return <-f.ended
}

// Mark writes to etcd, and waits until all earlier writes are recorded. A Follower can do so once.
func (f *Follower) Mark(ctx context.Context) error {
	if _, err := f.client.Put(ctx, f.prefix+marker, ""); err != nil {
		return fmt.Errorf("writing a marker to etcd: %w", err)
	}
	select {
	case <-f.marked:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting for the marker in etcd: %w", context.Cause(ctx))
	}
}

func (f *Follower) decode(value []byte, revision int64) (history.Object, error) {
	decoded, _, err := f.decoder.Decode(value, nil, nil)
	if err != nil {
		return history.Object{}, fmt.Errorf("decoding revision %d: %w", revision, err)
	}
	website, ok := decoded.(*v1beta1.Website)
	if !ok {
		return history.Object{}, fmt.Errorf("revision %d is a %T", revision, decoded)
	}
	object := observed(website)
	object.Revision = revision
	return object, nil
}

func (f *Follower) follow(ctx context.Context, responses clientv3.WatchChan) error {
	for response := range responses {
		if err := response.Err(); err != nil && ctx.Err() == nil {
			return fmt.Errorf("following etcd: %w", err)
		}
		for _, event := range response.Events {
			name := strings.TrimPrefix(string(event.Kv.Key), f.prefix)
			if name == marker {
				close(f.marked)
				continue
			}
			change := history.Change{Revision: event.Kv.ModRevision, Deleted: event.Type == clientv3.EventTypeDelete,
				Observed: f.recorder.Now()}
			if change.Deleted {
				change.Object = f.last[name]
			} else {
				var err error
				if change.Object, err = f.decode(event.Kv.Value, event.Kv.ModRevision); err != nil {
					return err
				}
				f.last[name] = change.Object
			}
			f.recorder.Change(change)
		}
	}
	if ctx.Err() == nil {
		return fmt.Errorf("etcd has ended the watch of %s", f.prefix)
	}
	return nil
}
