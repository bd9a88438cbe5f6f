package bench

import (
	"context"
	"crypto/tls"
	"fmt"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// storedBytes returns the mean size of the values in etcd whose keys begin with prefix.
func storedBytes(ctx context.Context, endpoint string, config *tls.Config, prefix string) (int64, error) {
	etcd, err := clientv3.New(clientv3.Config{Endpoints: []string{endpoint}, TLS: config, DialTimeout: 10 * time.Second})
	if err != nil {
		return 0, fmt.Errorf("connecting to etcd: %w", err)
	}
	defer func() { _ = etcd.Close() }()
	// All are alike, and one response of etcd must not become too large.
	found, err := etcd.Get(ctx, prefix, clientv3.WithPrefix(), clientv3.WithLimit(100))
	if err != nil {
		return 0, fmt.Errorf("reading %s from etcd: %w", prefix, err)
	}
	if len(found.Kvs) == 0 {
		return 0, fmt.Errorf("etcd has no keys in %s", prefix)
	}
	var total int64
	for _, pair := range found.Kvs {
		total += int64(len(pair.Value))
	}
	return total / int64(len(found.Kvs)), nil
}
