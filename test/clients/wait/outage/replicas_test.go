package outage

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubesites/website-apiserver/test/framework"
)

// link is a connection to etcd that can be cut.
type link struct {
	target string
	mu     sync.Mutex
	cut    bool
	open   []net.Conn
}

func newLink(t *testing.T, target string) (*link, string) {
	t.Helper()
	l := &link{target: target}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { l.serve(conn) })
		}
	})
	t.Cleanup(func() {
		listener.Close()
		l.set(true)
		serving.Wait()
	})
	return l, "https://" + listener.Addr().String()
}

func (l *link) serve(conn net.Conn) {
	defer conn.Close()
	target, err := net.Dial("tcp", l.target)
	if err != nil {
		return
	}
	defer target.Close()
	l.mu.Lock()
	if l.cut {
		l.mu.Unlock()
		return
	}
	l.open = append(l.open, conn, target)
	l.mu.Unlock()
	var copying sync.WaitGroup
	copying.Go(func() { _, _ = io.Copy(target, conn) })
	_, _ = io.Copy(conn, target)
	conn.Close()
	copying.Wait()
}

func (l *link) set(cut bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = cut
	for _, conn := range l.open {
		conn.Close()
	}
	l.open = nil
}

// TestPartitionedReplica disconnects one of two replicas from etcd: it leaves the
// endpoints while the other one reaches etcd, and returns when both are disconnected.
func TestPartitionedReplica(t *testing.T) {
	framework.RequireCluster(t)
	etcdURL, _, err := framework.Cluster.WebsiteEtcd()
	if err != nil {
		t.Fatal(err)
	}
	toEtcd, linkURL := newLink(t, strings.TrimPrefix(etcdURL, "https://"))
	args := []string{"--etcd-servers=" + linkURL}
	for _, arg := range framework.Cluster.Process("website-apiserver").Args() {
		if strings.HasPrefix(arg, "--etcd-ca") || strings.HasPrefix(arg, "--etcd-cert") ||
			strings.HasPrefix(arg, "--etcd-key") {
			args = append(args, arg)
		}
	}
	first := framework.Cluster.WebsiteAPIServerURL()
	replica, url, err := framework.Cluster.StartAPIServer(t.Context(), "partitioned", args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := replica.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if err := replica.WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	opens(t, url)

	toEtcd.set(true)
	ready(t, url, http.StatusInternalServerError)
	ready(t, first, http.StatusOK)

	etcd := framework.Cluster.Process("website-etcd")
	hang(t, etcd)
	t.Cleanup(func() { _ = etcd.Signal(syscall.SIGCONT) })
	ready(t, url, http.StatusOK)
	ready(t, first, http.StatusOK)
	signal(t, etcd, syscall.SIGCONT)
	ready(t, url, http.StatusInternalServerError)

	toEtcd.set(false)
	ready(t, url, http.StatusOK)
	opens(t, url)
	ready(t, first, http.StatusOK)
	// A stopping replica deletes its Lease if it has renewed that.
	framework.WaitFor(t, "both replicas have a Lease", func(ctx context.Context) error {
		leases, err := framework.Admin(t).Kubernetes.CoordinationV1().Leases("website-system").List(ctx,
			metav1.ListOptions{LabelSelector: "app.kubernetes.io/component=website-apiserver"})
		if err == nil && len(leases.Items) < 2 {
			err = fmt.Errorf("there are %d", len(leases.Items))
		}
		return err
	})
}

// ready waits until /readyz has the status want, which is 500 only because of the store.
func ready(t *testing.T, url string, want int) {
	t.Helper()
	framework.WaitFor(t, fmt.Sprintf("GET %s/readyz = %d", url, want), func(ctx context.Context) error {
		code, body, err := framework.SecureGet(ctx, t, url+"/readyz", false)
		if err == nil && (code != want || want != http.StatusOK &&
			!strings.Contains(body, "[-]store-of-this-replica failed")) {
			err = fmt.Errorf("%d %s", code, body)
		}
		return err
	})
}
