package store

import (
	"context"
	"sync"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
)

// TestReadsOfAnEtcdThatCannotWrite: the etcd of this process answers reads while its disk hangs. It
// is found not to answer all the same.
func TestReadsOfAnEtcdThatCannotWrite(t *testing.T) {
	etcd := newEtcd(t)
	proxy, endpoint := newFreezer(t, etcd)
	reader, err := clientv3.New(clientv3.Config{Endpoints: []string{etcd}, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = reader.Close() })
	reported := make(outages, 10)
	g := newGuard(t, newConfig(endpoint, &configMaps{}, func(c *Config) {
		c.Reached = func(o *Outage) { reported <- o }
		c.Direct = func(ctx context.Context, method string, request, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker,
			options ...grpc.CallOption) error {
			if _, isRead := request.(*etcdserverpb.RangeRequest); isRead {
				cc = reader.ActiveConnection()
			}
			return cc.Invoke(ctx, method, request, reply, options...)
		}
	}))
	kv, _ := runGuard(t, g)
	ctx := t.Context()
	if _, err := kv.Get(ctx, "/a"); err != nil {
		t.Fatal(err)
	}

	proxy.set(true)
	t.Cleanup(func() { proxy.set(false) })
	var reads sync.WaitGroup
	t.Cleanup(reads.Wait)
	reads.Go(func() {
		// Until the outage is known.
		for ctx.Err() == nil && g.Outage() == nil {
			_, _ = kv.Get(ctx, "/a")
		}
	})
	frozen := time.Now()
	if outage := reported.next(t); outage == nil {
		t.Error("reported the end of an outage that has not begun")
	}
	// It takes three seconds, and 20 to 40 if reads count as answers.
	if took := time.Since(frozen); took > 12*time.Second {
		t.Errorf("the outage was found after %s", took)
	}
}
