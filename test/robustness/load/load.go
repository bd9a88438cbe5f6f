package load

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/kubesites/website-apiserver/test/robustness/history"
)

// Options configure the clients and their requests.
type Options struct {
	// Targets are the servers, by name, with administrators' configurations. history.Balanced has most
	// of the clients.
	Targets map[string]*rest.Config
	// Namespace is empty at the start, and used by this load only.
	Namespace string
	Recorder  *history.Recorder
	// Rate is the number of requests per second to all targets.
	Rate float32
	// Websites is their number.
	Websites int
	// WatchTime is the duration of a watch, in whole seconds. Default: 5 seconds.
	WatchTime time.Duration
	// Writers is the number of writers at history.Balanced. Default: 6.
	Writers int
	// WritesOnly leaves out readers and listers.
	WritesOnly bool
	// WritesPerRead is the number of writes after each read of a writer. Default: 1.
	WritesPerRead int
}

// Load is a running load.
type Load struct {
	options Options
	limiter flowcontrol.RateLimiter
	clients int

	// working ends writers, readers and listers; watching ends watchers, later.
	working, watching       sync.WaitGroup
	stopWorking, stopWatch  context.CancelFunc
	watchers                []*watcher
	workContext, watchTimes context.Context

	mu sync.Mutex
	// revisions are recent revisions to read at.
	revisions []int64
	values    int
}

// These are the numbers of clients of each kind at history.Balanced; the other targets have
// one each.
const (
	writers = 6
	readers = 3
	listers = 2
)

// rememberedRevisions is the number of revisions to read at.
const rememberedRevisions = 100

// Start starts the load. It ends with Finish.
func Start(ctx context.Context, options Options) (*Load, error) {
	if options.Writers == 0 {
		options.Writers = writers
	}
	if options.WritesPerRead == 0 {
		options.WritesPerRead = 1
	}
	if options.WatchTime == 0 {
		options.WatchTime = 5 * time.Second
	}
	l := &Load{options: options, limiter: flowcontrol.NewTokenBucketRateLimiter(options.Rate,
		max(1, int(options.Rate/10)))}
	l.workContext, l.stopWorking = context.WithCancel(ctx)
	l.watchTimes, l.stopWatch = context.WithCancel(ctx)
	for target := range options.Targets {
		if err := l.startClients(target); err != nil {
			l.stopWorking()
			l.stopWatch()
			return nil, err
		}
	}
	return l, nil
}

func (l *Load) startClients(target string) error {
	kinds := []struct {
		count int
		work  func(context.Context, *client)
	}{{l.options.Writers, l.write}, {readers, l.read}, {listers, l.list}}
	if l.options.WritesOnly {
		kinds = kinds[:1]
	}
	for _, kind := range kinds {
		count := kind.count
		if target != history.Balanced {
			count = 1
		}
		for range count {
			c, err := l.newClient(target)
			if err != nil {
				return err
			}
			l.working.Go(func() {
				for l.workContext.Err() == nil && l.limiter.Wait(l.workContext) == nil {
					kind.work(l.workContext, c)
				}
			})
		}
	}
	return l.startWatchers(target)
}

// name chooses a Website.
func (l *Load) name() string { return websiteName(rand.IntN(l.options.Websites)) }

func websiteName(i int) string { return fmt.Sprintf("w%02d", i) }

// newValue returns the parameters of a write with a unique value.
func (l *Load) newValue() history.Request {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.values++
	return history.Request{Value: "v" + strconv.Itoa(l.values), NewTier: tiers[rand.IntN(len(tiers))]}
}

// remember records a revision.
func (l *Load) remember(revision int64) {
	if revision == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.revisions = append(l.revisions, revision)
	if len(l.revisions) > rememberedRevisions {
		l.revisions = slices.Delete(l.revisions, 0, 1)
	}
}

// recent returns a recorded revision, or "".
func (l *Load) recent() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.revisions) == 0 {
		return ""
	}
	return strconv.FormatInt(l.revisions[rand.IntN(len(l.revisions))], 10)
}

