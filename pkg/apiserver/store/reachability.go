package store

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

const (
	// requestTimeout bounds a request to etcd about one object. Clients get an answer
	// within 3 seconds, whether etcd is stopped or hangs.
	requestTimeout = 2 * time.Second
	// probeInterval is the time between an answer of etcd and the next probe.
	probeInterval = 500 * time.Millisecond
)

// reachability is whether etcd answers. Requests are refused at once while it does
// not: each would wait for its timeout.
type reachability struct {
	// outage is nil while etcd answers.
	outage atomic.Pointer[Outage]
	// answering ends when etcd is found not to answer.
	answering atomic.Pointer[opening]
	// answers counts the answers of etcd.
	answers atomic.Int64
	// client is the client of the probes, nil while there are none.
	client atomic.Pointer[clientv3.Client]
}

// Outage is a time in which the store does not answer.
type Outage struct {
	// Since is the time of its begin.
	Since time.Time
	// Message is the error of the last probe.
	Message string
}

// Outage returns why the store does not answer, nil if it does.
func (g *Guard) Outage() *Outage { return g.reach.outage.Load() }

// watchReachability probes etcd until ctx ends.
func (g *Guard) watchReachability(ctx context.Context, clock clock.Clock) {
	var members []*clientv3.Client
	for _, endpoint := range g.config.Etcd.Transport.ServerList {
		client, err := g.dialer.client(endpoint)
		if err != nil {
			// New has read the same configuration.
			klog.FromContext(ctx).Error(err, "Failed to connect to the store")
			return
		}
		defer client.Close() //nolint:errcheck // Nothing was sent that could be lost.
		members = append(members, client)
	}
	g.reach.client.Store(members[0])
	defer g.reach.client.Store(nil)
	answered := clock.Now()
	for ctx.Err() == nil {
		answers := g.reach.answers.Load()
		err := g.probe(ctx, members)
		switch {
		case err == nil:
			answered = clock.Now()
			g.reachable(ctx)
		case ctx.Err() != nil:
			return
		case g.reach.answers.Load() != answers:
			// Another member answers.
			answered = clock.Now()
		case clock.Since(answered) >= requestTimeout:
			g.unreachable(ctx, &Outage{Since: answered, Message: g.cause(err).Error()})
		}
		select {
		case <-ctx.Done():
		case <-clock.After(probeInterval):
		}
	}
}

// probe reads linearizably: an etcd without a leader cannot serve, either. Any of the members may answer: one whose
// disk hangs does not, while the others do. It returns the error of the last one otherwise.
func (g *Guard) probe(ctx context.Context, members []*clientv3.Client) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	results := make(chan error, len(members))
	var probes sync.WaitGroup
	defer probes.Wait()
	defer cancel()
	for _, member := range members {
		probes.Go(func() {
			_, err := etcdserverpb.NewKVClient(member.ActiveConnection()).Range(ctx,
				&etcdserverpb.RangeRequest{Key: []byte(g.keys.record()), CountOnly: true})
			results <- err
		})
	}
	var err error
	for range members {
		if err = <-results; err == nil {
			return nil
		}
	}
	return err
}

// cause returns why etcd does not answer, which the process knows if it runs it.
func (g *Guard) cause(err error) error {
	if g.config.Failure != nil {
		if failure := g.config.Failure(); failure != nil {
			return failure
		}
	}
	if s, ok := status.FromError(err); ok && s.Code() != codes.DeadlineExceeded {
		return fmt.Errorf("etcd does not answer: %s", s.Message())
	}
	return fmt.Errorf("etcd has not answered within %s", requestTimeout)
}

func (g *Guard) reachable(ctx context.Context) {
	last := g.Outage()
	if last == nil {
		return
	}
	// First the context of requests: one that finds no outage must not find the last
	// one's end.
	g.reach.answering.Store(newOpening())
	g.reach.outage.Store(nil)
	recordReachable(true)
	klog.FromContext(ctx).Info("The store answers again", "unreachable", time.Since(last.Since).Round(time.Second))
	if g.config.Reached != nil {
		g.config.Reached(nil)
	}
}

func (g *Guard) unreachable(ctx context.Context, outage *Outage) {
	if last := g.reach.outage.Swap(outage); last != nil {
		return
	}
	g.reach.answering.Load().end()
	recordReachable(false)
	klog.FromContext(ctx).Error(nil, "The store does not answer: requests for Websites that need it are answered with 503",
		"message", outage.Message, "since", outage.Since)
	if g.config.Reached != nil {
		g.config.Reached(outage)
	}
}
