package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/klog/v2/ktesting"

	"github.com/kubesites/website-apiserver/pkg/controller/options"
)

// leaseServer is an API server that serves one Lease.
type leaseServer struct {
	mu sync.Mutex
	// refuse makes every write fail.
	refuse bool
	lease  *coordinationv1.Lease
	// changed is called with the holder after every write, under the lock.
	changed func(holder string)
}

func (s *leaseServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	status := func(code int, reason metav1.StatusReason) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(metav1.Status{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Reason: reason,
			Code: int32(code),
		})
	}
	switch {
	case r.Method == http.MethodGet && s.lease == nil:
		status(http.StatusNotFound, metav1.StatusReasonNotFound)
		return
	case r.Method == http.MethodGet:
	case s.refuse:
		status(http.StatusInternalServerError, metav1.StatusReasonInternalError)
		return
	default:
		lease := &coordinationv1.Lease{}
		body, err := io.ReadAll(r.Body)
		if err == nil {
			_, _, err = scheme.Codecs.UniversalDeserializer().Decode(body, nil, lease)
		}
		if err != nil {
			status(http.StatusBadRequest, metav1.StatusReasonBadRequest)
			return
		}
		version := 1
		if s.lease != nil {
			version, _ = strconv.Atoi(s.lease.ResourceVersion)
			version++
		}
		lease.ResourceVersion = strconv.Itoa(version)
		s.lease = lease
		holder := ""
		if lease.Spec.HolderIdentity != nil {
			holder = *lease.Spec.HolderIdentity
		}
		s.changed(holder)
	}
	lease := s.lease.DeepCopy()
	lease.APIVersion, lease.Kind = "coordination.k8s.io/v1", "Lease"
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(lease)
}

func (s *leaseServer) setRefuse(refuse bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse = refuse
}

func writeKubeconfig(t *testing.T, server string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	content := fmt.Sprintf(`apiVersion: v1
kind: Config
clusters: [{name: test, cluster: {server: %q, insecure-skip-tls-verify: true}}]
users: [{name: test, user: {}}]
contexts: [{name: test, context: {cluster: test, user: test}}]
current-context: test
`, server)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// patience is the timeout for events that are expected immediately, with slow machines in mind.
const patience = 30 * time.Second

// election is a leader election against a lease server.
type election struct {
	server *leaseServer
	// steps are the events of the election in order.
	mu    sync.Mutex
	steps []string
	// writes gets a token when the lease is written, if it has none.
	writes chan struct{}
	// health is the check of the Lease. Its grace period is negative, so it fails as soon as the
	// Lease is held.
	health *leaderelection.HealthzAdaptor
	stop   context.CancelFunc
	done   chan error
}

func (e *election) note(step string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.steps = append(e.steps, step)
}

// elect runs a function as leader, which gives up when it cannot renew its Lease within a deadline.
func elect(t *testing.T, deadline time.Duration,
	run func(e *election, ctx context.Context, drain <-chan struct{}) error) *election {
	t.Helper()
	e := &election{
		server: &leaseServer{}, writes: make(chan struct{}, 1), done: make(chan error, 1),
		health: leaderelection.NewLeaderHealthzAdaptor(-24 * time.Hour),
	}
	held := ""
	e.server.changed = func(holder string) {
		switch {
		case held == "" && holder != "":
			e.note("acquired")
		case held != "" && holder == "":
			e.note("released")
		}
		held = holder
		select {
		case e.writes <- struct{}{}:
		default:
		}
	}
	server := httptest.NewServer(e.server)
	t.Cleanup(server.Close)

	o, err := options.NewOptions()
	if err != nil {
		t.Fatal(err)
	}
	o.Kubeconfig = writeKubeconfig(t, server.URL)
	o.LeaderElection.LeaseDuration.Duration = 2 * deadline
	o.LeaderElection.RenewDeadline.Duration = deadline
	o.LeaderElection.RetryPeriod.Duration = 50 * time.Millisecond
	clients, err := newClients(o.Complete(), nil)
	if err != nil {
		t.Fatal(err)
	}
	_, ctx := ktesting.NewTestContext(t)
	ctx, e.stop = context.WithCancel(ctx)
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		e.done <- lead(ctx, o.Complete(), clients, e.health,
			func(ctx context.Context, drain <-chan struct{}) error { return run(e, ctx, drain) })
	}()
	t.Cleanup(func() {
		e.stop()
		<-finished
	})
	return e
}

func TestDrainComesBeforeRelease(t *testing.T) {
	working := make(chan struct{})
	e := elect(t, patience, func(e *election, ctx context.Context, drain <-chan struct{}) error {
		e.note("working")
		close(working)
		<-drain
		e.note("draining")
		// The Lease is still being renewed; a release now would be one of these writes. The first
		// write may have been in flight already.
		for range 3 {
			select {
			case <-e.writes:
			case <-time.After(patience):
				e.note("the lease is neither renewed nor released")
			}
		}
		if ctx.Err() != nil {
			e.note("the work was cut off")
		}
		e.note("drained")
		return nil
	})
	<-working
	e.stop()
	if err := <-e.done; err != nil {
		t.Errorf("lead: %v", err)
	}
	want := []string{"acquired", "working", "draining", "drained", "released"}
	if !slices.Equal(e.steps, want) {
		t.Errorf("steps %q, want %q", e.steps, want)
	}
}

func TestLostLeaseEndsTheWork(t *testing.T) {
	working := make(chan struct{})
	e := elect(t, 500*time.Millisecond, func(e *election, ctx context.Context, drain <-chan struct{}) error {
		close(working)
		<-ctx.Done()
		return context.Cause(ctx)
	})
	<-working
	e.server.setRefuse(true)
	if err := <-e.done; !errors.Is(err, errLeaseLost) {
		t.Errorf("lead: %v, want %v", err, errLeaseLost)
	}
}

// TestHealthDependsOnTheLease: a health check that is not connected to the election passes, however
// old the Lease is.
func TestHealthDependsOnTheLease(t *testing.T) {
	leading := make(chan struct{})
	e := elect(t, patience, func(_ *election, _ context.Context, drain <-chan struct{}) error {
		close(leading)
		<-drain
		return nil
	})
	<-leading
	if err := e.health.Check(nil); err == nil {
		t.Error("the health does not depend on the age of the lease")
	}
}

func TestStandbyStopsAtOnce(t *testing.T) {
	e := elect(t, patience, func(e *election, ctx context.Context, drain <-chan struct{}) error {
		e.note("working")
		return nil
	})
	e.server.setRefuse(true)
	e.stop()
	if err := <-e.done; err != nil {
		t.Errorf("lead: %v", err)
	}
}

func TestWorkOutlivesItsSignal(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	work, cancel := drainable(ctx)
	stop()
	if err := work.Err(); err != nil {
		t.Errorf("the work was cut off at once: %v", err)
	}
	cause := errors.New("done")
	cancel(cause)
	if err := context.Cause(work); !errors.Is(err, cause) {
		t.Errorf("cause %v", err)
	}
}
