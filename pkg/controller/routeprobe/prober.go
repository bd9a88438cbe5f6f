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

	"golang.org/x/time/rate"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"

	"github.com/kubesites/website-apiserver/pkg/controller/fairqueue"
)

const (
	// workers is the number of Websites that are probed concurrently, share the maximum per namespace,
	// and hostsAtOnce the number of hosts of a Website that are probed concurrently. A host that does
	// not respond occupies a worker until requestTimeout.
	workers, share, hostsAtOnce = 32, 8, 8
	// healthyPeriod is the probing interval of a Website whose hosts all respond.
	healthyPeriod = time.Minute
	// failingPeriod is the probing interval while a host fails.
	failingPeriod = 10 * time.Second
	// minPeriod is the shortest interval between two probes of a Website: a user can change a spec
	// many times a second, and each probe requests all hosts.
	minPeriod = 2 * time.Second
	// promptBurst is the number of probes that may begin within minPeriod because of a new host, and
	// promptPeriod the average interval of further such probes.
	promptBurst, promptPeriod = 3, failingPeriod
	// requestTimeout bounds the probe of one host.
	requestTimeout = 10 * time.Second
)

// Config configures a Prober.
type Config struct {
	// Changed is called with a Website whose results have changed.
	Changed func(cache.ObjectName)
	// Clock gives the times of probes.
	Clock clock.WithTicker
	// Resolver looks up the hosts. Default: the resolver of the process.
	Resolver Resolver
	// Dial connects to an address. Default: the dialer of the process, which rejects link-local
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

	mu       sync.Mutex
	websites map[cache.ObjectName]*observed
}

// observed is a Website, its requests and their results.
type observed struct {
	target  Target
	results map[string]Result
	// begun is the time of the last probe.
	begun time.Time
	// prompt limits the probes that begin within minPeriod because of a new host.
	prompt *rate.Limiter
	// forgotten is true for a Website that is no longer probed. The Prober keeps it for a while:
	// otherwise a user could reset its rate limits by removing its hosts for a moment.
	forgotten bool
}

// remembered returns the remaining time for which the Prober keeps a forgotten Website. After that
// time, its rate limits have recovered completely.
func (w *observed) remembered(now time.Time) time.Duration {
	return promptBurst*promptPeriod - now.Sub(w.begun)
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
		queue: workqueue.NewTypedDelayingQueueWithConfig(
			workqueue.TypedDelayingQueueConfig[cache.ObjectName]{Clock: config.Clock, Queue: storage},
		),
		websites: map[cache.ObjectName]*observed{},
	}
}

// refuseLinkLocal is the Control function of a net.Dialer. It rejects link-local addresses: no Gateway
// needs one, but its creator may request one, and the metadata services of clouds, which would
// respond to website-controller, have link-local addresses.
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

// Want sets the target of a Website, and queues a probe when the target has changed or again is true.
// It returns the last result of each host.
func (p *Prober) Want(key cache.ObjectName, target Target, again bool) map[string]Result {
	p.mu.Lock()
	defer p.mu.Unlock()
	website, found := p.websites[key]
	if !found {
		website = &observed{prompt: rate.NewLimiter(rate.Every(promptPeriod), promptBurst)}
		p.websites[key] = website
	}
	if !found || website.forgotten {
		website.target, website.results, website.forgotten, again = Target{}, map[string]Result{}, false, true
	}
	if again || !website.target.equal(target) {
		hasNewHost := website.target.lacks(target.Hosts)
		website.target = target
		p.enqueue(key, website, hasNewHost)
	}
	return maps.Clone(website.results)
}

// enqueue queues a Website, but not within minPeriod of its last probe unless it has a new host. The
// caller holds the lock.
func (p *Prober) enqueue(key cache.ObjectName, website *observed, hasNewHost bool) {
	now := p.clock.Now()
	wait := minPeriod - now.Sub(website.begun)
	if wait > 0 && hasNewHost && website.prompt.AllowN(now, 1) {
		wait = 0
	}
	p.queue.AddAfter(key, wait)
}

// Forget stops probing a Website.
func (p *Prober) Forget(key cache.ObjectName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if website := p.websites[key]; website != nil && !website.forgotten {
		website.forgotten, website.target, website.results = true, Target{}, nil
		p.queue.AddAfter(key, website.remembered(p.clock.Now()))
	}
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

// begin records the start of a probe and returns its Website. For a forgotten Website, it returns nil,
// and deletes the Website when its time is over. The caller holds the lock.
func (p *Prober) begin(key cache.ObjectName) *observed {
	website := p.websites[key]
	if website == nil {
		return nil
	}
	now := p.clock.Now()
	if !website.forgotten {
		website.begun = now
		return website
	}
	if rest := website.remembered(now); rest > 0 {
		p.queue.AddAfter(key, rest)
	} else {
		delete(p.websites, key)
	}
	return nil
}

func (p *Prober) probe(ctx context.Context, key cache.ObjectName) {
	p.mu.Lock()
	website := p.begin(key)
	if website == nil || ctx.Err() != nil {
		p.mu.Unlock()
		return
	}
	target := website.target
	p.mu.Unlock()
	results, period := p.probeHosts(ctx, target), healthyPeriod
	for _, result := range results {
		if result.Failure != "" {
			period = failingPeriod
		}
	}
	if ctx.Err() != nil {
		return // The probe was canceled, so its failures say nothing about the hosts.
	}
	p.mu.Lock()
	current := p.websites[key] == website && !website.forgotten && website.target.equal(target)
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
		probed[i] = p.requester.probe(bounded, target.Hosts[i])
	})
	results := map[string]Result{}
	for i, host := range target.Hosts {
		results[host.Name] = probed[i]
	}
	return results
}
