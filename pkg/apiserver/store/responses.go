package store

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync/atomic"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"k8s.io/klog/v2"
)

// A gRPC proxy in front of etcd keeps its clients' connections while it is pointed
// to another cluster. Therefore the header of every response is checked, too.

// verification marks the requests of a verification, which are not verified.
type verification struct{}

// headed is implemented by all responses of etcd.
type headed interface {
	GetHeader() *etcdserverpb.ResponseHeader
}

// linearizable reports whether the revision of the response cannot be lower than
// the revision of a response that came before the request was sent.
func linearizable(method string, request any) bool {
	if r, ok := request.(*etcdserverpb.RangeRequest); ok {
		return !r.Serializable
	}
	return strings.HasPrefix(method, "/etcdserverpb.KV/")
}

// writable returns an error while there is too little space to write.
func (g *Guard) writable() error {
	if g.config.Writable == nil {
		return nil
	}
	return g.config.Writable()
}

// writes reports whether a request may need space.
func writes(method string) bool {
	return method == etcdserverpb.KV_Put_FullMethodName || method == etcdserverpb.KV_Txn_FullMethodName
}

func (g *Guard) unary(ctx context.Context, method string, request, reply any, cc *grpc.ClientConn,
	invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
	// etcd ends the process when it cannot write: it must not try, neither for a
	// client of the API nor for its own compaction.
	if writes(method) && g.writable() != nil {
		g.noteSpace(rpctypes.ErrGRPCNoSpace)
		return rpctypes.ErrGRPCNoSpace
	}
	ordered := linearizable(method, request)
	var floor int64
	if ordered {
		floor = g.revision.Load()
	}
	err := invoke(ctx, method, request, reply, cc, options...)
	if puts(request) {
		g.noteSpace(err)
	}
	if err != nil {
		return err
	}
	if ctx.Value(verification{}) != nil {
		return nil
	}
	response, ok := reply.(headed)
	if !ok {
		return nil
	}
	if err := g.admit(ctx, cc, response.GetHeader(), floor); err != nil {
		return err
	}
	if ordered {
		g.raise(response.GetHeader().GetRevision())
	}
	return nil
}

func (g *Guard) stream(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string,
	streamer grpc.Streamer, options ...grpc.CallOption) (grpc.ClientStream, error) {
	ctx, cancel := context.WithCancel(ctx)
	stream, err := streamer(ctx, desc, cc, method, options...)
	if err != nil {
		cancel()
		return nil, err
	}
	return &guardedStream{ClientStream: stream, guard: g, cc: cc, cancel: cancel}, nil
}

// guardedStream lets no message pass that is not of the right store.
type guardedStream struct {
	grpc.ClientStream
	guard *Guard
	cc    *grpc.ClientConn
	// revision is the highest revision of a message of this stream, or the revision at the request of a range.
	// Others may be ahead of a watch, which can be served by a member that lags.
	revision int64
	// ordered is set for ranges that are linearizable.
	ordered bool
	// cancel ends the stream.
	cancel context.CancelFunc
	// refused is the error that the stream was ended with.
	refused atomic.Pointer[error]
}

// SendMsg sends a message.
func (s *guardedStream) SendMsg(message any) error {
	switch request := message.(type) {
	case *etcdserverpb.WatchRequest:
		s.refuseResumption(request)
	case *etcdserverpb.RangeRequest:
		if s.ordered = !request.Serializable; s.ordered {
			s.revision = s.guard.revision.Load()
		}
	}
	return s.ClientStream.SendMsg(message)
}

// RecvMsg receives the next message.
func (s *guardedStream) RecvMsg(message any) error {
	if err := s.ClientStream.RecvMsg(message); err != nil {
		s.cancel()
		if end, ok := s.Context().Value(streamEnd{}).(func()); ok && errors.Is(err, io.EOF) {
			end() // Another error may have the request repeated.
		}
		if refused := s.refused.Load(); refused != nil {
			return *refused
		}
		return resumable(err)
	}
	// A streamed range has its header inside.
	if streamed, ok := message.(*etcdserverpb.RangeStreamResponse); ok {
		message = streamed.GetRangeResponse()
	}
	response, ok := message.(headed)
	// Only one of the messages of a streamed range has a header.
	if !ok || response.GetHeader() == nil {
		return nil
	}
	header := response.GetHeader()
	if err := s.guard.admit(s.Context(), s.cc, header, s.revision); err != nil {
		return err
	}
	s.revision = max(s.revision, header.GetRevision())
	if s.ordered {
		s.guard.raise(s.revision)
	}
	return nil
}

// resumable lets etcd's client resume a watch, at another member if there is one, when
// its member has lost the leader. It would end the watch, and the watch cache would be
// empty until it can be listed again.
func resumable(err error) error {
	if errors.Is(rpctypes.Error(err), rpctypes.ErrNoLeader) {
		return status.Error(codes.Unavailable, "the member of etcd has no leader")
	}
	return err
}

// admit returns an error unless a response is of the right store. One of another
// etcd cluster, or of a revision below floor, has the store verified first, over
// the same connection.
func (g *Guard) admit(ctx context.Context, cc *grpc.ClientConn, header *etcdserverpb.ResponseHeader,
	floor int64) error {
	if header.GetClusterId() == g.clusterID.Load() && header.GetRevision() >= floor {
		return nil
	}
	klog.FromContext(ctx).Info("A response of etcd is of another cluster or an earlier revision than the last one, the "+
		"store is verified", "clusterID", header.GetClusterId(), "lastClusterID", g.clusterID.Load(), "revision",
		header.GetRevision(), "lastRevision", floor)
	ctx, cancel := context.WithTimeout(context.WithValue(ctx, verification{}, true), verifyTimeout)
	defer cancel()
	endpoints := g.config.Etcd.Transport.ServerList
	c, closed, err := g.verify(ctx, etcdserverpb.NewKVClient(cc), endpoints[0])
	switch {
	case err != nil:
		return status.Error(codes.Unavailable, err.Error())
	case closed != nil:
		g.setVerdict(ctx, closed, endpoints...)
		// Not Unavailable, which etcd's client would retry.
		return status.Error(codes.FailedPrecondition, "the store is closed: "+closed.forClients())
	}
	g.verified(c)
	if header.GetClusterId() != c.clusterID || header.GetRevision() > c.revision {
		return status.Error(codes.Unavailable, "etcd was replaced while it answered")
	}
	return nil
}

// raise notes a revision.
func (g *Guard) raise(revision int64) {
	for {
		last := g.revision.Load()
		if revision <= last || g.revision.CompareAndSwap(last, revision) {
			return
		}
	}
}
