package devcluster

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"strconv"

	"github.com/kubesites/website-apiserver/hack/devcluster/gitserver"
	"github.com/kubesites/website-apiserver/hack/devcluster/node"
)

// These are the names of a real node's components, and of the programs that it uses.
const (
	nodeInit          = "node"
	nodeGateway       = "node-gateway"
	gitServer         = "git-server"
	containerd        = "containerd"
	kubelet           = "kubelet"
	kubeProxy         = "kube-proxy"
	ctr               = "ctr"
	devclusterCommand = "devcluster"
	pauseStandIn      = "pause-standin"
	websiteAgent      = "website-agent"
)

const (
	// kubeletClient is the certificate of kube-apiserver as a client of the kubelet.
	kubeletClient = "kube-apiserver-kubelet-client"
)

const (
	// containerdSocket is in the node's own /run: the path of a socket is short.
	containerdSocket = "/run/containerd/containerd.sock"
	kubeletPort      = 10250
	kubeProxyPort    = 10256
)

// nodeInit keeps the node. All processes in the node end with it.
func (p *plan) nodeInit(nodePID func() int) spec {
	return spec{
		name: nodeInit, path: p.product(devclusterCommand),
		// The directory identifies the cluster in a list of processes.
		args:     []string{"node", "--dir=" + p.layout.dir},
		env:      []string{systemPath()},
		isolated: true,
		ready:    func(context.Context) error { return nodeReady(nodePID()) },
	}
}

// nodeGateway connects the node to kube-apiserver and to image registries.
func (p *plan) nodeGateway() spec {
	ports, addresses := p.settings.Ports, p.settings.Node
	api := net.JoinHostPort(addresses.Host(), strconv.Itoa(ports.APIServer))
	proxy := net.JoinHostPort(addresses.Host(), strconv.Itoa(ports.NodeProxy))
	return spec{
		name: nodeGateway, path: p.product(devclusterCommand),
		ports: []portUse{{"node-proxy", ports.NodeProxy}},
		args: []string{
			"gateway",
			"--api=" + api, "--target=" + loopback(ports.APIServer),
			"--proxy=" + proxy,
			"--client=" + addresses.Node(),
		},
		// It starts before kube-apiserver.
		ready: func(ctx context.Context) error { return listens(ctx, "tcp", api) },
	}
}

// gitServer serves repositories to pods, which reach no other git host.
func (p *plan) gitServer() spec {
	address := net.JoinHostPort(p.settings.Node.Host(), strconv.Itoa(p.settings.Ports.GitServer))
	return spec{
		name: gitServer, path: p.product(devclusterCommand),
		ports: []portUse{{gitServer, p.settings.Ports.GitServer}},
		args: []string{
			"git-server",
			"--address=" + address,
			"--repositories=" + p.layout.git(),
			"--credentials=" + p.layout.gitCredentials(),
		},
		ready: func(ctx context.Context) error { return p.check.url(ctx, "http://"+address+gitserver.HealthPath) },
	}
}

// containerd runs containers. It reaches registries through the gateway.
func (p *plan) containerd(nodePID func() int) spec {
	proxy := "http://" + net.JoinHostPort(p.settings.Node.Host(), strconv.Itoa(p.settings.Ports.NodeProxy))
	return spec{
		name: containerd, path: p.programs[containerd],
		args: []string{"--config=" + p.layout.nodeFile(containerdConfig)},
		env: []string{systemPath(filepath.Dir(p.programs[containerd])),
			"HTTPS_PROXY=" + proxy, "HTTP_PROXY=" + proxy, "NO_PROXY=localhost,127.0.0.1"},
		within: nodePID,
		ready: func(ctx context.Context) error {
			return listens(ctx, "unix", node.FileIn(nodePID(), containerdSocket))
		},
	}
}

// kubelet runs the pods of the node.
func (p *plan) kubelet(nodePID func() int) spec {
	l, address := p.layout, p.settings.Node.Node()
	return spec{
		name: kubelet, path: p.programs[kubelet],
		args: []string{
			"--config=" + l.nodeFile(kubeletConfig),
			"--kubeconfig=" + l.kubeconfig(kubelet),
			"--root-dir=" + l.kubeletData(),
			"--cert-dir=" + l.nodeFile("kubelet-certificates"),
			"--hostname-override=" + realNode,
			"--node-ip=" + address,
		},
		env:    []string{systemPath()},
		within: nodePID,
		ready: func(ctx context.Context) error {
			return p.check.url(ctx, "https://"+net.JoinHostPort(address, strconv.Itoa(kubeletPort))+"/healthz")
		},
	}
}

// kubeProxy routes the addresses of Services and NodePorts to pods.
func (p *plan) kubeProxy(nodePID func() int) spec {
	l, address := p.layout, p.settings.Node.Node()
	return spec{
		name: kubeProxy, path: p.programs[kubeProxy],
		args:   []string{"--config=" + l.nodeFile(kubeProxyConfig), "--hostname-override=" + realNode},
		env:    []string{systemPath()},
		within: nodePID,
		ready: func(ctx context.Context) error {
			return p.check.url(ctx, "http://"+net.JoinHostPort(address, strconv.Itoa(kubeProxyPort))+"/healthz")
		},
	}
}

// listens returns an error if an address accepts no connection.
func listens(ctx context.Context, network, address string) error {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, network, address)
	if err != nil {
		return err
	}
	return conn.Close()
}

// makeNode makes the certificates and kubeconfigs that only a real node uses.
func (c *credentials) makeNode(l layout, s settings) error {
	serving := leaf{commonName: "system:node:" + realNode, dns: []string{realNode},
		ips: []net.IP{net.ParseIP(s.Node.Node())}, server: true}
	if err := makeLeaf(l, kubelet, c.cluster, serving); err != nil {
		return err
	}
	if err := makeLeaf(l, kubeletClient, c.cluster, leaf{commonName: kubeletClient, organizations: []string{mastersGroup},
		client: true}); err != nil {
		return err
	}
	url := "https://" + net.JoinHostPort(s.Node.Host(), strconv.Itoa(s.Ports.APIServer))
	for _, id := range []struct {
		name, user string
		groups     []string
	}{
		{kubelet, "system:node:" + realNode, []string{"system:nodes"}},
		{kubeProxy, "system:kube-proxy", nil},
		{coreDNS, "devcluster-coredns", []string{mastersGroup}},
		{traefik, "devcluster-traefik", []string{mastersGroup}},
	} {
		pair, err := newLeaf(c.cluster, leaf{commonName: id.user, organizations: id.groups, client: true})
		if err != nil {
			return err
		}
		if err := WriteKubeconfig(l.kubeconfig(id.name), c.restConfigAt(pair, url)); err != nil {
			return err
		}
	}
	return nil
}

// nodeReady checks once whether the node is prepared.
func nodeReady(pid int) error {
	if pid == 0 {
		return errors.New("the node has ended")
	}
	return node.Ready(pid)
}

// kubeletFlags connect kube-apiserver to the kubelet, and pods to kube-apiserver.
func (p *plan) kubeletFlags() []string {
	l := p.layout
	return []string{
		"--advertise-address=" + p.settings.Node.Host(),
		"--kubelet-client-certificate=" + l.cert(kubeletClient), "--kubelet-client-key=" + l.key(kubeletClient),
		"--kubelet-certificate-authority=" + l.cert(clusterCA),
		"--kubelet-preferred-address-types=InternalIP",
	}
}
