package store

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
)

// compactRevisionKey is written by k8s.io/apiserver's compactor, and by nothing
// that changes a Website.
const compactRevisionKey = "compact_rev_key"

// Record is the record in the store, in a key of its own below
// --etcd-prefix.
type Record struct {
	// Identity is made when the store is first served, and again when it is accepted.
	Identity string `json:"identity"`
	// Nonce is replaced with every record, so that a copy that was taken before
	// the last writes differs from the store.
	Nonce string `json:"nonce"`
	// Compactions is the number of times that the compactor had written its key when the record
	// was made, so that its writes are not taken for changes of Websites.
	Compactions int64 `json:"compactions"`
	// RecordedAt is the time of the nonce; zero if an earlier version made it.
	RecordedAt time.Time `json:"recordedAt,omitzero"`
}

// HostRecord is the record, in the host cluster, of the store that it was served
// from last.
type HostRecord struct {
	// Identity is the identity of the store.
	Identity string
	// Nonces are those that the store may hold: its last one, and while that is
	// being replaced, the next one before it.
	Nonces []string
	// RecordedAt is the time of the first nonce; zero if an earlier version made it.
	RecordedAt time.Time

	resourceVersion string
}

// names reports whether the record is of the store that holds r.
func (h *HostRecord) names(r *Record) bool {
	return r != nil && r.Identity == h.Identity && slices.Contains(h.Nonces, r.Nonce)
}

// RestoredNonce begins the nonce of a store that was restored from a snapshot, and not served since: no host cluster
// has recorded it.
const RestoredNonce = "restored-"

func newIdentity() string { return string(uuid.NewUUID()) }

func newNonce() string { return string(uuid.NewUUID()) }

// recordTime returns the current time, or one after the time of the former records if a clock was ahead.
func recordTime(former ...time.Time) time.Time {
	now := time.Now().UTC().Truncate(time.Millisecond)
	for _, at := range former {
		if !now.After(at) {
			now = at.Add(time.Millisecond)
		}
	}
	return now
}

// keys are the keys of a store with a prefix.
type keys struct{ prefix string }

// record is the key of the Record.
func (k keys) record() string { return path.Join("/", k.prefix, "website-apiserver", "store") }

// websites is the common prefix of the keys of all Websites.
func (k keys) websites() string {
	return path.Join("/", k.prefix, website.GroupName, "websites") + "/"
}

// content is the state of a store at the last read.
type content struct {
	// record is nil in a store that was never served by a server that writes one.
	record *Record
	// raw are the bytes of the record.
	raw string
	// websites is how many Websites there are where there is no record; they are
	// not counted otherwise.
	websites int64
	// clusterID and revision are etcd's, at the time of the read.
	clusterID uint64
	revision  int64
}

// read returns the content of the store behind kv. It reads linearizably: a member
// that lags behind its cluster does not answer.
func (k keys) read(ctx context.Context, kv etcdserverpb.KVClient) (content, error) {
	response, err := kv.Range(ctx, &etcdserverpb.RangeRequest{Key: []byte(k.record())})
	if err != nil {
		return content{}, fmt.Errorf("reading the identity of the store: %w", err)
	}
	c := content{clusterID: response.Header.ClusterId, revision: response.Header.Revision}
	if len(response.Kvs) > 0 {
		c.raw = string(response.Kvs[0].Value)
		if c.record, err = k.decode(response.Kvs[0].Value); err != nil {
			return content{}, err
		}
		return c, nil
	}
	counted, err := kv.Range(ctx, &etcdserverpb.RangeRequest{
		Key:       []byte(k.websites()),
		RangeEnd:  []byte(clientv3.GetPrefixRangeEnd(k.websites())),
		CountOnly: true,
	})
	if err != nil {
		return content{}, fmt.Errorf("counting the Websites in the store: %w", err)
	}
	c.websites = counted.Count
	return c, nil
}

// decode returns the record that is encoded in the value of its key.
func (k keys) decode(value []byte) (*Record, error) {
	r := &Record{}
	if err := json.Unmarshal(value, r); err != nil {
		return nil, fmt.Errorf("reading the identity of the store from %s: %w", k.record(), err)
	}
	return r, nil
}

// beginCompactions writes the key of the compactor if there is none: a compactor that has compacted another store
// before expects the key, and ends the process without it.
func beginCompactions(ctx context.Context, client *clientv3.Client) error {
	// A full store refuses each transaction that could write.
	if existing, err := client.Get(ctx, compactRevisionKey, clientv3.WithCountOnly()); err != nil {
		return fmt.Errorf("looking for the key of the compactor: %w", err)
	} else if existing.Count > 0 {
		return nil
	}
	_, err := client.Txn(ctx).If(clientv3.Compare(clientv3.CreateRevision(compactRevisionKey), "=", 0)).
		Then(clientv3.OpPut(compactRevisionKey, "0")).Commit()
	if err != nil {
		return fmt.Errorf("writing the key of the compactor: %w", err)
	}
	return nil
}

// write replaces the record if the store still holds exactly the content it was
// read with, and reports whether it did.
func (k keys) write(ctx context.Context, client *clientv3.Client, was content, r Record) (bool, error) {
	value, err := json.Marshal(r)
	if err != nil {
		return false, fmt.Errorf("encoding the identity of the store: %w", err)
	}
	unchanged := clientv3.Compare(clientv3.CreateRevision(k.record()), "=", 0)
	if was.record != nil {
		// By value: the revision could be the same in another store.
		unchanged = clientv3.Compare(clientv3.Value(k.record()), "=", was.raw)
	}
	response, err := client.Txn(ctx).If(unchanged).Then(clientv3.OpPut(k.record(), string(value))).Commit()
	if err != nil {
		return false, fmt.Errorf("writing the identity of the store: %w", err)
	}
	return response.Succeeded, nil
}

// revert gives the store its former record back, unless another one was written meanwhile.
func (k keys) revert(ctx context.Context, client *clientv3.Client, r Record, former content) error {
	value, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encoding the identity of the store: %w", err)
	}
	op := clientv3.OpDelete(k.record())
	if former.record != nil {
		op = clientv3.OpPut(k.record(), former.raw)
	}
	if _, err := client.Txn(ctx).If(clientv3.Compare(clientv3.Value(k.record()), "=", string(value))).Then(op).
		Commit(); err != nil {
		return fmt.Errorf("writing the former identity of the store: %w", err)
	}
	return nil
}

// history has the changes of a store since its record was written.
type history struct {
	// nonce is the nonce of the record; empty if there is none.
	nonce string
	// changed reports whether anything but the record and the compactor's key was
	// written.
	changed bool
	// compactions is the number of times that the compactor has written its key.
	compactions int64
}

// since returns the changes since the record was written. Every write raises the
// revision of a store by one.
func (k keys) since(ctx context.Context, client *clientv3.Client) (history, error) {
	response, err := client.Txn(ctx).Then(clientv3.OpGet(k.record()), clientv3.OpGet(compactRevisionKey)).Commit()
	if err != nil {
		return history{}, fmt.Errorf("reading the revision of the store: %w", err)
	}
	h := history{changed: true}
	if kvs := response.Responses[1].GetResponseRange().Kvs; len(kvs) > 0 {
		h.compactions = kvs[0].Version
	}
	if kvs := response.Responses[0].GetResponseRange().Kvs; len(kvs) > 0 {
		r, err := k.decode(kvs[0].Value)
		if err != nil {
			return history{}, err
		}
		h.nonce = r.Nonce
		h.changed = response.Header.Revision-kvs[0].ModRevision != h.compactions-r.Compactions
	}
	return h, nil
}
