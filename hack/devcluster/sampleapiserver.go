package devcluster

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/kubernetes"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	apiregistrationv1ac "k8s.io/kube-aggregator/pkg/client/applyconfiguration/apiregistration/v1"
	aggregator "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset"
)

// Names of k8s.io/sample-apiserver.
const (
	sampleAPIServer = "sample-apiserver"
	sampleGroup     = "wardle.example.com"
	sampleVersion   = "v1alpha1"
)

// StartSampleAPIServer builds k8s.io/sample-apiserver unless it is cached, starts and
// registers it, and waits until its API is available. It stores its objects in the etcd of
// kube-apiserver.
func (c *Cluster) StartSampleAPIServer(ctx context.Context) (*Process, error) {
	options := c.plan.options
	tools, err := findToolchain(ctx, options.RepoDir)
	if err != nil {
		return nil, err
	}
	set := programSet{dir: sampleModule, versionOf: "k8s.io/sample-apiserver",
		programs: []program{{sampleAPIServer, "k8s.io/sample-apiserver", 15}}}
	built, err := buildCached(ctx, tools, options.RepoDir, options.CacheDir, []programSet{set}, c.progress)
	if err != nil {
		return nil, err
	}
	port, err := c.portFor(sampleAPIServer, sampleAPIServer)
	if err != nil {
		return nil, err
	}
	err = makeLeaf(c.plan.layout, sampleAPIServer, c.credentials.cluster, leaf{
		commonName: "localhost", dns: []string{"localhost", sampleAPIServer + "." + websiteNamespace + ".svc"},
		ips: []net.IP{net.IPv4(127, 0, 0, 1)}, server: true})
	if err != nil {
		return nil, err
	}
	p := c.add(c.plan.sampleAPIServer(built[sampleAPIServer], port))
	if err := p.Start(ctx); err != nil {
		return nil, err
	}
	if err := p.WaitReady(ctx); err != nil {
		return nil, err
	}
	return p, c.registerSampleAPIServer(ctx, port)
}

// sampleAPIServer is configured like website-apiserver, except that it runs as an
// administrator: its own roles are not under test.
func (p *plan) sampleAPIServer(path string, port int) spec {
	l := p.layout
	kubeconfig := l.adminKubeconfig()
	args := append(p.server(sampleAPIServer, port),
		"--kubeconfig="+kubeconfig, "--authentication-kubeconfig="+kubeconfig, "--authorization-kubeconfig="+kubeconfig,
		"--etcd-servers="+httpsURL(p.settings.Ports.Etcd),
		"--etcd-cafile="+l.cert(etcdCA), "--etcd-certfile="+l.cert(etcdClient), "--etcd-keyfile="+l.key(etcdClient))
	return spec{
		name: sampleAPIServer, path: path, ports: []portUse{{sampleAPIServer, port}},
		args:  append(args, p.auditArgs(sampleAPIServer)...),
		ready: func(ctx context.Context) error { return p.check.url(ctx, httpsURL(port)+"/readyz") },
	}
}

// registerSampleAPIServer waits until kube-apiserver proxies requests to it.
func (c *Cluster) registerSampleAPIServer(ctx context.Context, port int) error {
	config, err := c.AdminConfig()
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("creating a client: %w", err)
	}
	registration, err := aggregator.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("creating a client: %w", err)
	}
	options := metav1.ApplyOptions{FieldManager: fieldManager, Force: true}
	service := corev1ac.Service(sampleAPIServer, websiteNamespace).WithSpec(corev1ac.ServiceSpec().
		WithType(corev1.ServiceTypeExternalName).
		WithExternalName("localhost").
		WithPorts(corev1ac.ServicePort().WithName("https").WithPort(int32(port))))
	if _, err := client.CoreV1().Services(websiteNamespace).Apply(ctx, service, options); err != nil {
		return fmt.Errorf("applying the Service of %s: %w", sampleAPIServer, err)
	}
	name := sampleVersion + "." + sampleGroup
	apiService := apiregistrationv1ac.APIService(name).WithSpec(apiregistrationv1ac.APIServiceSpec().
		WithGroup(sampleGroup).WithVersion(sampleVersion).
		WithGroupPriorityMinimum(groupPriority).WithVersionPriority(10).
		WithCABundle(c.ServingCA()...).
		WithService(apiregistrationv1ac.ServiceReference().
			WithNamespace(websiteNamespace).WithName(sampleAPIServer).WithPort(int32(port))))
	if _, err := registration.ApiregistrationV1().APIServices().Apply(ctx, apiService, options); err != nil {
		return fmt.Errorf("applying APIService %s: %w", name, err)
	}
	return c.await(ctx, "APIService "+name, DefaultReadyTimeout, func(ctx context.Context) error {
		found, err := registration.ApiregistrationV1().APIServices().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return fmt.Errorf("reading APIService %s: %w", name, err)
		}
		for _, condition := range found.Status.Conditions {
			if condition.Type == apiregistrationv1.Available && condition.Status == apiregistrationv1.ConditionTrue {
				return nil
			}
		}
		return fmt.Errorf("APIService %s is not Available", name)
	})
}

// KubeAPIServerEtcd is the URL of the etcd of kube-apiserver, and the client certificate and
// CA to read it.
func (c *Cluster) KubeAPIServerEtcd() (url string, config *tls.Config, err error) {
	config, err = clientTLS(c.credentials.etcd, c.credentials.etcdClient)
	return httpsURL(c.Ports().Etcd), config, err
}
