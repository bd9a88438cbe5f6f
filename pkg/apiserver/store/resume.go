package store

import (
	"context"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// refuseResumption ends a watch that etcd's client resumes from a revision that the
// store has not reached: another store was accepted meanwhile. The watch cache would
// keep the content of the former one, and miss all changes until that revision.
func (s *guardedStream) refuseResumption(request *etcdserverpb.WatchRequest) {
	start := request.GetCreateRequest().GetStartRevision()
	if start <= s.guard.revision.Load()+1 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithValue(s.Context(), verification{}, true), verifyTimeout)
	defer cancel()
	// Another replica may have written it.
	c, err := s.guard.keys.read(ctx, etcdserverpb.NewKVClient(s.cc))
	switch {
	case err != nil:
		s.refuse(status.Error(codes.Unavailable, err.Error()))
	case start > c.revision+1:
		// Not Unavailable, which etcd's client would retry.
		s.refuse(status.Errorf(codes.FailedPrecondition,
			"the store has not reached revision %d, from which the watch is resumed: it is at %d", start, c.revision))
	}
}

// refuse ends the stream with an error: etcd's client ignores errors of requests.
func (s *guardedStream) refuse(err error) {
	s.refused.CompareAndSwap(nil, &err)
	s.cancel()
}
