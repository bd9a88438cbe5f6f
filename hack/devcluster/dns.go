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
	// coreDNSReadyPort is the port of the "ready" plugin of CoreDNS.
	coreDNSReadyPort = "8181"
)

// corefileTemplate configures CoreDNS for the queries of pods. HostDomain and all names below it
// resolve to the node, on which the Gateway listens, if there is one. All other names are NXDOMAIN:
// pods cannot resolve external names.
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

// coreDNS returns the spec of CoreDNS, which serves DNS to pods.
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
