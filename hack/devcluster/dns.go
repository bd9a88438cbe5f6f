package devcluster

import (
	"context"
	"net"
)

const (
	coreDNS       = "coredns"
	coreDNSModule = "hack/coredns"
	corefile      = "Corefile"
	// clusterDomain is the domain of the names of Services and pods.
	clusterDomain = "cluster.local"
	// coreDNSReadyPort differs from the port of DNS.
	coreDNSReadyPort = "8181"
)

// corefileTemplate configures CoreDNS for the queries of pods. Hosts resolve to the node, where the
// Gateway is, if any. Other names do not exist, as pods have no external network by name.
const corefileTemplate = `.:53 {
    bind {{.Host}}
    errors
    ready {{.Host}}:{{.CoreDNSReadyPort}}
    kubernetes {{.ClusterDomain}} {
        kubeconfig {{.DNSKubeconfig | quote}}
        ttl 1
    }
    template IN A {{.HostDomain}} {
        answer "{{"{{ .Name }}"}} 1 IN A {{.Address}}"
    }
    template ANY ANY {
        rcode NXDOMAIN
    }
}
`

// coreDNS resolves the names of Services and pods, for pods.
func (p *plan) coreDNS() spec {
	l := p.layout
	return spec{
		name: coreDNS, path: p.programs[coreDNS],
		args: []string{"-conf=" + l.nodeFile(corefile)},
		ready: func(ctx context.Context) error {
			return p.check.url(ctx, "http://"+net.JoinHostPort(p.settings.Node.Host(), coreDNSReadyPort)+"/ready")
		},
	}
}
