package store

import (
	"context"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"testing"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
)

// proxy stands for one in front of etcd, which keeps its clients' connections
// while it is pointed to another cluster.
type proxy struct {
	etcdserverpb.UnimplementedKVServer
	etcdserverpb.UnimplementedWatchServer

	behind atomic.Pointer[clientv3.Client]
	// clusterID replaces the ID of the etcds behind, which all have the
	// same; 0 leaves it.
	clusterID atomic.Uint64
}

// newProxy returns a proxy in front of an etcd, and its endpoint.
func newProxy(t *testing.T, behind *clientv3.Client) (*proxy, string) {
	t.Helper()
	p := &proxy{}
	p.behind.Store(behind)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	etcdserverpb.RegisterKVServer(server, p)
	etcdserverpb.RegisterWatchServer(server, p)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return p, "http://" + listener.Addr().String()
}

func (p *proxy) changed(header *etcdserverpb.ResponseHeader) {
	if id := p.clusterID.Load(); id != 0 && header != nil {
		header.ClusterId = id
	}
}

func (p *proxy) kv() etcdserverpb.KVClient {
	return etcdserverpb.NewKVClient(p.behind.Load().ActiveConnection())
}

func (p *proxy) Range(ctx context.Context, r *etcdserverpb.RangeRequest) (*etcdserverpb.RangeResponse, error) {
	response, err := p.kv().Range(ctx, r)
	p.changed(response.GetHeader())
	return response, err
}

func (p *proxy) Txn(ctx context.Context, r *etcdserverpb.TxnRequest) (*etcdserverpb.TxnResponse, error) {
	response, err := p.kv().Txn(ctx, r)
	p.changed(response.GetHeader())
	return response, err
}

// Watch forwards one watch, whose responses come from the etcd that is behind the
// proxy when they are sent: what follows a replacement is seen as it would be in
// an etcd that is replaced.
func (p *proxy) Watch(stream etcdserverpb.Watch_WatchServer) error {
	request, err := stream.Recv()
	if err != nil {
		return err
	}
	upstream, err := etcdserverpb.NewWatchClient(p.behind.Load().ActiveConnection()).Watch(stream.Context())
	if err != nil {
		return err
	}
	if err := upstream.Send(request); err != nil {
		return err
	}
	for {
		response, err := upstream.Recv()
		if err != nil {
			return err
		}
		p.changed(response.GetHeader())
		if err := stream.Send(response); err != nil {
			return err
		}
	}
}

// RangeStream forwards a list.
func (p *proxy) RangeStream(r *etcdserverpb.RangeRequest, stream etcdserverpb.KV_RangeStreamServer) error {
	upstream, err := p.kv().RangeStream(stream.Context(), r)
	if err != nil {
		return err
	}
	for {
		response, err := upstream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		p.changed(response.GetRangeResponse().GetHeader())
		if err := stream.Send(response); err != nil {
			return err
		}
	}
}
