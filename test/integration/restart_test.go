package integration

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1alpha1"
)

// The tests in this file stop or kill components, so none of them is parallel.

const controllerUser = "system:serviceaccount:website-system:website-controller"

// leaseSeconds is how long a standby waits for a leader that renews its lease no more.
const leaseSeconds = 15

// TestKilledAPIServerKeepsAllData kills website-apiserver while Websites are
// being created: whatever was acknowledged must be there afterwards.
func TestKilledAPIServerKeepsAllData(t *testing.T) {
	ctx, namespace := t.Context(), newNamespace(t)
	websites := admin(t).websites.WebsiteV1alpha1().Websites(namespace)
	server := cluster.Process("website-apiserver")

	acknowledged := make(chan *v1alpha1.Website)
	go func() {
		defer close(acknowledged)
		for i := 0; ; i++ {
			w, err := websites.Create(ctx, newWebsite(namespace, fmt.Sprintf("w%d", i), withReplicas(0)), metav1.CreateOptions{})
			if err != nil {
				return
			}
			acknowledged <- w
		}
	}()
	kept := map[string]*v1alpha1.Website{}
	for w := range acknowledged {
		kept[w.Name] = w
		if len(kept) == 20 {
			if err := server.Kill(ctx); err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(kept) < 20 {
		t.Fatalf("only %d Websites were created", len(kept))
	}

	if err := server.Start(ctx); err != nil {
		t.Fatal(err)
	}
	if err := server.WaitReady(ctx); err != nil {
		t.Fatal(err)
	}
	var list *v1alpha1.WebsiteList
	waitFor(t, "the aggregator reaches website-apiserver again", func(ctx context.Context) (err error) {
		list, err = websites.List(ctx, metav1.ListOptions{})
		return err
	})
	for _, w := range list.Items {
		if created, ok := kept[w.Name]; ok && created.UID == w.UID && created.Spec.GitRepo == w.Spec.GitRepo {
			delete(kept, w.Name)
		}
	}
	if len(kept) != 0 {
		t.Errorf("%d acknowledged Websites are lost: %v", len(kept), kept)
	}
	// What happened before is no longer known, and whoever asks for it is told so.
	watcher := startWatch(t, betaClient(t, namespace), metav1.ListOptions{ResourceVersion: "1"})
	if event := nextEvent(t, watcher); !apierrors.IsResourceExpired(apierrors.FromObject(event.Object)) {
		t.Errorf("watching from the beginning after a restart = %s %+v, want that the version has expired", event.Type, event.Object)
	}
	// The controller's watches must have survived as well.
	waitAvailable(t, mustCreate(t, newWebsite(namespace, "after")), 1)
}

// holder returns who holds the controller's lease, empty when it is released.
func holder(ctx context.Context, t *testing.T) (string, error) {
	t.Helper()
	spec, err := lease(ctx, t)
	return ptr.Deref(spec.HolderIdentity, ""), err
}

func lease(ctx context.Context, t *testing.T) (coordinationv1.LeaseSpec, error) {
	t.Helper()
	lease, err := admin(t).kubernetes.CoordinationV1().Leases("website-system").Get(ctx, "website-controller", metav1.GetOptions{})
	if err != nil {
		return coordinationv1.LeaseSpec{}, err
	}
	return lease.Spec, nil
}

func TestTwoControllersOneLeader(t *testing.T) {
	ctx, namespace := t.Context(), newNamespace(t)
	first := cluster.Process("website-controller")
	// Only the parent of a process learns its exit code.
	if *clusterDir != "" {
		if err := first.Restart(ctx); err != nil {
			t.Fatal(err)
		}
	}
	var leader string
	waitFor(t, "the controller leads", func(ctx context.Context) (err error) {
		leader, err = holder(ctx, t)
		if err == nil && leader == "" {
			err = errors.New("there is no holder")
		}
		return err
	})
	second, url, err := cluster.StartController(ctx, "website-controller-2", "--profiling")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// Leave the cluster to the other tests as it was.
		if err := errors.Join(second.Stop(context.Background()), first.Restart(context.Background())); err != nil {
			t.Error(err)
		}
	})
	checkProfiling(t, url, http.StatusOK)
	checkProfiling(t, controllerURL(), http.StatusNotFound)
	if now, err := holder(ctx, t); err != nil || now != leader {
		t.Errorf("lease is held by %q (%v) after a second controller started, want %q", now, err, leader)
	}

	// SIGTERM: the lease is released, so the standby need not wait for it to expire.
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
	waitFor(t, "the second controller leads", func(ctx context.Context) (err error) {
		successor, err = holder(ctx, t)
		if err == nil && (successor == "" || successor == leader) {
			err = fmt.Errorf("holder = %q", successor)
		}
		return err
	})
	waitAvailable(t, mustCreate(t, newWebsite(namespace, "led-by-second")), 1)

	// Killed: the standby has to wait until the lease expires.
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
	waitFor(t, "the first controller leads", func(ctx context.Context) error {
		now, err := holder(ctx, t)
		if err == nil && (now == "" || now == successor) {
			err = fmt.Errorf("holder = %q", now)
		}
		return err
	})
	waitAvailable(t, mustCreate(t, newWebsite(namespace, "led-by-first")), 1)
}

func mutating(verb string) bool {
	switch verb {
	case "create", "update", "patch", "delete", "deletecollection":
		return true
	}
	return false
}

func auditLength(t *testing.T, component string) int64 {
	t.Helper()
	info, err := os.Stat(cluster.AuditLog(component))
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// auditEvents returns what a component has logged since its log had the given length.
func auditEvents(t *testing.T, component string, from int64) []auditv1.Event {
	t.Helper()
	file, err := os.Open(cluster.AuditLog(component))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.Seek(from, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	var events []auditv1.Event
	for decoder := json.NewDecoder(file); ; {
		var event auditv1.Event
		err := decoder.Decode(&event)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return events
		}
		if err != nil {
			t.Fatalf("reading the audit log of %s: %v", component, err)
		}
		events = append(events, event)
	}
}
