package devcluster

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"

	"k8s.io/client-go/kubernetes"
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
	err = makeLeaf(c.plan.layout, sampleAPIServer, c.credentials.cluster, leaf{
		commonName: "localhost", dns: []string{"localhost", sampleAPIServer + "." + websiteNamespace + ".svc"},
		ips: []net.IP{net.IPv4(127, 0, 0, 1)}, server: true})
	if err != nil {
		return nil, err
	}
	p, _, err := c.startOnFreePort(ctx, sampleAPIServer, sampleAPIServer, func(port int) spec {
		return c.plan.sampleAPIServer(built[sampleAPIServer], port)
	})
	if err != nil {
		return nil, err
	}
	if err := p.WaitReady(ctx); err != nil {
		return nil, err
	}
	return p, c.registerSampleAPIServer(ctx, p.spec.ports[0].number)
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
	config := c.AdminConfig()
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("creating a client: %w", err)
	}
	registration, err := aggregator.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("creating a client: %w", err)
	}
	if err := applyService(ctx, client, sampleAPIServer, port); err != nil {
		return err
	}
	if err := applyAPIService(ctx, registration, sampleAPIServer, sampleGroup, sampleVersion, 10, c.ServingCA(),
		port); err != nil {
		return err
	}
	return c.await(ctx, sampleGroup+" to be available", func(ctx context.Context) error {
		return apiServiceAvailable(ctx, registration, sampleGroup, sampleVersion)
	})
}

// KubeAPIServerEtcd is the URL of the etcd of kube-apiserver, and the client certificate and
// CA to read it.
func (c *Cluster) KubeAPIServerEtcd() (url string, config *tls.Config, err error) {
	config, err = clientTLS(c.credentials.etcd, c.credentials.etcdClient)
	return httpsURL(c.Ports().Etcd), config, err
}
