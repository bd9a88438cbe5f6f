package store

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
)

func TestCompare(t *testing.T) {
	at := time.Now()
	host := HostRecord{Identity: "ours", Nonces: []string{"next", "last"}, RecordedAt: at}
	tests := map[string]struct {
		content content
		want    string
	}{
		"the last record":                {content: content{record: &Record{Identity: "ours", Nonce: "last"}}},
		"the record that was being made": {content: content{record: &Record{Identity: "ours", Nonce: "next"}}},
		"an earlier copy": {content: content{record: &Record{Identity: "ours", Nonce: "earlier"}},
			want: ReasonOutdated},
		"an earlier copy, by its time": {
			content: content{record: &Record{Identity: "ours", Nonce: "earlier", RecordedAt: at.Add(-time.Hour)}},
			want:    ReasonOutdated,
		},
		"a restored snapshot of the last record": {
			content: content{record: &Record{Identity: "ours", Nonce: "restored", RecordedAt: at}}, want: ReasonOutdated,
		},
		"both restored, the store to a later time": {
			content: content{record: &Record{Identity: "ours", Nonce: RestoredNonce + "sum", RecordedAt: at.Add(time.Hour)}},
			want:    ReasonOutdated,
		},
		"a host cluster that was restored": {
			content: content{record: &Record{Identity: "ours", Nonce: "later", RecordedAt: at.Add(time.Hour)}},
			want:    ReasonHostOutdated,
		},
		"another store": {content: content{record: &Record{Identity: "theirs", Nonce: "x"}},
			want: ReasonForeign},
		"another store with one of our nonces": {content: content{record: &Record{Identity: "theirs", Nonce: "last"}},
			want: ReasonForeign},
		"an empty store":                        {want: ReasonEmpty},
		"a copy from before there was a record": {content: content{websites: 3}, want: ReasonForeign},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := reasonOf(compare(host, test.content)); got != test.want {
				t.Errorf("reason = %q, want %q", got, test.want)
			}
		})
	}
}

func TestAdoptable(t *testing.T) {
	ofA := OwnedObject{"deployments", "default", "a", "a", "uid-a", true}
	ofB := OwnedObject{"services", "default", "b", "b", "uid-b", true}
	recorded := content{record: &Record{Identity: "ours", Nonce: "last"}}
	tests := map[string]struct {
		content  content
		owned    []OwnedObject
		websites []types.UID
		want     string
	}{
		"a new store in a new cluster": {},
		"a store from before there was a record": {owned: []OwnedObject{ofA, ofB},
			websites: []types.UID{"uid-a", "uid-b"}},
		"the record of the host was deleted": {content: recorded, owned: []OwnedObject{ofA},
			websites: []types.UID{"uid-a", "uid-b"}},
		"Websites without children":               {websites: []types.UID{"uid-a"}},
		"an empty store, and objects with owners": {owned: []OwnedObject{ofA}, want: ReasonEmpty},
		"a store without one of the owners": {owned: []OwnedObject{ofA, ofB},
			websites: []types.UID{"uid-a"}, want: ReasonUnknownOwners},
		"a store with a Website of the same name": {owned: []OwnedObject{ofA},
			websites: []types.UID{"uid-other"}, want: ReasonUnknownOwners},
		"the store of another cluster": {content: recorded, websites: []types.UID{"uid-other"},
			want: ReasonForeign},
		"a recorded store without Websites, in an empty cluster": {content: recorded},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			uids := sets.New(test.websites...)
			closed := adoptable(test.content, test.owned, unknownOwners(test.owned, uids), len(uids))
			if got := reasonOf(closed); got != test.want {
				t.Errorf("reason = %q, want %q", got, test.want)
			}
		})
	}
}
