package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"

	"github.com/kubesites/website-apiserver/pkg/apiserver/embeddedetcd"
)

func rawRecord(t *testing.T, client *clientv3.Client) string {
	t.Helper()
	c, err := stored(t.Context(), client)
	if err != nil {
		t.Fatal(err)
	}
	return c.raw
}

// closedBy returns why a server with this store and host cluster is closed.
func closedBy(t *testing.T, endpoint string, host *configMaps) *Closed {
	t.Helper()
	g := newGuard(t, newConfig(endpoint, host))
	g.Start(t.Context())
	return g.Closed()
}

// TestHostRestored turns the host cluster back to an earlier state: the store is not the one that is outdated.
func TestHostRestored(t *testing.T) {
	for name, test := range map[string]struct {
		earlierVersion bool
		wantReason     string
		want           []string
	}{
		"of this version": {wantReason: ReasonHostOutdated,
			want: []string{"the host cluster was restored to an earlier state, and the store is later", "store accept"}},
		"of an earlier version": {earlierVersion: true, wantReason: ReasonOutdated,
			want: []string{"it is an earlier copy, or the host cluster was restored to an earlier state", "store accept"}},
	} {
		t.Run(name, func(t *testing.T) {
			host, endpoint := &configMaps{}, newEtcd(t)
			r := newRecorder(t, endpoint, host)
			mustRecord(t, r)
			earlier := host.current.DeepCopy()
			put(t, r.client, "a")
			mustRecord(t, r)
			if test.earlierVersion {
				delete(earlier.Data, recordedAtKey)
			}
			host.current = earlier

			closed := closedBy(t, endpoint, host)
			if reasonOf(closed) != test.wantReason {
				t.Fatalf("reason = %q, want %q", reasonOf(closed), test.wantReason)
			}
			for _, want := range test.want {
				if !strings.Contains(closed.Message, want) {
					t.Errorf("the message lacks %q: %s", want, closed.Message)
				}
			}
			if got := closed.forClients(); !strings.Contains(got, "restored to an earlier state") {
				t.Errorf("clients are not told of the host cluster: %s", got)
			}
			if _, err := Accept(t.Context(), newConfig(endpoint, host), false); err != nil {
				t.Fatal(err)
			}
			if closed := closedBy(t, endpoint, host); closed != nil {
				t.Errorf("closed after the store was accepted: %v", closed)
			}
		})
	}
}

func TestRecordTime(t *testing.T) {
	ahead := time.Now().Add(time.Hour)
	if got := recordTime(time.Time{}, ahead); !got.After(ahead) {
		t.Errorf("recordTime = %s, want after the former record, %s", got, ahead)
	}
}

// TestAcceptTheRecordedStore changes nothing: servers are open with it.
func TestAcceptTheRecordedStore(t *testing.T) {
	host, endpoint := &configMaps{}, newEtcd(t)
	r := newRecorder(t, endpoint, host)
	mustRecord(t, r)
	before := rawRecord(t, r.client)
	host.setFault(func(call int, _ bool) error {
		if call > 1 {
			return apierrors.NewForbidden(corev1.Resource("configmaps"), RecordName, errors.New("no update"))
		}
		return nil
	})
	report, err := Accept(t.Context(), newConfig(endpoint, host), false)
	if err != nil || report.Accepted {
		t.Errorf("accepting the recorded store = accepted %t, %v; want that nothing was done", report.Accepted, err)
	}
	if after := rawRecord(t, r.client); after != before {
		t.Errorf("the record was %s, and is %s", before, after)
	}
}

