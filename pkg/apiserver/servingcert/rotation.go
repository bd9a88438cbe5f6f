package servingcert

import (
	"slices"
	"time"
)

const (
	// caLifetimes is how many lifetimes of a serving certificate a CA lives. A CA is
	// replaced after two thirds, when it outlives every certificate that it has signed.
	caLifetimes = 4
	// propagation is how long clients may take to trust another bundle, and replicas to
	// serve another certificate. Both follow watches, which takes less than a second.
	propagation = 10 * time.Second
)

// rotation decides what the keys become.
type rotation struct {
	// name is part of the names of CAs.
	name string
	// dnsNames are those of the serving certificate.
	dnsNames []string
	// lifetime is that of the serving certificate.
	lifetime time.Duration
}

// next returns the keys after the step that is due, or nil if none is. trusted is whether
// clients have the CA of the keys. The steps are far enough apart for every replica and
// every client to follow.
func (r rotation) next(k *keys, now time.Time, trusted bool) (*keys, error) {
	if k == nil {
		k, err := k.newCA(r.name, now, caLifetimes*r.lifetime)
		if err != nil {
			return nil, err
		}
		return k.newLeaf(r.dnsNames, now, r.lifetime)
	}
	// Without a valid certificate no client connects, so there is nothing to wait for. One with more names, which
	// another version wants, is valid: both versions would replace it in turn.
	expired := now.After(k.leaf.NotAfter) || isAhead(k.leaf, now) ||
		slices.ContainsFunc(r.dnsNames, func(name string) bool { return !slices.Contains(k.leaf.DNSNames, name) })
	settled := trusted && !now.Before(issued(k.ca).Add(propagation))
	switch {
	case len(k.former) == 0 && renewalDue(k.ca, now):
		return k.newCA(r.name, now, caLifetimes*r.lifetime)
	case expired, settled && (!k.signs() || renewalDue(k.leaf, now)):
		return k.newLeaf(r.dnsNames, now, r.lifetime)
	case len(k.former) > 0 && k.signs() && !now.Before(issued(k.leaf).Add(propagation)):
		next := *k
		next.former = nil
		return &next, nil
	}
	return nil, nil
}

// wait is the time until another step may be due. While a rotation is under way, and while
// a step waits for clients, the answer is short.
func (r rotation) wait(k *keys, now time.Time) time.Duration {
	if len(k.former) > 0 || !k.signs() {
		return propagation / 5
	}
	due := renewal(k.ca)
	if leaf := renewal(k.leaf); leaf.Before(due) {
		due = leaf
	}
	return max(due.Sub(now), propagation/5)
}
