package devcluster

import (
	"context"
	"net"
)

const (
	coreDNS       = "coredns"
	coreDNSModule = "hack/coredns"
	corefile      = "Corefile"
	// clusterDomain is that of the names of Services and pods.
	clusterDomain = "cluster.local"
	// coreDNSReadyPort is beside that of DNS.
	coreDNSReadyPort = "8181"
)

// corefileTemplate has CoreDNS answer what pods ask. Hosts lead to the node, where the Gateway is if
// there is one. Other names do not exist, as pods reach nothing outside by name.
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
