package install

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/test/framework"
)

const (
	// etcdImage is the image in artifacts/ha. The test runs an etcd of the same version, which
	// is built with Kubernetes.
	etcdImage   = "gcr.io/etcd-development/etcd:v3.6.8"
	etcdMembers = 3
)

// haOverlay writes an overlay of artifacts/ha for a cluster of one node, which members of etcd
// may share. The controller ignores the namespace of the load, whose history must have the
// writes of the load only.
func haOverlay(t *testing.T, sites string) string {
	t.Helper()
	dir := t.TempDir()
	resource, err := filepath.Rel(dir, framework.Path("artifacts", "ha"))
	if err != nil {
		t.Fatal(err)
	}
	const pod = "/spec/template/spec/"
	framework.WriteFile(t, filepath.Join(dir, "kustomization.yaml"), []byte(`
resources: [`+resource+`]
patches:
  - target: {kind: StatefulSet, name: website-etcd}
    patch: |
      - {op: remove, path: `+pod+`affinity/podAntiAffinity/requiredDuringSchedulingIgnoredDuringExecution}
  - target: {kind: Deployment, name: website-controller}
    patch: |
      - {op: add, path: `+pod+`containers/0/args/-, value: --watch-namespace=`+sites+`}
`))
	return dir
}

// haCluster is an installation of artifacts/ha on the node.
type haCluster struct {
	client kubernetes.Interface
	sites  string
}

// installHA installs artifacts/ha, and logs the time until a page is served.
func installHA(t *testing.T) *haCluster {
	t.Helper()
	framework.RequireCluster(t)
	keepSystem(t)
	if err := framework.Cluster.ImportProgram(t.Context(), etcdImage, framework.Cluster.EtcdPath(),
		"/usr/local/bin/etcd"); err != nil {
		t.Fatal(err)
	}
	provideVolumes(t, etcdMembers)
	c := &haCluster{client: framework.Admin(t).Kubernetes, sites: framework.NewNamespace(t)}
	overlay := haOverlay(t, c.sites)

	start := time.Now()
	framework.Kubectl(t, "apply", "-k", overlay)
	waitServed(t)
	t.Logf("%s from kubectl apply to a served API", time.Since(start).Round(time.Second))
	publish(t, c.sites, "first")
	waitPage(t, c.sites, "first")
	t.Logf("%s from kubectl apply to a served page", time.Since(start).Round(time.Second))
	c.waitReady(t)
	return c
}

// haPods is the number of pods of artifacts/ha, by program.
var haPods = map[string]int{"website-apiserver": 2, "website-etcd": etcdMembers, "website-controller": 2,
	"website-etcd-certificates": 1}

// list returns the pods of a program, by name.
func (c *haCluster) list(ctx context.Context, program string) ([]corev1.Pod, error) {
	list, err := c.client.CoreV1().Pods(systemNamespace).List(ctx,
		metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=" + program})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(list.Items, func(a, b corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return list.Items, nil
}

// waitReady waits until every pod is ready, and all others are gone.
func (c *haCluster) waitReady(t *testing.T) {
	t.Helper()
	framework.WaitFor(t, "every pod is ready", func(ctx context.Context) error {
		for program, want := range haPods {
			pods, err := c.list(ctx, program)
			if err != nil {
				return err
			}
			ready := 0
			for _, pod := range pods {
				if pod.DeletionTimestamp == nil && isReady(pod) {
					ready++
				}
			}
			if ready != want || len(pods) != want {
				return fmt.Errorf("%d of %d pods of %s are ready, there are %d", ready, want, program, len(pods))
			}
		}
		return nil
	})
}

func isReady(pod corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// crash kills the process of a pod, as the kernel does when memory is short. The kubelet
// starts the container again.
func (c *haCluster) crash(t *testing.T, pod corev1.Pod) {
	t.Helper()
	_, id, found := strings.Cut(pod.Status.ContainerStatuses[0].ContainerID, "://")
	processes := framework.ContainerProcesses(t, id)
	if !found || len(processes) == 0 {
		t.Fatalf("pod %s has no process: %+v", pod.Name, pod.Status.ContainerStatuses)
	}
	for _, pid := range processes {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			t.Fatal(err)
		}
	}
	before := pod.Status.ContainerStatuses[0].RestartCount
	framework.WaitFor(t, "the container of "+pod.Name+" was restarted", func(ctx context.Context) error {
		now, err := c.client.CoreV1().Pods(systemNamespace).Get(ctx, pod.Name, metav1.GetOptions{})
		if err == nil && now.Status.ContainerStatuses[0].RestartCount <= before {
			err = errors.New("it was not")
		}
		return err
	})
}

// remove deletes a pod without a grace period.
func (c *haCluster) remove(t *testing.T, pod corev1.Pod) {
	t.Helper()
	if err := c.client.CoreV1().Pods(systemNamespace).Delete(t.Context(), pod.Name,
		metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)}); err != nil {
		t.Fatal(err)
	}
	framework.WaitFor(t, "pod "+pod.Name+" is gone", func(ctx context.Context) error {
		now, err := c.client.CoreV1().Pods(systemNamespace).List(ctx,
			metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=" + pod.Labels["app.kubernetes.io/name"]})
		if err == nil && slices.ContainsFunc(now.Items, func(p corev1.Pod) bool { return p.UID == pod.UID }) {
			err = errors.New("it is there")
		}
		return err
	})
}

