package e2e

import (
	"context"
	"maps"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/kubesites/website-apiserver/test/framework"
)

// scrapeConfig returns Prometheus' configuration, as its operator derives it from the
// ServiceMonitors and the PodMonitors. A second server, beside the cluster, is closed, as its
// store lacks the owners of the site's children: only then the metric of that exists.
func scrapeConfig(t *testing.T, s *site, rules, dir string) []byte {
	t.Helper()
	_, store := framework.NewStore(t, "monitoring")
	closed, closedURL, err := framework.Cluster.StartAPIServer(t.Context(), "apiserver-monitoring", store,
		"--store-record-namespace="+framework.NewRecordNamespace(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := closed.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	admin := framework.AdminConfig(t)
	file := func(name string, content []byte) string {
		path := filepath.Join(dir, name)
		framework.WriteFile(t, path, content)
		return path
	}
	tls := map[string]any{
		"cert_file": file("cert.pem", admin.CertData), "key_file": file("key.pem", admin.KeyData),
		"ca_file": file("ca.pem", slices.Concat(admin.CAData, framework.Cluster.ServingCA())),
	}
	token := file("token", []byte(scrapeToken(t)))
	job := func(name, address string, labels map[string]string, more map[string]any) map[string]any {
		scheme := "http"
		if parsed, err := url.Parse(address); err == nil && parsed.Host != "" {
			address, scheme = parsed.Host, parsed.Scheme
		}
		config := map[string]any{
			"job_name": name, "scheme": scheme,
			"static_configs": []any{map[string]any{"targets": []string{address}, "labels": labels}},
		}
		maps.Copy(config, more)
		return config
	}
	program := func(name string, port int, tls map[string]any) map[string]any {
		return job(name, "https://"+net.JoinHostPort(systemPod(t, name).Status.PodIP, strconv.Itoa(port)), nil,
			map[string]any{"tls_config": tls, "authorization": map[string]any{"credentials_file": token}})
	}
	serving, err := framework.Admin(t).Kubernetes.CoreV1().Secrets(framework.SystemNamespace).Get(t.Context(),
		"website-apiserver-serving-cert", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	pod := s.pod(t)
	config, err := yaml.Marshal(map[string]any{
		"global":     map[string]any{"scrape_interval": "3s", "evaluation_interval": "3s"},
		"rule_files": []string{rules},
		"scrape_configs": []any{
			// Its 40,000 lines of metrics take up to ten seconds on a busy machine.
			job("kube-apiserver", admin.Host, nil,
				map[string]any{"tls_config": tls, "scrape_interval": "20s", "scrape_timeout": "20s"}),
			program("website-apiserver", 8443, map[string]any{"ca_file": file("serving.pem", serving.Data["ca.crt"]),
				"server_name": "website-apiserver.website-system.svc"}),
			job("closed", closedURL, map[string]string{"job": "website-apiserver"}, map[string]any{"tls_config": tls}),
			program("website-controller", 10443, map[string]any{"insecure_skip_verify": true}),
			job("website-etcd", startEtcd(t), map[string]string{"pod": "website-etcd-0"}, nil),
			job("website-etcd-certificates", startEtcdCertificates(t), nil, nil),
			job("website-nginx", net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(metricsPort)),
				map[string]string{"namespace": s.namespace, "website": s.name}, nil),
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return config
}

// scrapeToken returns a token of a ServiceAccount with Prometheus' permission: to get
// /metrics only.
func scrapeToken(t *testing.T) string {
	t.Helper()
	client, namespace := framework.Admin(t).Kubernetes, framework.NewNamespace(t)
	account := metav1.ObjectMeta{Name: "prometheus", Namespace: namespace}
	if _, err := client.CoreV1().ServiceAccounts(namespace).Create(t.Context(),
		&corev1.ServiceAccount{ObjectMeta: account}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	binding, err := client.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: namespace},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "system:monitoring"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: account.Name}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	framework.DeleteAfter(t, client.RbacV1().ClusterRoleBindings(), binding.Name)
	token, err := client.CoreV1().ServiceAccounts(namespace).CreateToken(t.Context(), account.Name,
		&authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return token.Status.Token
}

// systemPod returns the only pod of a program of the installation.
func systemPod(t *testing.T, program string) corev1.Pod {
	t.Helper()
	pods, err := framework.SystemPods(t.Context(), framework.Admin(t).Kubernetes, program)
	if err != nil || len(pods) != 1 {
		t.Fatalf("%s has %d pods, %v, want one", program, len(pods), err)
	}
	return pods[0]
}

// startEtcd runs a member of an etcd cluster, and returns the address of its metrics.
func startEtcd(t *testing.T) (address string) {
	t.Helper()
	client, peer, metrics := "http://"+freeAddress(t), "http://"+freeAddress(t), "http://"+freeAddress(t)
	framework.RunProgram(t, framework.Cluster.EtcdPath(), "--data-dir="+t.TempDir(), "--listen-client-urls="+client,
		"--advertise-client-urls="+client,
		"--listen-peer-urls="+peer, "--initial-advertise-peer-urls="+peer, "--initial-cluster=default="+peer,
		"--listen-metrics-urls="+metrics)
	return metrics
}

// startEtcdCertificates runs the program that renews the certificates of an etcd cluster,
// and returns the address of its metrics.
func startEtcdCertificates(t *testing.T) (address string) {
	t.Helper()
	host := freeAddress(t)
	framework.RunProgram(t, framework.Path("bin", "website-apiserver"), "etcd-certificates",
		"--kubeconfig="+framework.Cluster.Kubeconfig(),
		"--namespace="+framework.NewNamespace(t), "--metrics-address="+host)
	return "http://" + host
}

// freeAddress returns a currently unused address.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	return listener.Addr().String()
}

// startPrometheus runs Prometheus with its state in dir, until the test ends.
func startPrometheus(t *testing.T, program, dir string) (address string) {
	t.Helper()
	host := freeAddress(t)
	framework.RunProgram(t, program, "--config.file="+filepath.Join(dir, "prometheus.yaml"),
		"--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+host)
	return "http://" + host
}
