package store

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/klog/v2"
)

// verifyTimeout bounds one verification, which takes a few requests to etcd and
// to the host cluster.
const verifyTimeout = 10 * time.Second

// connectionTimeout bounds the first request of a connection. A slow etcd takes several
// round trips until it answers that.
const connectionTimeout = 5 * time.Second

// Config configures a Guard.
type Config struct {
	// Etcd configures the client of the store, and its prefix.
	Etcd storagebackend.Config
	// Host is the record of the host cluster.
	Host HostRecords
	// Owned lists the objects of the host cluster that Websites own.
	Owned func(context.Context) ([]OwnedObject, error)
	// Websites lists the UIDs of the Websites in the store at an endpoint.
	Websites func(ctx context.Context, endpoint string) (sets.Set[types.UID], error)
	// Writable returns an error while there is too little space to write. Nil: only
	// etcd knows.
	Writable func() error
	// Failure returns the reason why the embedded etcd of this process does not run. Nil:
	// it has none.
	Failure func() error
	// Direct has the etcd in this process answer without a connection. Nil: there is none.
	Direct grpc.UnaryClientInterceptor
	// Full is called when there is no space to store a value any more, with the reason,
	// and when there is again, with "". Nil: it is not reported.
	Full func(message string)
	// Reached is called when the store does not answer any more, with the outage, and
	// when it answers again, with nil. Nil: it is not reported.
	Reached func(outage *Outage)
	// Changed is called when the server closes, with the reason, and when it opens,
	// with nil.
	Changed func(ctx context.Context, closed *Closed)
}

// Guard knows whether the store is the one that the host cluster was served from,
// and lets no response of any other pass. Make one with New, call Start before
// anything is read through it, and Run while the server runs.
type Guard struct {
	config Config
	keys   keys
	dialer dialer
	// full is whether the last value could not be stored for lack of space.
	full atomic.Bool
	// unreadable logs the Websites that cannot be read.
	unreadable unreadableLog

	// state is nil while the server is open.
	state atomic.Pointer[Closed]
	// opening is the last time that the server was open.
	opening atomic.Pointer[opening]
	// reach is whether the store answers.
	reach reachability
	// clusterID is the ID of the etcd cluster that was verified last, revision the
	// highest revision of a linearizable response since.
	clusterID atomic.Uint64
	revision  atomic.Int64

	// verifying admits one verification at a time, so that two of them do not
	// both adopt a store.
	verifying sync.Mutex

	mu sync.Mutex
	// verdicts are the last ones by endpoint. The server is open while one of the
	// endpoints is of the right store: no connection is made to the others.
	verdicts map[string]*Closed
	// nonce is the last one that this process has verified or written.
	nonce string
}

// opening is a time in which the server is open. Its context ends with it.
type opening struct {
	ctx context.Context
	end context.CancelFunc
}

func newOpening() *opening {
	ctx, cancel := context.WithCancel(context.Background())
	return &opening{ctx: ctx, end: cancel}
}

// New returns a Guard that is closed until the store was verified. It returns an
// error when the configuration of etcd's client cannot be read.
func New(config Config) (*Guard, error) {
	dialer, err := newDialer(config.Etcd.Transport)
	if err != nil {
		return nil, err
	}
	dialer.failure = config.Failure
	g := &Guard{config: config, keys: keys{config.Etcd.Prefix}, dialer: dialer, verdicts: map[string]*Closed{}}
	g.state.Store(&Closed{ReasonUnverified, findings[ReasonUnverified]})
	g.opening.Store(newOpening())
	g.reach.answering.Store(newOpening())
	recordState(g.Closed())
	recordReachable(true)
	return g, nil
}

// Closed returns why no request for Websites may be answered, nil if the server is
// open.
func (g *Guard) Closed() *Closed { return g.state.Load() }

// Start verifies the store once, so that a server that is right begins open. A
// store that is not right, or not reachable, is for Run to look after.
func (g *Guard) Start(ctx context.Context) {
	g.verifyAll(ctx)
}

// verifyAll verifies the store at every endpoint.
func (g *Guard) verifyAll(ctx context.Context) {
	var endpoints sync.WaitGroup
	for _, endpoint := range g.config.Etcd.Transport.ServerList {
		endpoints.Go(func() {
			if err := g.verifyEndpoint(ctx, endpoint); err != nil {
				klog.FromContext(ctx).V(2).Info("The store cannot be verified", "endpoint", endpoint, "err", err)
			}
		})
	}
	endpoints.Wait()
}