// member returns the name of a member, which its certificate has.
func member(i int) string { return fmt.Sprintf("website-etcd-%d.website-etcd", i) }

// etcd returns a client with the certificate of website-apiserver. It resolves the members by
// name, as their addresses change.
func (c *haCluster) etcd(t *testing.T) *clientv3.Client {
	t.Helper()
	secret, err := c.client.CoreV1().Secrets(systemNamespace).Get(t.Context(), "website-etcd-client", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey])
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(secret.Data["ca.crt"])
	var endpoints []string
	for i := range etcdMembers {
		endpoints = append(endpoints, "https://"+member(i)+":2379")
	}
	client, err := clientv3.New(clientv3.Config{
		Endpoints: endpoints, TLS: &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{pair}},
		DialTimeout: 10 * time.Second, DialKeepAliveTime: 5 * time.Second, DialKeepAliveTimeout: 2 * time.Second,
		Logger: zap.NewNop(),
		DialOptions: []grpc.DialOption{grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) {
			host, port, err := net.SplitHostPort(address)
			if err != nil {
				return nil, err
			}
			name, _, _ := strings.Cut(host, ".")
			pod, err := c.client.CoreV1().Pods(systemNamespace).Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return nil, err
			}
			var dialer net.Dialer
			return dialer.DialContext(ctx, "tcp", net.JoinHostPort(pod.Status.PodIP, port))
		})},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.Close(); err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	return client
}

// leads reports whether a member is the leader of etcd, for the log.
func leads(t *testing.T, client *clientv3.Client, i int) bool {
	t.Helper()
	status, err := client.Status(t.Context(), "https://"+member(i)+":2379")
	if err != nil {
		t.Fatal(err)
	}
	return status.Leader == status.Header.MemberId
}

// keepHA saves the logs of every pod if the test fails.
func keepHA(t *testing.T, c *haCluster) {
	t.Helper()
	t.Cleanup(func() {
		if !t.Failed() {
			return
		}
		for program := range haPods {
			pods, err := c.list(context.Background(), program)
			if err != nil {
				t.Error(err)
				continue
			}
			for _, pod := range pods {
				for suffix, args := range map[string][]string{".log": nil, "-previous.log": {"--previous"}} {
					stdout, _, err := framework.Cluster.Kubectl(context.Background(),
						append([]string{"logs", pod.Name, "--tail=2000", "--namespace=" + systemNamespace}, args...)...)
					if err == nil {
						framework.WriteFile(t, filepath.Join(framework.Path("_artifacts", "install"), pod.Name+suffix), []byte(stdout))
					}
				}
			}
		}
	})
}

// makeArtifacts creates the directory of saved logs.
func makeArtifacts(t *testing.T) {
	t.Helper()
	if err := os.MkdirAll(framework.Path("_artifacts", "install"), 0o755); err != nil {
		t.Fatal(err)
	}
}
