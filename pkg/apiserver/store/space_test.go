package store

import (
	"context"
	"errors"
	"slices"
	"testing"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc"
)

// TestSpaceIsReported: only the changes are reported, and only by requests that store.
func TestSpaceIsReported(t *testing.T) {
	var reported []string
	g, err := New(Config{Full: func(message string) { reported = append(reported, message) }})
	if err != nil {
		t.Fatal(err)
	}
	put := &etcdserverpb.TxnRequest{
		Success: []*etcdserverpb.RequestOp{
			{Request: &etcdserverpb.RequestOp_RequestPut{RequestPut: &etcdserverpb.PutRequest{}}},
		},
	}
	remove := &etcdserverpb.TxnRequest{
		Success: []*etcdserverpb.RequestOp{
			{Request: &etcdserverpb.RequestOp_RequestDeleteRange{RequestDeleteRange: &etcdserverpb.DeleteRangeRequest{}}},
		},
	}
	send := func(request any, result error) {
		_ = g.unary(t.Context(), etcdserverpb.KV_Txn_FullMethodName, request, nil, nil,
			func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error { return result })
	}
	send(put, nil)
	send(put, rpctypes.ErrGRPCNoSpace)
	send(put, rpctypes.ErrGRPCNoSpace)
	send(remove, nil)
	send(put, errors.New("another error"))
	send(put, nil)
	send(put, nil)
	if want := []string{messageFull, ""}; !slices.Equal(reported, want) {
		t.Errorf("reported %q, want %q", reported, want)
	}
}
