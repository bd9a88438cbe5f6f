package podprobe

import (
	"time"
)

const (
	// unhealthyPeriod is the first probing interval of a pod that is not healthy or not known yet. It
	// doubles with every unchanged result, up to the interval of healthy pods: an unreachable git
	// host must not multiply the probes.
	unhealthyPeriod = 5 * time.Second
	// minPeriod is the shortest interval between two probes of a pod.
	minPeriod = time.Second
	// siblingPeriod is the minimum average interval of the probes of a pod for new commits of other
	// pods of its Website, and maxSiblingAsks the burst: commits can be pushed while pods still fetch
	// earlier ones.
	siblingPeriod  = 2 * time.Second
	maxSiblingAsks = 3
	// promptPeriod is the minimum average interval of the requests that answers of the pod itself
	// cause, and maxPrompts the burst: a pod can answer arbitrarily.
	promptPeriod = time.Second
	maxPrompts   = 10
	// jitter spreads the probes of pods that started together.
	jitter = 0.2
	// unreachableAfter is the number of failed probes in a row after which a pod is unreachable: one
	// can be lost.
	unreachableAfter = 2
	// syncMargin is the time before a sync at which a request begins to wait for it.
	syncMargin = time.Second
	// maxWait is the maximum wait of a request, and expectWait the maximum if it is for a commit of
	// another pod.
	maxWait    = 30 * time.Second
	expectWait = 5 * time.Second
	// maxNextSync limits the time until the next sync that a pod can report.
	maxNextSync = 24 * time.Hour
	// maxBackoff is the maximum number of periods between two probes of a pod that does not respond.
	maxBackoff = 4
)

// again returns the time until the next probe of a pod, after a request that took some time and
// brought news or none. A pod that does not respond holds a worker until the request times out, so it
// is probed less and less often.
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
	case r.isUnhealthy():
		return min(backoff(r.unchanged), p.Period)
	default:
		return p.Period
	}
}

// leastBetween is the shortest time between two requests, the second of them waiting for a sync.
func (p *Prober) leastBetween(r *record) time.Duration {
	switch {
	case r.Failure != "":
		return min(backoff(r.unchanged), p.Period)
	case r.early > 1:
		// A pod that does not support waiting requests must not be requested all the time.
		return unhealthyPeriod
	default:
		return minPeriod
	}
}

func backoff(repeats int) time.Duration { return unhealthyPeriod << min(repeats, 10) }
