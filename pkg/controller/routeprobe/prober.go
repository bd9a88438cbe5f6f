package routeprobe

import (
	"context"
	"errors"
	"maps"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"time"

	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"

	"github.com/kubesites/website-apiserver/pkg/controller/fairqueue"
)

const (
	// workers is how many Websites are probed at the same time, share how many of one namespace, and
	// hostsAtOnce how many hosts of each: hosts that do not answer take their worker's time.
	workers, share, hostsAtOnce = 32, 8, 8
	// healthyPeriod is the interval of probes of a Website whose hosts are all found.
	healthyPeriod = time.Minute
	// failingPeriod is the interval while one is not.
	failingPeriod = 10 * time.Second
	// requestTimeout bounds the probe of one host.
	requestTimeout = 10 * time.Second
)

// Config is what a Prober works with.
type Config struct {
	// Changed is called with a Website of which something else was observed.
	Changed func(cache.ObjectName)
	// Clock gives the times of probes.
	Clock clock.WithTicker
	// Resolver looks up the hosts. Default: that of the process.
	Resolver Resolver
	// Dial connects to an address. Default: that of the process, which refuses link-local
	// addresses.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Prober probes the hosts of Websites.
type Prober struct {
	requester requester
	changed   func(cache.ObjectName)
	clock     clock.PassiveClock
	fair      *fairqueue.Queue[cache.ObjectName]
	queue     workqueue.TypedDelayingInterface[cache.ObjectName]

	mu    sync.Mutex
	known map[cache.ObjectName]*observed
}

// observed is a Website, its requests and what they have shown.
type observed struct {
	target  Target
	results map[string]Result
}

// New returns a Prober.
func New(config Config) *Prober {
	if config.Resolver == nil {
		config.Resolver = net.DefaultResolver
	}
	if config.Dial == nil {
		config.Dial = (&net.Dialer{Control: refuseLinkLocal}).DialContext
	}
	fair := fairqueue.New(share, func(key cache.ObjectName) string { return key.Namespace })
	storage := workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[cache.ObjectName]{Clock: config.Clock, Queue: fair})
	return &Prober{
		requester: requester{resolver: config.Resolver, dial: config.Dial, now: config.Clock.Now},
		changed:   config.Changed,
		clock:     config.Clock,
		fair:      fair,
		queue:     workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[cache.ObjectName]{Clock: config.Clock, Queue: storage}),
		known:     map[cache.ObjectName]*observed{},
	}
}

// refuseLinkLocal is called with the address that a connection is about to be made to. A
// Gateway has no link-local address, but whoever creates one may request it; there are the
// metadata services of clouds, which would answer website-controller.
func refuseLinkLocal(_, address string, _ syscall.RawConn) error {
	parsed, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	if parsed.Addr().Unmap().IsLinkLocalUnicast() {
		return errors.New("link-local addresses are not requested")
	}
	return nil
}

// Want has a Website probed: at once when the target is another, and also when again is
// true. It returns what is known of each host by now.
func (p *Prober) Want(key cache.ObjectName, target Target, again bool) map[string]Result {
	p.mu.Lock()
	defer p.mu.Unlock()
	website, found := p.known[key]
	if !found {
		website = &observed{results: map[string]Result{}}
		p.known[key] = website
	}
	if !found || again || !website.target.equal(target) {
		website.target = target
		p.queue.Add(key)
	}
	return maps.Clone(website.results)
}

// Forget ends the probes of a Website.
func (p *Prober) Forget(key cache.ObjectName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.known, key)
}

// Run probes until the context ends.
func (p *Prober) Run(ctx context.Context) {
	var pool sync.WaitGroup
	defer pool.Wait()
	defer p.queue.ShutDown()
	for range workers {
		pool.Go(func() {
			for {
				key, shutdown := p.queue.Get()
				if shutdown {
					return
				}
				begun := p.clock.Now()
				p.probe(ctx, key)
				p.fair.Finish(key, p.clock.Since(begun))
				p.queue.Done(key)
			}
		})
	}
	<-ctx.Done()
}

func (p *Prober) probe(ctx context.Context, key cache.ObjectName) {
	p.mu.Lock()
	website, found := p.known[key]
	var target Target
	if found {
		target = website.target
	}
	p.mu.Unlock()
	if !found || ctx.Err() != nil {
		return
	}
	results, period := p.probeHosts(ctx, target), healthyPeriod
	for _, result := range results {
		if result.Failure != "" {
			period = failingPeriod
		}
	}
	if ctx.Err() != nil {
		return // What failed has failed for another reason.
	}
	p.mu.Lock()
	current := p.known[key] == website && website.target.equal(target)
	isNews := current && !maps.Equal(website.results, results)
	if current {
		website.results = results
		p.queue.AddAfter(key, period)
	}
	p.mu.Unlock()
	if isNews {
		p.changed(key)
	}
}

func (p *Prober) probeHosts(ctx context.Context, target Target) map[string]Result {
	probed := make([]Result, len(target.Hosts))
	workqueue.ParallelizeUntil(ctx, hostsAtOnce, len(target.Hosts), func(i int) {
		bounded, cancel := context.WithTimeout(ctx, requestTimeout)
		defer cancel()
		probed[i] = p.requester.probe(bounded, target.Addresses, target.Hosts[i])
	})
	results := map[string]Result{}
	for i, host := range target.Hosts {
		results[host.Name] = probed[i]
	}
	return results
}
