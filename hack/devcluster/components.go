package devcluster

import (
	"context"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Names of the components, used for processes, files and messages.
const (
	etcd                  = "etcd"
	websiteEtcd           = "website-etcd"
	kubeAPIServer         = "kube-apiserver"
	kubeControllerManager = "kube-controller-manager"
	kubeScheduler         = "kube-scheduler"
	kwok                  = "kwok"
	kubectl               = "kubectl"
	websiteAPIServer      = "website-apiserver"
	websiteController     = "website-controller"
)

// auditPolicy records the user, the request and the status code, once per request, for
// both API servers. Bodies are left out: they contain Secrets. Requests of Kubernetes' own
// components, which are most of all, are left out as well.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: None
  userGroups: ["system:serviceaccounts:kube-system", "system:nodes"]
- level: None
  users: ["system:kube-controller-manager", "system:kube-scheduler", "system:apiserver"]
- level: Metadata
`

// plan determines the command lines of components.
type plan struct {
	layout   layout
	options  Options
	settings settings
	programs programs
	check    *checker
	replicas replicas
}

// etcd is the store of kube-apiserver.
func (p *plan) etcd() spec {
	ports := p.settings.Ports
	return p.etcdMember(etcdMember{
		name: etcd, member: etcdMemberName, initialCluster: etcdMemberName + "=" + httpsURL(ports.EtcdPeer),
		data: p.layout.etcdData(), port: ports.Etcd, peerPort: ports.EtcdPeer,
	})
}

// etcdMemberName is the name of the only member of an etcd cluster.
const etcdMemberName = "devcluster"

// etcdMember is a member of an etcd cluster.
type etcdMember struct {
	// name is the name of the process, member the name in initialCluster.
	name, member, initialCluster string
	data                         string
	port, peerPort               int
}

func (p *plan) etcdMember(m etcdMember) spec {
	l := p.layout
	url, peerURL := httpsURL(m.port), httpsURL(m.peerPort)
	args := []string{
		"--name=" + m.member,
		"--data-dir=" + m.data,
		"--listen-client-urls=" + url, "--advertise-client-urls=" + url,
		"--listen-peer-urls=" + peerURL, "--initial-advertise-peer-urls=" + peerURL,
		"--initial-cluster=" + m.initialCluster,
		"--client-cert-auth", "--trusted-ca-file=" + l.cert(etcdCA),
		"--cert-file=" + l.cert(etcd), "--key-file=" + l.key(etcd),
		"--peer-client-cert-auth", "--peer-trusted-ca-file=" + l.cert(etcdCA),
		"--peer-cert-file=" + l.cert(etcd), "--peer-key-file=" + l.key(etcd),
	}
	if !p.options.SyncedEtcd {
		args = append(args, "--unsafe-no-fsync")
	}
	return spec{
		name: m.name, path: p.programs[etcd],
		ports: []portUse{{m.name, m.port}, {m.name + "-peer", m.peerPort}},
		args:  args,
		ready: func(ctx context.Context) error { return p.check.etcd(ctx, url+"/readyz") },
	}
}

// kubeAPIServer enables the aggregation layer, by --proxy-client-* and
// --requestheader-*. Further servers differ by name and port.
func (p *plan) kubeAPIServer(name string, port int, extra ...string) spec {
	l := p.layout
	return spec{
		name: name, path: p.programs[kubeAPIServer],
		ports: []portUse{{name, port}},
		args: append([]string{
			"--bind-address=127.0.0.1", "--secure-port=" + strconv.Itoa(port),
			"--etcd-servers=" + httpsURL(p.settings.Ports.Etcd),
			"--etcd-cafile=" + l.cert(etcdCA), "--etcd-certfile=" + l.cert(etcdClient), "--etcd-keyfile=" + l.key(etcdClient),
			"--tls-cert-file=" + l.cert(kubeAPIServer), "--tls-private-key-file=" + l.key(kubeAPIServer),
			"--client-ca-file=" + l.cert(clusterCA),
			"--authorization-mode=Node,RBAC",
			"--enable-admission-plugins=NodeRestriction",
			"--allow-privileged",
			"--service-cluster-ip-range=" + serviceRange,
			"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
			"--service-account-signing-key-file=" + l.key(serviceAccount),
			"--service-account-key-file=" + serviceAccountPublicKey(l),
			"--proxy-client-cert-file=" + l.cert(frontProxy), "--proxy-client-key-file=" + l.key(frontProxy),
			"--requestheader-client-ca-file=" + l.cert(frontProxyCA),
			"--requestheader-allowed-names=" + frontProxyUser,
			"--requestheader-username-headers=X-Remote-User",
			"--requestheader-group-headers=X-Remote-Group",
			"--requestheader-extra-headers-prefix=X-Remote-Extra-",
			// If enabled, it connects to the pods of Services, whose cluster addresses are not
			// routed on this machine. If disabled, a Service of type ExternalName leads to a
			// server on this machine.
			"--enable-aggregator-routing=" + strconv.FormatBool(p.options.Node == NodeReal),
		}, slices.Concat(p.nodeArgs(), p.auditArgs(name), extra)...),
		ready: func(ctx context.Context) error { return p.check.url(ctx, httpsURL(port)+"/readyz") },
	}
}

// nodeArgs returns the flags of kube-apiserver that depend on the kind of node.
func (p *plan) nodeArgs() []string {
	if p.options.Node == NodeReal {
		return p.kubeletFlags()
	}
	// No pod connects to the address. The default requires an interface that this machine may lack.
	return []string{"--advertise-address=192.0.2.1"}
}

func (p *plan) auditArgs(name string) []string {
	return []string{
		"--audit-policy-file=" + p.layout.auditPolicy(),
		"--audit-log-path=" + p.layout.auditLog(name),
		// The size, in MiB, exceeds the log of all tests in a shared cluster: they read the file from
		// an offset.
		"--audit-log-maxsize=1000", "--audit-log-maxbackup=1",
	}
}

// client returns the flags of a component that is a client of kube-apiserver, which
// also authenticates and authorizes the component's own clients.
func (p *plan) client(name string) []string {
	kubeconfig := p.layout.kubeconfig(name)
	return []string{
		"--kubeconfig=" + kubeconfig,
		"--authentication-kubeconfig=" + kubeconfig,
		"--authorization-kubeconfig=" + kubeconfig,
	}
}

func (p *plan) server(name string, port int) []string {
	return []string{
		"--bind-address=127.0.0.1", "--secure-port=" + strconv.Itoa(port),
		"--tls-cert-file=" + p.layout.cert(name), "--tls-private-key-file=" + p.layout.key(name),
	}
}

// kubeControllerManager runs all controllers that are on by default, each under its own ServiceAccount, except the
// controller of Endpoints with simulated nodes: Endpoints are deprecated and unused there.
func (p *plan) kubeControllerManager() spec {
	l, port := p.layout, p.settings.Ports.ControllerManager
	controllers := "*"
	if p.options.Node != NodeReal {
		controllers += ",-endpoints-controller"
	}
	return spec{
		name: kubeControllerManager, path: p.programs[kubeControllerManager],
		ports: []portUse{{kubeControllerManager, port}},
		args: append(append(p.client(kubeControllerManager), p.server(kubeControllerManager, port)...),
			"--controllers="+controllers,
			"--use-service-account-credentials",
			"--service-account-private-key-file="+l.key(serviceAccount),
			"--root-ca-file="+l.cert(clusterCA),
			"--cluster-signing-cert-file="+l.cert(clusterCA), "--cluster-signing-key-file="+l.key(clusterCA),
			// There is a single instance, and the lease of its predecessor would expire after 15 seconds.
			"--leader-elect=false",
			// The default of 20 requests per second would slow down tests.
			"--kube-api-qps=500", "--kube-api-burst=1000",
			// There is no other node. Running pods stay in Services after a crash of the
			// kubelet, or on a busy or suspended machine.
			"--node-monitor-grace-period=5m",
			// The default of 15 seconds is for thousands of autoscalers.
			"--horizontal-pod-autoscaler-sync-period=1s",
		),
		ready: func(ctx context.Context) error { return p.check.url(ctx, httpsURL(port)+"/healthz") },
	}
}

func (p *plan) kubeScheduler() spec {
	port := p.settings.Ports.Scheduler
	return spec{
		name: kubeScheduler, path: p.programs[kubeScheduler],
		ports: []portUse{{kubeScheduler, port}},
		args:  append(append(p.client(kubeScheduler), p.server(kubeScheduler, port)...), "--leader-elect=false"),
		ready: func(ctx context.Context) error { return p.check.url(ctx, httpsURL(port)+"/readyz") },
	}
}

// kwok manages the simulated nodes, and no others.
func (p *plan) kwok() spec {
	port := p.settings.Ports.Kwok
	address := loopback(port)
	return spec{
		name: kwok, path: p.programs[kwok],
		ports: []portUse{{kwok, port}},
		args: []string{
			"--kubeconfig=" + p.layout.kubeconfig(kwok),
			"--config=" + p.programs[kwokStages],
			"--manage-nodes-with-annotation-selector=" + simulatedAnnotation + "=" + simulatedValue,
			"--node-lease-duration-seconds=40",
			"--server-address=" + address,
		},
		ready: func(ctx context.Context) error { return p.check.url(ctx, "http://"+address+"/readyz") },
	}
}

// websiteAPIServer is the product. Further servers differ by name and port.
func (p *plan) websiteAPIServer(name string, port int, extra ...string) spec {
	args := append(append(p.client(websiteAPIServer), p.server(websiteAPIServer, port)...),
		// The watches of kube-apiserver do not end; the default limit is a minute.
		"--shutdown-watch-termination-grace-period=2s")
	// A list of etcd servers would extend the default, not replace it.
	if !slices.ContainsFunc(extra, func(arg string) bool {
		return strings.HasPrefix(arg, "--etcd-servers=") || strings.HasPrefix(arg, "--data-dir=")
	}) {
		args = append(args, p.websiteStoreArgs()...)
	}
	args = append(args, p.auditArgs(name)...)
	args = append(args, p.options.APIServerArgs...)
	return spec{
		name: name, path: p.product(websiteAPIServer),
		ports: []portUse{{name, port}},
		args:  append(args, extra...),
		ready: func(ctx context.Context) error {
			if err := p.check.url(ctx, httpsURL(port)+"/readyz"); err != nil {
				return err
			}
			return p.check.proxied(ctx, httpsURL(port)+"/apis/"+websiteGroup)
		},
	}
}

// websiteController is the product. Further controllers differ by name and port.
func (p *plan) websiteController(name string, port int, extra ...string) spec {
	args := append(p.client(websiteController), p.server(websiteController, port)...)
	// Simulated pods have no reachable addresses.
	args = append(args, "--commit-observation=None")
	// No kubelet restarts a controller that has lost its lease, and a busy machine can delay a renewal by ten seconds.
	args = append(args, "--leader-elect-lease-duration=60s", "--leader-elect-renew-deadline=50s")
	// With the default of a second, the renewals are most of the writes of an idle cluster.
	args = append(args, "--leader-elect-retry-period=10s")
	return spec{
		name: name, path: p.product(websiteController),
		ports: []portUse{{name, port}},
		args:  append(args, extra...),
		ready: func(ctx context.Context) error { return p.check.url(ctx, httpsURL(port)+"/readyz") },
	}
}

// product is the path of a program of this repository.
func (p *plan) product(name string) string { return filepath.Join(p.options.RepoDir, "bin", name) }