// write changes a Website, without and with a precondition.
func (l *Load) write(ctx context.Context, c *client) {
	name := l.name()
	last := c.get(ctx, name, history.Request{})
	for i := range l.options.WritesPerRead {
		if i > 0 && l.limiter.Wait(ctx) != nil {
			return
		}
		if last.Outcome == history.Unknown || last.Outcome == history.Refused && last.Reason != history.NotFound {
			return
		}
		earlier, current := c.seen[name], last.Object
		r := l.newValue()
		switch dice := rand.IntN(10); {
		case current == nil || last.Verb == history.Delete:
			last = c.create(ctx, name, r)
		case dice < 1:
			last = c.delete(ctx, name)
		case dice < 6:
			r.Precondition = current.Revision
			if dice == 1 && earlier != 0 {
				// The revision may have been replaced since.
				r.Precondition = earlier
			}
			last = c.update(ctx, name, r)
		default:
			last = c.patch(ctx, name, r)
		}
		if last.Object != nil {
			l.remember(last.Object.Revision)
		}
		if current != nil && current.Revision != 0 {
			c.seen[name] = current.Revision
		}
	}
}

// read gets a Website in all supported ways.
func (l *Load) read(ctx context.Context, c *client) {
	version := ""
	switch dice := rand.IntN(10); {
	case dice < 2:
		version = "0"
	case dice < 4:
		version = l.recent()
	}
	c.get(ctx, l.name(), history.Request{ResourceVersion: version})
}

// list lists Websites in all supported ways.
func (l *Load) list(ctx context.Context, c *client) {
	r := history.Request{}
	switch rand.IntN(7) {
	case 0:
		r.Tier = tiers[rand.IntN(len(tiers))]
	case 1:
		r.ResourceVersion = "0"
	case 2:
		r.ResourceVersion = l.recent()
	case 3:
		r.ResourceVersion = l.recent()
		r.Exact = r.ResourceVersion != ""
	case 4, 5:
		r.Limit = int64(1 + rand.IntN(4))
	}
	o, token := c.list(ctx, r, "")
	r.Chain = o.ID
	// The resource version of further pages is in the token.
	r.ResourceVersion, r.Exact = "", false
	for token != "" && o.Outcome == history.OK && l.limiter.Wait(ctx) == nil {
		o, token = c.list(ctx, r, token)
	}
}

// finalTimeout bounds the wait for watchers. It is longer than the time after which clients
// give up dead connections, 45 seconds.
const finalTimeout = 2 * time.Minute

// Finish ends the load once every watcher has received all changes, and returns an error if one
// does not. last is the revision of the last write.
func (l *Load) Finish(ctx context.Context) (last int64, err error) {
	l.stopWorking()
	l.working.Wait()
	defer l.watching.Wait()
	defer l.stopWatch()
	if last, err = l.mark(ctx); err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, finalTimeout)
	defer cancel()
	for _, w := range l.watchers {
		if err := w.waitFor(ctx, last); err != nil {
			return last, err
		}
	}
	return last, nil
}

// Stop ends the load at once. It may follow Finish.
func (l *Load) Stop() {
	l.stopWorking()
	l.stopWatch()
	l.working.Wait()
	l.watching.Wait()
}

// mark moves a Website into the first tier, and from there into the second, so that every watcher
// receives the second change. It returns the revision of that.
func (l *Load) mark(ctx context.Context) (revision int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, finalTimeout)
	defer cancel()
	c, err := l.newClient(history.Balanced)
	if err != nil {
		return 0, err
	}
	for _, tier := range tiers {
		var o history.Operation
		for {
			r := l.newValue()
			r.NewTier = tier
			if o = c.patch(ctx, websiteName(0), r); o.Reason == history.NotFound {
				o = c.create(ctx, websiteName(0), r)
			}
			if o.Outcome == history.OK {
				break
			}
			select {
			case <-time.After(100 * time.Millisecond):
			case <-ctx.Done():
				return 0, fmt.Errorf("writing at the end of the load: %s", o.Error)
			}
		}
		revision = o.Object.Revision
	}
	return revision, nil
}
