package podprobe

import (
	"time"
)

const (
	// unsettledPeriod is the first probing interval of a pod about which something is
	// not right or not known yet. It doubles with every probe that shows the same, up to
	// the interval of healthy pods: a failure of a git host must not multiply the probes.
	unsettledPeriod = 5 * time.Second
	// minPeriod is the shortest interval between two probes of a pod, whatever happens
	// to it.
	minPeriod = time.Second
	// siblingPeriod is the average interval of the probes of a pod because other pods of its
	// Website have new commits, at least, and maxSiblingAsks how many of them there may be
	// at once: commits can be pushed while pods fetch those before.
	siblingPeriod  = 2 * time.Second
	maxSiblingAsks = 3
	// promptPeriod is the average interval of the requests to a pod because of what it has answered itself, at least,
	// and maxPrompts how many of them there may be at once: it can answer what it likes.
	promptPeriod = time.Second
	maxPrompts   = 10
	// jitter spreads the probes of pods that started together.
	jitter = 0.2
	// unreachableAfter is how many probes in a row must fail before a pod counts
	// as unreachable: one can be lost.
	unreachableAfter = 2
	// syncMargin is how long before a sync a request begins to wait for it.
	syncMargin = time.Second
	// maxWait is how long a request waits at most, and expectWait if it is for a commit that
	// another pod has.
	maxWait    = 30 * time.Second
	expectWait = 5 * time.Second
	// maxNextSync limits what a pod can say of its next sync.
	maxNextSync = 24 * time.Hour
	// maxBackoff is how many periods there are at most between two probes of a pod
	// that does not answer.
	maxBackoff = 4
)

// again returns when to probe a pod once more, after a request that has taken some time and
// brought news or none. One that does not answer holds a worker until the request times out,
// so it is probed less and less often.
func (p *Prober) again(r *record, made ask, took time.Duration, news bool) time.Duration {
	r.exactly = false
	if r.early++; made.wait == 0 || made.deploys() || took >= made.wait/2 || news {
		r.early = 0
	}
	switch {
	case r.failures >= unreachableAfter:
		return min(backoff(r.failures-unreachableAfter), maxBackoff*p.Period)
	case r.canWait() && !made.crowded:
		if until := r.nextSync.Sub(p.Clock.Now()) - syncMargin; until < p.Period {
			r.exactly = true
			return max(until, p.leastBetween(r))
		}
		return p.Period
	case r.unsettled():
		return min(backoff(r.unchanged), p.Period)
	default:
		return p.Period
	}
}

// leastBetween is the shortest time between two requests of which the second waits for a
// sync.
func (p *Prober) leastBetween(r *record) time.Duration {
	switch {
	case r.Failure != "":
		return min(backoff(r.unchanged), p.Period)
	case r.early > 1:
		// A pod that does not let requests wait must not be asked all the time.
		return unsettledPeriod
	default:
		return minPeriod
	}
}

func backoff(repeats int) time.Duration { return unsettledPeriod << min(repeats, 10) }