// TestAcceptNotRecorded has the host cluster fail after the store was written.
func TestAcceptNotRecorded(t *testing.T) {
	forbidden := apierrors.NewForbidden(corev1.Resource("configmaps"), RecordName, errors.New("no update"))
	for name, test := range map[string]struct {
		err         error
		takesEffect bool
		// wantErr is in the error; empty if there is none. wantFormer is whether the store has its former record.
		wantErr    string
		wantFormer bool
	}{
		"rejected": {err: forbidden, wantErr: "nothing was changed", wantFormer: true},
		"conflict": {err: apierrors.NewConflict(corev1.Resource("configmaps"), RecordName, nil),
			wantErr: "run the command again", wantFormer: true},
		"a timeout":                   {err: errors.New("timeout"), wantErr: "run the command again"},
		"a timeout after it was done": {err: errors.New("timeout"), takesEffect: true},
		"a conflict with itself": {err: apierrors.NewConflict(corev1.Resource("configmaps"), RecordName, nil),
			takesEffect: true},
	} {
		t.Run(name, func(t *testing.T) {
			host, _, other := newStores(t, 0)
			endpoint := other.Endpoints()[0]
			former := rawRecord(t, other)
			host.setFault(func(call int, after bool) error {
				if call == 2 && after == test.takesEffect {
					return test.err
				}
				return nil
			})
			report, err := Accept(t.Context(), newConfig(endpoint, host), false)
			if test.wantErr == "" && (err != nil || !report.Accepted) {
				t.Errorf("Accept = %t, %v; want that it has noticed its record", report.Accepted, err)
			}
			if test.wantErr != "" && (err == nil || !strings.Contains(err.Error(), test.wantErr)) {
				t.Errorf("Accept = %v, want an error with %q", err, test.wantErr)
			}
			if has := rawRecord(t, other) == former; has != test.wantFormer {
				t.Errorf("the store has its former record: %t, want %t", has, test.wantFormer)
			}
			host.setFault(nil)
			if _, err := Accept(t.Context(), newConfig(endpoint, host), false); err != nil {
				t.Errorf("accepting again: %v", err)
			}
			if closed := closedBy(t, endpoint, host); closed != nil {
				t.Errorf("closed after the store was accepted: %v", closed)
			}
		})
	}
}

// TestAcceptAFullStore: the error has a remedy, and Accept succeeds after it.
func TestAcceptAFullStore(t *testing.T) {
	const quota = 16 << 20
	host, _, _ := newStores(t, 0)
	dir, err := os.MkdirTemp("/tmp", "store-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	endpoint, err := embeddedetcd.Endpoint(dir)
	if err != nil {
		t.Fatal(err)
	}
	start := func(quota int64) (stop func()) {
		s := embeddedetcd.NewSupervisor(embeddedetcd.Config{DataDir: dir, QuotaBytes: quota, HistoryBytes: quota},
			clock.RealClock{})
		done := make(chan error, 1)
		ctx, end := context.WithCancel(context.Background())
		go func() { done <- s.Run(ctx) }()
		s.Wait(ctx)
		return func() {
			end()
			if err := errors.Join(<-done, s.Close()); err != nil {
				t.Error(err)
			}
		}
	}
	stop := start(quota)
	client := etcdClient(t, endpoint)
	for i := 0; err == nil; i++ {
		_, err = client.Put(t.Context(), fmt.Sprintf("/registry/mycontroller.nevermosby.io/websites/default/%d", i),
			strings.Repeat("x", 1<<20))
	}
	if !errors.Is(err, rpctypes.ErrNoSpace) {
		t.Fatal(err)
	}
	if _, err := Accept(t.Context(), newConfig(endpoint, host), false); err == nil ||
		!strings.Contains(err.Error(), "--embedded-etcd-quota-backend-bytes") {
		t.Errorf("accepting a full store = %v, want an error that names the flag", err)
	}
	withoutSpace := func(c *Config) { c.Writable = func() error { return errors.New("the disk is full") } }
	if _, err := Accept(t.Context(), newConfig(endpoint, host, withoutSpace), false); err == nil ||
		!strings.Contains(err.Error(), "the disk is full") {
		t.Errorf("accepting a store on a full disk = %v, want an error", err)
	}
	stop()
	// etcd notices that it is full ten times per second, and a fast disk takes many writes in between.
	defer start(16 * quota)()
	waitErr := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, time.Minute, true,
		func(ctx context.Context) (bool, error) {
			_, err = Accept(ctx, newConfig(endpoint, host), false)
			return err == nil, nil
		})
	if waitErr != nil {
		t.Errorf("accepting with a higher quota: %v", err)
	}
}
