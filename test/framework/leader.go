package framework

import (
	"context"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
)

// WatchLeader fails the test if a website-controller acquires the Lease before it was released or
// has expired. The returned function returns the number of leader changes.
func WatchLeader(t *testing.T, client kubernetes.Interface) (changes func() int) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	watcher, err := client.CoordinationV1().Leases(SystemNamespace).Watch(ctx, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, "website-controller").String(),
	})
	if err != nil {
		t.Fatal(err)
	}
	done, count := make(chan struct{}), 0
	go func() {
		defer close(done)
		var last *coordinationv1.LeaseSpec
		for event := range watcher.ResultChan() {
			if ctx.Err() != nil {
				return
			}
			lease, ok := event.Object.(*coordinationv1.Lease)
			if !ok || event.Type == watch.Deleted {
				t.Errorf("the Lease of the leader: %v", event)
				continue
			}
			now := lease.Spec
			if last != nil && ptr.Deref(now.HolderIdentity, "") != ptr.Deref(last.HolderIdentity, "") {
				expiry := last.RenewTime.Add(time.Duration(ptr.Deref(last.LeaseDurationSeconds, 0)) * time.Second)
				if *last.HolderIdentity != "" && *now.HolderIdentity != "" && now.AcquireTime.Time.Before(expiry) {
					t.Errorf("%s became the leader at %s, and the Lease of %s was valid until %s", *now.HolderIdentity,
						now.AcquireTime, *last.HolderIdentity, expiry)
				}
				if *now.HolderIdentity != "" {
					count++
				}
			}
			last = &now
		}
	}()
	return func() int {
		stop()
		watcher.Stop()
		<-done
		return count
	}
}
