package rollout

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// longest is the time from its admission for which a rollout counts as in progress. A stuck one
// exceeds its progress deadline earlier, but another client can keep a rollout going, and so block
// other Websites.
const longest = time.Hour

// Limit limits the rollouts in progress, and admits the oldest Websites first. After Start and one
// reconciliation of every Website it has all rollouts that are in progress in the cluster, but not
// the admitted ones that are interrupted.
type Limit struct {
	// most is the maximum number of rollouts in progress. Zero is no limit.
	most int
	// wake queues a Website that can be admitted now.
	wake  func(cache.ObjectName)
	clock clock.PassiveClock

	mu       sync.Mutex
	websites map[cache.ObjectName]entry
	counts   [states]int
}

// entry is the state of a Website. Websites without one have no rollout to wait for.
type entry struct {
	created time.Time
	state   state
	// template is the pod template for which a Website waits.
	template string
	// since is the time at which a rollout in progress was admitted, or found by Start.
	since time.Time
}

type state int

const (
	// unknown is a Website that was not reconciled since the start: it may have to wait.
	unknown state = iota
	waiting
	inProgress
	// interrupted is a Website whose admitted rollout is not in progress: it has ended, or exceeds
	// its deadline until its images can be pulled. It is in progress again when it continues.
	interrupted

	states = iota
)

// mayWait reports whether a Website waits, or may have to.
func (s state) mayWait() bool { return s == unknown || s == waiting }

// NewLimit returns a limit. Zero is no limit.
func NewLimit(most int, clock clock.PassiveClock, wake func(cache.ObjectName)) *Limit {
	return &Limit{most: most, wake: wake, clock: clock, websites: map[cache.ObjectName]entry{}}
}

// Start adds the existing Websites, some of them with rollouts in progress.
func (l *Limit) Start(websites []*v1beta1.Website, isInProgress func(*v1beta1.Website) bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.websites, l.counts = map[cache.ObjectName]entry{}, [states]int{}
	for _, website := range websites {
		state := unknown
		if isInProgress(website) {
			state = inProgress
		}
		l.set(cache.MetaObjectToName(website),
			entry{created: website.CreationTimestamp.Time, state: state, since: l.clock.Now()})
	}
}

// Admit reports whether the rollout of a pod template may begin now. An admitted rollout counts as in
// progress until Observe ends it. Otherwise the Website waits, and is queued as soon as it can be
// admitted.
func (l *Limit) Admit(website *v1beta1.Website, template string) bool {
	key := cache.MetaObjectToName(website)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.websites[key].state == inProgress {
		return true
	}
	next := entry{created: website.CreationTimestamp.Time, state: waiting, template: template}
	if l.most == 0 || l.free() > l.ahead(key, website.CreationTimestamp.Time) {
		next.state, next.template, next.since = inProgress, "", l.clock.Now()
	}
	l.set(key, next)
	return next.state == inProgress
}

// Waits reports whether a Website waits for the rollout of exactly this pod template. A change of the
// Website that leaves the template unchanged is no reason to roll out.
func (l *Limit) Waits(key cache.ObjectName, template string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	known, ok := l.websites[key]
	return ok && known.state == waiting && known.template == template
}

// Observe ends a reconciliation of a Website that does not wait. A rollout in progress counts if it
// was admitted, or found by Start: another client can cause a similar one.
func (l *Limit) Observe(website *v1beta1.Website, isInProgress bool) {
	for _, next := range l.observe(cache.MetaObjectToName(website), isInProgress) {
		l.wake(next)
	}
}

// observe returns the Websites that can be admitted now.
func (l *Limit) observe(key cache.ObjectName, isInProgress bool) []cache.ObjectName {
	l.mu.Lock()
	defer l.mu.Unlock()
	known := l.websites[key]
	before := known.state
	switch {
	case before.mayWait(), l.clock.Now().Sub(known.since) >= longest:
		return l.drop(key)
	case isInProgress:
		known.state = inProgress
	default:
		known.state = interrupted
	}
	if known.state == before {
		return nil
	}
	l.set(key, known)
	return l.admissible()
}

// Forget drops a Website that is gone, or has no rollout.
func (l *Limit) Forget(key cache.ObjectName) {
	l.mu.Lock()
	admissible := l.drop(key)
	l.mu.Unlock()
	for _, next := range admissible {
		l.wake(next)
	}
}

// Counts returns the numbers of waiting Websites and of limited rollouts in progress.
func (l *Limit) Counts() (pending, running int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.counts[waiting], l.counts[inProgress]
}

// drop forgets a Website and returns those that can be admitted now. The caller holds the lock.
func (l *Limit) drop(key cache.ObjectName) []cache.ObjectName {
	known, ok := l.websites[key]
	if !ok {
		return nil
	}
	delete(l.websites, key)
	l.counts[known.state]--
	return l.admissible()
}

// admissible returns the waiting Websites that are among the oldest for which there is room. The
// caller holds the lock.
func (l *Limit) admissible() []cache.ObjectName {
	if l.counts[waiting] == 0 || l.free() <= 0 {
		return nil
	}
	// There are many Websites, and room for few, so they are not all sorted.
	oldest := make([]cache.ObjectName, 0, min(l.free(), l.counts[unknown]+l.counts[waiting]))
	for key, known := range l.websites {
		if !known.state.mayWait() {
			continue
		}
		at, _ := slices.BinarySearchFunc(oldest, key, func(other, key cache.ObjectName) int {
			return compareAge(l.websites[other].created, other, known.created, key)
		})
		if at < l.free() {
			oldest = slices.Insert(oldest[:min(len(oldest), l.free()-1)], at, key)
		}
	}
	return slices.DeleteFunc(oldest, func(key cache.ObjectName) bool { return l.websites[key].state != waiting })
}

// free returns the number of rollouts that may begin. The caller holds the lock.
func (l *Limit) free() int { return l.most - l.counts[inProgress] }

// ahead counts the older Websites that wait or may have to, up to the number that matters. The caller
// holds the lock.
func (l *Limit) ahead(key cache.ObjectName, created time.Time) int {
	older, free := 0, l.free()
	if free <= 0 {
		return 0
	}
	for other, known := range l.websites {
		if known.state.mayWait() && other != key && compareAge(known.created, other, created, key) < 0 {
			if older++; older >= free {
				break
			}
		}
	}
	return older
}

// set replaces the entry of a Website. The caller holds the lock.
func (l *Limit) set(key cache.ObjectName, known entry) {
	if before, ok := l.websites[key]; ok {
		l.counts[before.state]--
	}
	l.websites[key] = known
	l.counts[known.state]++
}

// Compare orders Websites by age, and those with the same creation time by namespace and name.
func Compare(a, b *v1beta1.Website) int {
	return compareAge(a.CreationTimestamp.Time, cache.MetaObjectToName(a), b.CreationTimestamp.Time,
		cache.MetaObjectToName(b))
}

func compareAge(created time.Time, key cache.ObjectName, otherCreated time.Time, otherKey cache.ObjectName) int {
	return cmp.Or(created.Compare(otherCreated), cmp.Compare(key.Namespace, otherKey.Namespace),
		cmp.Compare(key.Name, otherKey.Name))
}
