package servingcert

import (
	"slices"
	"time"
)

const (
	// caLifetimes is the lifetime of a CA in lifetimes of a serving certificate. A
	// CA is replaced after two thirds, when it outlives every certificate that it
	// has signed.
	caLifetimes = 4
	// propagation is the time in which clients trust another bundle, and replicas serve
	// another certificate. Both follow watches, which takes less than a second.
	propagation = 10 * time.Second
)

// rotation determines the next keys.
type rotation struct {
	// name is part of the names of CAs.
	name string
	// dnsNames are the names in the serving certificate.
	dnsNames []string
	// lifetime is the lifetime of the serving certificate.
	lifetime time.Duration
}

// next returns the keys after the step that is due, or nil if none is. trusted tells
// whether clients have the CA of the keys. The steps are far enough apart for every
// replica and every client to follow.
func (r rotation) next(k *keys, now time.Time, trusted bool) (*keys, error) {
	if k == nil {
		k, err := k.newCA(r.name, now, caLifetimes*r.lifetime)
		if err != nil {
			return nil, err
		}
		return k.newLeaf(r.dnsNames, now, r.lifetime)
	}
	// Without a valid certificate no client connects, so the step is not delayed. A certificate with additional
	// names, for another version, is valid: both versions would replace it in turn.
	expired := now.After(k.leaf.NotAfter) || k.leaf.IsAhead(now) ||
		slices.ContainsFunc(r.dnsNames, func(name string) bool { return !slices.Contains(k.leaf.DNSNames, name) })
	propagated := trusted && !now.Before(k.ca.Issued().Add(propagation))
	switch {
	case len(k.former) == 0 && k.ca.RenewalDue(now):
		return k.newCA(r.name, now, caLifetimes*r.lifetime)
	case expired, propagated && (!k.signs() || k.leaf.RenewalDue(now)):
		return k.newLeaf(r.dnsNames, now, r.lifetime)
	case len(k.former) > 0 && k.signs() && !now.Before(k.leaf.Issued().Add(propagation)):
		next := *k
		next.former = nil
		return &next, nil
	}
	return nil, nil
}

// wait returns the time until another step may be due. During a rotation, and while a step
// waits for clients, it is short.
func (r rotation) wait(k *keys, now time.Time) time.Duration {
	if len(k.former) > 0 || !k.signs() {
		return propagation / 5
	}
	due := k.ca.Renewal()
	if leaf := k.leaf.Renewal(); leaf.Before(due) {
		due = leaf
	}
	return max(due.Sub(now), propagation/5)
}
