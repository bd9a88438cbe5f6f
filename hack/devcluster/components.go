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

// auditPolicy records who asked for what and the answer's code, once per request, for
// both API servers. Bodies are left out: they hold Secrets.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
`

// plan knows all that the command lines of components depend on.
type plan struct {
	layout   layout
	options  Options
	settings settings
	programs programs
	check    *checker
}

// etcd is the store of kube-apiserver.
func (p *plan) etcd() spec {
	ports := p.settings.Ports
	return p.etcdMember(etcd, etcdCA, p.layout.etcdData(), ports.Etcd, ports.EtcdPeer, p.check.etcd)
}

// etcdMember is the only member of an etcd cluster, which accepts clients that authority
// has signed.
func (p *plan) etcdMember(name, authority, data string, port, peerPort int, ready func(ctx context.Context, url string) error) spec {
	l := p.layout
	url, peerURL := httpsURL(port), httpsURL(peerPort)
	return spec{
		name: name, path: p.programs[etcd],
		ports:  []portUse{{name, port}, {name + "-peer", peerPort}},
		inputs: []string{l.cert(name), l.cert(authority)},
		args: []string{
			"--name=devcluster",
			"--data-dir=" + data,
			"--listen-client-urls=" + url, "--advertise-client-urls=" + url,
			"--listen-peer-urls=" + peerURL, "--initial-advertise-peer-urls=" + peerURL,
			"--initial-cluster=devcluster=" + peerURL,
			"--client-cert-auth", "--trusted-ca-file=" + l.cert(authority),
			"--cert-file=" + l.cert(name), "--key-file=" + l.key(name),
			"--peer-client-cert-auth", "--peer-trusted-ca-file=" + l.cert(authority),
			"--peer-cert-file=" + l.cert(name), "--peer-key-file=" + l.key(name),
			// Surviving a power cut is not worth waiting for the disk here.
			"--unsafe-no-fsync",
		},
		ready: func(ctx context.Context) error { return ready(ctx, url+"/readyz") },
	}
}

// kubeAPIServer has the aggregation layer on: that is what --proxy-client-* and
// --requestheader-* are for. Further ones differ by name and port.
func (p *plan) kubeAPIServer(name string, port int, extra ...string) spec {
	l := p.layout
	return spec{
		name: name, path: p.programs[kubeAPIServer],
		ports: []portUse{{name, port}},
		inputs: []string{l.cert(clusterCA), l.cert(kubeAPIServer), l.cert(frontProxyCA), l.cert(frontProxy), l.cert(etcdCA), l.cert(etcdClient),
			l.cert(serviceAccount), l.auditPolicy()},
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
			"--requestheader-uid-headers=X-Remote-Uid",
			"--requestheader-group-headers=X-Remote-Group",
			"--requestheader-extra-headers-prefix=X-Remote-Extra-",
			// Off, so that a Service of type ExternalName leads to a server on this machine.
			"--enable-aggregator-routing=false",
		}, slices.Concat(p.nodeArgs(), p.auditArgs(name), extra)...),
		ready: func(ctx context.Context) error { return p.check.url(ctx, httpsURL(port)+"/readyz") },
	}
}

// nodeArgs are the flags of kube-apiserver that depend on what pods run on.
func (p *plan) nodeArgs() []string {
	if p.options.Node == NodeReal {
		return p.kubeletFlags()
	}
	// Published for pods, none of which ever connects. An address for documentation: the
	// default is an interface this machine may not have.
	return []string{"--advertise-address=192.0.2.1"}
}

func (p *plan) auditArgs(name string) []string {
	return []string{
		"--audit-policy-file=" + p.layout.auditPolicy(),
		"--audit-log-path=" + p.layout.auditLog(name),
		"--audit-log-maxsize=200", "--audit-log-maxbackup=1",
	}
}

// client are the flags of a component that is a client of kube-apiserver, and has it
// decide who may ask the component something.
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

// kubeControllerManager runs all controllers that are on by default, each under its own
// ServiceAccount.
func (p *plan) kubeControllerManager() spec {
	l, port := p.layout, p.settings.Ports.ControllerManager
	return spec{
		name: kubeControllerManager, path: p.programs[kubeControllerManager],
		ports:  []portUse{{kubeControllerManager, port}},
		inputs: []string{l.kubeconfig(kubeControllerManager), l.cert(kubeControllerManager), l.cert(clusterCA), l.cert(servingCA), l.cert(serviceAccount)},
		args: append(append(p.client(kubeControllerManager), p.server(kubeControllerManager, port)...),
			"--use-service-account-credentials",
			"--service-account-private-key-file="+l.key(serviceAccount),
			"--root-ca-file="+l.cert(servingCA),
			"--cluster-signing-cert-file="+l.cert(clusterCA), "--cluster-signing-key-file="+l.key(clusterCA),
			// There is one, and waiting for the lease of its predecessor takes 15 seconds.
			"--leader-elect=false",
			// The default of 20 requests a second, not the product, would set the pace
			// of whatever is measured here.
			"--kube-api-qps=500", "--kube-api-burst=1000",
			// There is no other node to move pods to: a kubelet that has crashed, or a machine
			// that is busy or was asleep, is no reason to take what runs out of Services.
			"--node-monitor-grace-period=5m",
		),
		ready: func(ctx context.Context) error { return p.check.url(ctx, httpsURL(port)+"/healthz") },
	}
}

func (p *plan) kubeScheduler() spec {
	l, port := p.layout, p.settings.Ports.Scheduler
	return spec{
		name: kubeScheduler, path: p.programs[kubeScheduler],
		ports:  []portUse{{kubeScheduler, port}},
		inputs: []string{l.kubeconfig(kubeScheduler), l.cert(kubeScheduler)},
		args:   append(append(p.client(kubeScheduler), p.server(kubeScheduler, port)...), "--leader-elect=false"),
		ready:  func(ctx context.Context) error { return p.check.url(ctx, httpsURL(port)+"/readyz") },
	}
}

// kwok answers for the simulated nodes, and for no others.
func (p *plan) kwok() spec {
	port := p.settings.Ports.Kwok
	address := loopback(port)
	return spec{
		name: kwok, path: p.programs[kwok],
		ports:  []portUse{{kwok, port}},
		inputs: []string{p.layout.kubeconfig(kwok), p.programs[kwokStages]},
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

// websiteAPIServer is the product. Further ones differ by name and port.
func (p *plan) websiteAPIServer(name string, port int, extra ...string) spec {
	l := p.layout
	args := append(append(p.client(websiteAPIServer), p.server(websiteAPIServer, port)...),
		// Without a limit it waits up to a minute until its watchers leave, and
		// kube-apiserver's never do.
		"--shutdown-watch-termination-grace-period=2s")
	// A list of etcd servers would be added to ours, not replace them.
	if !slices.ContainsFunc(extra, func(arg string) bool { return strings.HasPrefix(arg, "--etcd-servers=") }) {
		args = append(args, p.websiteStoreArgs()...)
	}
	args = append(args, p.auditArgs(name)...)
	args = append(args, p.options.APIServerArgs...)
	return spec{
		name: name, path: p.product(websiteAPIServer),
		ports:  []portUse{{name, port}},
		inputs: append([]string{l.kubeconfig(websiteAPIServer), l.cert(websiteAPIServer), l.auditPolicy()}, p.websiteStoreInputs()...),
		args:   append(args, extra...),
		ready: func(ctx context.Context) error {
			if err := p.check.url(ctx, httpsURL(port)+"/readyz"); err != nil {
				return err
			}
			return p.check.proxied(ctx, httpsURL(port)+"/apis/"+websiteGroup)
		},
	}
}

// websiteController is the product. Further ones differ by name and port.
func (p *plan) websiteController(name string, port int, extra ...string) spec {
	l := p.layout
	args := append(p.client(websiteController), p.server(websiteController, port)...)
	if p.options.Node != NodeReal {
		// The addresses of simulated pods are made up: nobody may dial them.
		args = append(args, "--commit-observation=None")
	}
	args = append(args, p.options.ControllerArgs...)
	return spec{
		name: name, path: p.product(websiteController),
		ports:  []portUse{{name, port}},
		inputs: []string{l.kubeconfig(websiteController), l.cert(websiteController)},
		args:   append(args, extra...),
		ready:  func(ctx context.Context) error { return p.check.url(ctx, httpsURL(port)+"/readyz") },
	}
}

// product is the path of a program of this repository.
func (p *plan) product(name string) string { return filepath.Join(p.options.RepoDir, "bin", name) }
