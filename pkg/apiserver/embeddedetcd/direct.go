package embeddedetcd

import (
	"context"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"k8s.io/component-base/tracing"
)

// longRequest is the duration from which a request is logged with its trace, as in the storage
// of k8s.io/apiserver.
const longRequest = 500 * time.Millisecond

// Direct is an interceptor for etcd's client that sends reads and writes of keys to the etcd in
// this process by function calls: the socket and the encoding on both of its sides take more
// time than etcd itself. Other requests, and all requests while etcd does not run, are sent over
// the connection.
func (s *Supervisor) Direct(ctx context.Context, method string, request, reply any, cc *grpc.ClientConn,
	invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
	server := s.server.Load()
	to, ok := reply.(proto.Message)
	if server == nil || !ok {
		return invoke(ctx, method, request, reply, cc, options...)
	}
	switch r := request.(type) {
	case *etcdserverpb.RangeRequest:
		return answer(ctx, method, to, server, local(r), server.kv.Range)
	case *etcdserverpb.TxnRequest:
		return answer(ctx, method, to, server, r, server.kv.Txn)
	default:
		return invoke(ctx, method, request, reply, cc, options...)
	}
}

// local returns a read that does not check with other members whether this one lags behind: there
// are none, and this one responds to a write after applying it.
func local(r *etcdserverpb.RangeRequest) *etcdserverpb.RangeRequest {
	r = proto.CloneOf(r)
	r.Serializable = true
	return r
}

// answer calls etcd, with the span of a request over a connection.
func answer[Request any, Response proto.Message](ctx context.Context, method string, to proto.Message, server *Server,
	request Request, call func(context.Context, Request) (Response, error)) error {
	ctx, span := tracing.Start(ctx, strings.TrimPrefix(method, "/"))
	defer span.End(longRequest)
	response, err := bounded(ctx, server, request, call)
	if err != nil {
		return err
	}
	// A second attempt reuses the message of the first.
	proto.Reset(to)
	// Messages in it are not copied, as it is not used otherwise.
	response.ProtoReflect().Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		to.ProtoReflect().Set(field, value)
		return true
	})
	return nil
}

// bounded ends a call with its context. etcd may make it wait for a commit or a
// defragmentation, however long the disk takes. etcd waits for calls before it closes
// its database.
func bounded[Request, Response any](ctx context.Context, server *Server, request Request,
	call func(context.Context, Request) (Response, error)) (response Response, err error) {
	if err := ctx.Err(); err != nil {
		return response, status.FromContextError(err).Err() //nolint:wrapcheck // It has the code that a client gets.
	}
	type result struct {
		response Response
		err      error
	}
	answered := make(chan result, 1)
	server.etcd.Server.GoAttach(func() {
		response, err := call(ctx, request)
		answered <- result{response, err}
	})
	select {
	case r := <-answered:
		return r.response, r.err
	case <-ctx.Done():
		return response, status.FromContextError(ctx.Err()).Err() //nolint:wrapcheck // It has the code that a client gets.
	case <-server.etcd.Server.StoppingNotify():
		return response, rpctypes.ErrGRPCStopped
	}
}