// verifyEndpoint verifies the store at an endpoint, over a connection of its own.
// It returns an error when nothing may be read from there: the store is not the
// right one, or does not answer.
func (g *Guard) verifyEndpoint(ctx context.Context, endpoint string) error {
	ctx, cancel := context.WithTimeout(ctx, verifyTimeout)
	defer cancel()
	client, err := g.dialer.client(endpoint)
	if err != nil {
		return err
	}
	defer client.Close() //nolint:errcheck // Nothing was sent that could be lost.
	c, closed, err := g.verify(ctx, etcdserverpb.NewKVClient(client.ActiveConnection()), endpoint)
	if err != nil {
		return err
	}
	if closed == nil {
		g.verified(c)
	}
	g.setVerdict(ctx, closed, endpoint)
	if closed != nil {
		return fmt.Errorf("the store at %s is closed: %s", endpoint, closed.Message)
	}
	return nil
}

// verified notes the cluster ID and revision of the right store.
func (g *Guard) verified(c content) {
	g.revision.Store(c.revision)
	g.clusterID.Store(c.clusterID)
	g.setLastNonce(c.record.Nonce)
}

func (g *Guard) lastNonce() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.nonce
}

func (g *Guard) setLastNonce(nonce string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.nonce = nonce
}

// verify compares the records of the store and the host cluster. It returns an error
// when the store is unreachable: its identity is unknown then.
func (g *Guard) verify(ctx context.Context, kv etcdserverpb.KVClient, endpoint string) (content, *Closed, error) {
	// An endpoint that hangs must not hold up the others.
	answers, cancel := context.WithTimeout(ctx, connectionTimeout)
	_, err := g.keys.read(answers, kv)
	cancel()
	if err != nil {
		return content{}, nil, err
	}
	g.verifying.Lock()
	defer g.verifying.Unlock()
	for {
		before, err := g.keys.read(ctx, kv)
		if err != nil {
			return content{}, nil, err
		}
		host, err := g.config.Host.Get(ctx)
		if err != nil {
			return before, &Closed{ReasonHostUnreachable,
				"the record of the store cannot be read from the host cluster: " + err.Error()}, nil
		}
		if host == nil {
			adopted, closed, err := g.adopt(ctx, before, endpoint)
			if err != nil || closed != nil || adopted {
				return before, closed, err
			}
			continue
		}
		after, err := g.keys.read(ctx, kv)
		if err != nil {
			return content{}, nil, err
		}
		// Another server may have recorded between the reads, and have taken the
		// nonce that was read first out of the host's record.
		if before.raw == after.raw {
			return after, compare(*host, after), nil
		}
	}
}

// setVerdict records the verdict on endpoints, and closes or opens the server.
func (g *Guard) setVerdict(ctx context.Context, closed *Closed, endpoints ...string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if closed != nil {
		withAdvice := *closed
		withAdvice.Message += "; " + closed.advice()
		closed = &withAdvice
	}
	for _, endpoint := range endpoints {
		g.verdicts[endpoint] = closed
	}
	for _, verdict := range g.verdicts {
		if verdict == nil {
			closed = nil
		}
	}
	if closed == nil && g.opening.Load().ctx.Err() != nil {
		g.opening.Store(newOpening())
	}
	previous := g.state.Swap(closed)
	// The message may change all the time, with the number of objects that have an unknown owner.
	if reasonOf(previous) == reasonOf(closed) {
		return
	}
	if closed != nil {
		g.opening.Load().end()
	}
	recordState(closed)
	logger := klog.FromContext(ctx)
	switch {
	case closed == nil:
		logger.Info("The store is the recorded one, the server is open")
	default:
		logger.Error(nil, "The server is closed: requests for Websites are answered with 503", "reason", closed.Reason,
			"message", closed.Message)
	}
	// The state before the first verification is not worth an event.
	if closed != nil || previous.Reason != ReasonUnverified {
		g.config.Changed(ctx, closed)
	}
}

// forget drops the verdicts on all endpoints. The state stays until the next one.
func (g *Guard) forget() {
	g.mu.Lock()
	defer g.mu.Unlock()
	clear(g.verdicts)
}

// reasonOf returns the reason of a closed server, empty for an open one.
func reasonOf(c *Closed) string {
	if c == nil {
		return ""
	}
	return c.Reason
}
