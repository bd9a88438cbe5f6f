// Package peers lets a replica of website-apiserver know whether another one reaches the
// store.
//
// Each replica renews a Lease in the host cluster while it is ready and its store can be served. A
// replica that has lost its store leaves the endpoints of the Service while it sees such
// a Lease being renewed. In doubt it stays: without endpoints, discovery fails for the
// whole cluster.
package peers

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apiserver/pkg/server/healthz"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
)

const (
	// renewInterval is the time between two renewals of a Lease, and between two reads
	// of the others.
	renewInterval = 5 * time.Second
	// freshness is the time after a renewal during which the store of another replica
	// counts as reachable.
	freshness = 3 * renewInterval
	// abandonedAfter is the age at which the Lease of a killed replica is deleted.
	abandonedAfter = time.Hour
	// requestTimeout bounds a request to the host cluster.
	requestTimeout = 3 * time.Second
)

const (
	leaseLabel = "app.kubernetes.io/component"
	leaseValue = "website-apiserver"
	selector   = leaseLabel + "=" + leaseValue
)

// Config configures Peers.
type Config struct {
	// Leases is the client of the Leases of a namespace.
	Leases coordinationclient.LeaseInterface
	// Unavailable returns why this replica cannot serve its store; nil if it can.
	Unavailable func() error
	// Ready returns why this replica is not ready; nil if it is.
	Ready func(ctx context.Context) error
	// Clock is a real one, except in tests.
	Clock clock.Clock
}

// Peers are the other replicas. Make one with New, and call Run while the server runs.
type Peers struct {
	config Config
	name   string
	// lease is this replica's; nil if it is not known to exist.
	lease *coordinationv1.Lease

	mu sync.Mutex
	// seen are the versions of the others' Leases since this replica has lost its
	// store. Versions are compared instead of times, as clocks differ.
	seen map[string]string
	// renewed is the time of the last observed renewal by another replica, and renewedBy its name.
	renewed   time.Time
	renewedBy string
}

// New returns Peers of a replica with a Lease of its own.
func New(config Config) *Peers {
	return &Peers{config: config, name: "website-apiserver-" + string(uuid.NewUUID())}
}

// Run renews the Lease while the replica is ready and its store can be served, and reads the others' while
// the store cannot, until ctx ends. Then it deletes the Lease.
func (p *Peers) Run(ctx context.Context) {
	logger := klog.FromContext(ctx)
	p.removeAbandoned(ctx)
	reported := ""
	for {
		err := p.round(ctx)
		switch {
		case err == nil:
			reported = ""
		case ctx.Err() == nil && err.Error() != reported:
			logger.Error(err, "Failed to exchange the state of the store with other replicas, retrying")
			reported = err.Error()
		}
		select {
		case <-ctx.Done():
			p.remove(context.WithoutCancel(ctx))
			return
		case <-p.config.Clock.After(renewInterval):
		}
	}
}

// round renews this replica's Lease, or reads the other replicas' Leases.
func (p *Peers) round(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	if p.config.Unavailable() != nil {
		return p.readOthers(ctx)
	}
	p.forget()
	if p.config.Ready(ctx) != nil {
		return nil // The others must not leave for a replica without an endpoint. /readyz has the reason.
	}
	return p.renew(ctx)
}

// Check makes a server unready that has lost its store while another replica is known
// to have it.
func (p *Peers) Check() healthz.HealthChecker {
	return healthz.NamedCheck("store-of-this-replica", func(*http.Request) error {
		unavailable := p.config.Unavailable()
		if unavailable == nil {
			return nil
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.renewedBy == "" || p.config.Clock.Since(p.renewed) > freshness {
			return nil
		}
		return fmt.Errorf("%w; the replica with the lease %s serves it", unavailable, p.renewedBy)
	})
}

// WithGoaway makes the clients of a server that is unready by Check open another connection, with which they reach
// another replica: kube-apiserver keeps one for all requests, and a Service routes only new ones elsewhere.
func (p *Peers) WithGoaway(handler http.Handler) http.Handler {
	check := p.Check()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if check.Check(r) != nil {
			w.Header().Set("Connection", "close") // HTTP/2 makes a GOAWAY frame of it.
		}
		handler.ServeHTTP(w, r)
	})
}

