package store

import (
	"context"

	clientv3 "go.etcd.io/etcd/client/v3"
	etcdmetrics "k8s.io/apiserver/pkg/storage/etcd3/metrics"
)

// Monitors returns what measures the size of the store for the metrics, nothing while
// the store does not answer. The library's own waits up to 20 seconds for a connection,
// and /metrics with it.
func (g *Guard) Monitors() ([]etcdmetrics.Monitor, error) {
	client := g.reach.client.Load()
	if client == nil || g.Outage() != nil {
		return nil, nil
	}
	return []etcdmetrics.Monitor{size{client, g.config.Etcd.Transport.ServerList[0]}}, nil
}

// size measures the store at an endpoint.
type size struct {
	client   *clientv3.Client
	endpoint string
}

// Monitor returns the size of the database.
func (s size) Monitor(ctx context.Context) (etcdmetrics.StorageMetrics, error) {
	status, err := s.client.Status(ctx, s.endpoint)
	if err != nil {
		return etcdmetrics.StorageMetrics{}, err
	}
	return etcdmetrics.StorageMetrics{Size: status.DbSize}, nil
}

// Close does nothing: the client belongs to the probes.
func (size) Close() error { return nil }
