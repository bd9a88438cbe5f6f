package embeddedetcd

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

// retryInterval is the time between two attempts to start etcd.
const retryInterval = time.Second

// errStarting is the failure before the first attempt has ended.
var errStarting = errors.New("the embedded etcd is starting")

// Supervisor starts etcd as soon as possible: once the disk has space, and no other
// process uses the data directory. Make one with NewSupervisor, call Run, and Close
// once etcd is no longer used.
type Supervisor struct {
	config Config
	clock  clock.Clock
	// failure is the reason why etcd does not run.
	failure atomic.Pointer[error]
	// attempted is closed when the first attempt has ended.
	attempted     chan struct{}
	attemptedOnce sync.Once
	// server is set by Run, nil while etcd does not run.
	server atomic.Pointer[Server]
}

// NewSupervisor returns a Supervisor whose etcd does not run yet.
func NewSupervisor(config Config, clock clock.Clock) *Supervisor {
	s := &Supervisor{config: config, clock: clock, attempted: make(chan struct{})}
	s.failure.Store(&errStarting)
	recordRunning(false)
	return s
}

// Failure returns why etcd does not run, nil if it does.
func (s *Supervisor) Failure() error {
	if failure := s.failure.Load(); failure != nil {
		return *failure
	}
	return nil
}

// Wait waits until the first attempt to start etcd has ended, or ctx ends.
func (s *Supervisor) Wait(ctx context.Context) {
	select {
	case <-s.attempted:
	case <-ctx.Done():
	}
}

// Run starts etcd, and maintains it until ctx ends. It returns an error when etcd fails
// after it has started.
func (s *Supervisor) Run(ctx context.Context) error {
	for s.server.Load() == nil {
		server, err := Start(ctx, s.config)
		if err == nil {
			s.server.Store(server)
			s.failure.Store(nil)
			recordRunning(true)
		} else {
			s.fail(ctx, err)
		}
		s.attemptedOnce.Do(func() { close(s.attempted) })
		if err == nil {
			break
		}
		select {
		case <-ctx.Done():
			return nil
		case <-s.clock.After(retryInterval):
		}
	}
	var maintenance sync.WaitGroup
	defer maintenance.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	server := s.server.Load()
	maintenance.Go(func() { server.Maintain(ctx) })
	return server.Wait(ctx)
}

func (s *Supervisor) fail(ctx context.Context, err error) {
	last := s.Failure()
	s.failure.Store(&err)
	if ctx.Err() == nil && err.Error() != last.Error() {
		klog.FromContext(ctx).Error(err,
			"Failed to start the embedded etcd, retrying: requests for Websites are answered with 503")
	}
}

// Close stops etcd, if it runs. Run must have returned.
func (s *Supervisor) Close() error {
	if server := s.server.Load(); server != nil {
		return server.Close()
	}
	return nil
}
