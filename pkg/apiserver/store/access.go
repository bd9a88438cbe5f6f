package store

import (
	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apiserver/pkg/storage/storagebackend"
)

// NewClient returns a client of etcd at endpoints, whose store may be any. It does not
// wait for etcd.
func NewClient(config storagebackend.TransportConfig, endpoints ...string) (*clientv3.Client, error) {
	dialer, err := newDialer(config)
	if err != nil {
		return nil, err
	}
	return dialer.client(endpoints...)
}

// RecordKey is the key of the Record in a store with this prefix.
func RecordKey(prefix string) string { return keys{prefix}.record() }

// WebsitesPrefix is the common prefix of the keys of all Websites in a store with this
// prefix.
func WebsitesPrefix(prefix string) string { return keys{prefix}.websites() }

// DecodeRecord returns the record that is encoded in the value of RecordKey.
func DecodeRecord(prefix string, value []byte) (*Record, error) { return keys{prefix}.decode(value) }
