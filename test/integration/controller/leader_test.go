package controller

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/test/framework"
)

// checkProfiling requests a profile, which is served only with --profiling, and only to
// authorized users.
func checkProfiling(t *testing.T, url string, want int) {
	t.Helper()
	url += "/debug/pprof/goroutine?debug=1"
	if code, _, err := framework.SecureGet(t.Context(), t, url, false); err != nil || code != http.StatusForbidden &&
		code != http.StatusUnauthorized {
		t.Errorf("GET %s without credentials = %d (%v), want a refusal", url, code, err)
	}
	framework.WaitAnswer(t, url, want)
}

// leaseSeconds is the time until a standby takes over from a leader that has stopped renewing
// its lease.
const leaseSeconds = 15

// defaultLease are the flags of a lease as in an installation.
var defaultLease = []string{"--leader-elect-lease-duration=15s", "--leader-elect-renew-deadline=10s",
	"--leader-elect-retry-period=1s"}

// holder returns the holder of the controller's lease, empty when it is released.
func holder(ctx context.Context, t *testing.T) (string, error) {
	t.Helper()
	spec, err := lease(ctx, t)
	return ptr.Deref(spec.HolderIdentity, ""), err
}

func lease(ctx context.Context, t *testing.T) (coordinationv1.LeaseSpec, error) {
	t.Helper()
	lease, err := framework.Admin(t).Kubernetes.CoordinationV1().Leases("website-system").Get(ctx, "website-controller",
		metav1.GetOptions{})
	if err != nil {
		return coordinationv1.LeaseSpec{}, err
	}
	return lease.Spec, nil
}

func TestTwoControllersOneLeader(t *testing.T) {
	ctx, namespace := t.Context(), framework.NewNamespace(t)
	first := framework.Cluster.Process("website-controller")
	// The lease of the cluster's controller lasts longer than the default. Only the parent of a process can read its exit
	// code.
	first.SetExtraArgs(defaultLease...)
	if err := first.Restart(ctx); err != nil {
		t.Fatal(err)
	}
	var leader string
	framework.WaitFor(t, "the controller leads", func(ctx context.Context) (err error) {
		leader, err = holder(ctx, t)
		if err == nil && leader == "" {
			err = errors.New("there is no holder")
		}
		return err
	})
	second, url, err := framework.Cluster.StartController(ctx, "website-controller-2",
		append([]string{"--profiling"}, defaultLease...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// Later tests need the cluster's own controller.
		first.SetExtraArgs()
		if err := errors.Join(second.Stop(context.Background()), first.Restart(context.Background())); err != nil {
			t.Error(err)
		}
	})
	checkProfiling(t, url, http.StatusOK)
	checkProfiling(t, framework.ControllerURL(), http.StatusNotFound)
	if now, err := holder(ctx, t); err != nil || now != leader {
		t.Errorf("lease is held by %q (%v) after a second controller started, want %q", now, err, leader)
	}

	// SIGTERM releases the lease, so the standby does not wait until it expires.
	if err := first.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	if exit, err := first.Wait(ctx); err != nil || exit.Code != 0 {
		t.Errorf("SIGTERM ended the leader with %+v (%v), want exit code 0", exit, err)
	}
	if now, err := holder(ctx, t); err != nil || now == leader {
		t.Errorf("lease is held by %q (%v) after SIGTERM has ended that one, want it released", now, err)
	}
	var successor string
	framework.WaitFor(t, "the second controller leads", func(ctx context.Context) (err error) {
		successor, err = holder(ctx, t)
		if err == nil && (successor == "" || successor == leader) {
			err = fmt.Errorf("holder = %q", successor)
		}
		return err
	})
	framework.WaitAvailable(t, framework.MustCreate(t, framework.NewV1alpha1(namespace, "led-by-second")), 1)

	// After SIGKILL, the standby waits until the lease expires.
	if err := first.Start(ctx); err != nil {
		t.Fatal(err)
	}
	if err := first.WaitReady(ctx); err != nil {
		t.Fatal(err)
	}
	if spec, err := lease(ctx, t); err != nil || ptr.Deref(spec.LeaseDurationSeconds, 0) != leaseSeconds {
		t.Errorf("lease lasts %d s (%v), want %d", ptr.Deref(spec.LeaseDurationSeconds, 0), err, leaseSeconds)
	}
	if err := second.Kill(ctx); err != nil {
		t.Fatal(err)
	}
	framework.WaitFor(t, "the first controller leads", func(ctx context.Context) error {
		now, err := holder(ctx, t)
		if err == nil && (now == "" || now == successor) {
			err = fmt.Errorf("holder = %q", now)
		}
		return err
	})
	framework.WaitAvailable(t, framework.MustCreate(t, framework.NewV1alpha1(namespace, "led-by-first")), 1)
}