func (p *Peers) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen, p.renewedBy = nil, ""
}

// renew writes this replica's Lease.
func (p *Peers) renew(ctx context.Context) error {
	now := metav1.NewMicroTime(p.config.Clock.Now())
	if p.lease != nil {
		p.lease.Spec.RenewTime = &now
		renewed, err := p.config.Leases.Update(ctx, p.lease, metav1.UpdateOptions{})
		switch {
		case err == nil:
			p.lease = renewed
			return nil
		case apierrors.IsConflict(err):
			// A renewal without a response was stored.
			return p.find(ctx)
		case !apierrors.IsNotFound(err):
			return fmt.Errorf("renewing the lease %s: %w", p.name, err)
		}
	}
	host, err := os.Hostname()
	if err != nil {
		host = p.name
	}
	lease := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: p.name, Labels: map[string]string{leaseLabel: leaseValue}},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity:       &host,
			LeaseDurationSeconds: ptr.To(int32(freshness / time.Second)),
			AcquireTime:          &now,
			RenewTime:            &now,
		},
	}
	created, err := p.config.Leases.Create(ctx, lease, metav1.CreateOptions{})
	switch {
	case apierrors.IsAlreadyExists(err):
		return p.find(ctx)
	case err != nil:
		return fmt.Errorf("creating the lease %s: %w", p.name, err)
	}
	p.lease = created
	return nil
}

// find reads this replica's Lease. It is renewed the next time.
func (p *Peers) find(ctx context.Context) error {
	leases, err := p.config.Leases.List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return fmt.Errorf("reading the lease %s: %w", p.name, err)
	}
	p.lease = nil
	for i := range leases.Items {
		if leases.Items[i].Name == p.name {
			p.lease = &leases.Items[i]
		}
	}
	return nil
}

// readOthers records which of the others' Leases have been renewed since its last call.
func (p *Peers) readOthers(ctx context.Context) error {
	leases, err := p.config.Leases.List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return fmt.Errorf("listing the leases of other replicas: %w", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	first := p.seen == nil
	seen := map[string]string{}
	for _, lease := range leases.Items {
		if lease.Name == p.name {
			continue
		}
		seen[lease.Name] = lease.ResourceVersion
		if !first && p.seen[lease.Name] != lease.ResourceVersion {
			p.renewed, p.renewedBy = p.config.Clock.Now(), lease.Name
		}
	}
	if _, listed := seen[p.renewedBy]; !listed {
		p.renewedBy = "" // It has ended.
	}
	p.seen = seen
	return nil
}

// remove deletes this replica's Lease.
func (p *Peers) remove(ctx context.Context) {
	if p.lease == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	if err := p.config.Leases.Delete(ctx, p.name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		klog.FromContext(ctx).Error(err, "Failed to delete the lease of this replica", "lease", p.name)
	}
}

// removeAbandoned deletes the Leases of replicas that were killed.
func (p *Peers) removeAbandoned(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	leases, err := p.config.Leases.List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return // Nothing depends on it; the first renewal reports the cause.
	}
	for _, lease := range leases.Items {
		if lease.Spec.RenewTime == nil || p.config.Clock.Since(lease.Spec.RenewTime.Time) < abandonedAfter {
			continue
		}
		// It may have been renewed meanwhile, by a replica whose clock is wrong.
		unchanged := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &lease.UID,
			ResourceVersion: &lease.ResourceVersion}}
		if err := p.config.Leases.Delete(ctx, lease.Name, unchanged); err != nil && !apierrors.IsNotFound(err) &&
			!apierrors.IsConflict(err) {
			klog.FromContext(ctx).Error(err, "Failed to delete the lease of a replica that is gone", "lease", lease.Name)
		}
	}
}
