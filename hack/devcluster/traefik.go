package devcluster

import (
	"context"
	"net"
	"path/filepath"
)

const (
	traefik       = "traefik"
	traefikModule = "hack/traefik"
	// traefikReadyPort differs from the ports of HTTP and HTTPS.
	traefikReadyPort = "8404"
	// gatewayDefinitions is the cached file with the definitions of Gateway API.
	gatewayDefinitions = "gateway-api.yaml"
	gatewayAPIModule   = "sigs.k8s.io/gateway-api"
)

// gatewaySets are the programs and files of a Gateway.
var gatewaySets = []programSet{
	{
		dir: traefikModule, versionOf: "github.com/traefik/traefik/v3",
		programs: []program{{traefik, ".", 600}},
	},
	{
		dir: traefikModule, versionOf: gatewayAPIModule,
		extra: map[string][]string{gatewayDefinitions: definitionFiles(
			"gatewayclasses", "gateways", "httproutes", "grpcroutes", "tlsroutes", "listenersets", "referencegrants",
			"backendtlspolicies")},
	},
}

func definitionFiles(resources ...string) []string {
	var files []string
	for _, resource := range resources {
		files = append(files, filepath.Join("config", "crd", "standard", "gateway.networking.k8s.io_"+resource+".yaml"))
	}
	return files
}

// traefik serves the hosts of Gateways and Ingresses, on the node's address.
func (p *plan) traefik(nodePID func() int) spec {
	address := p.settings.Node.Node()
	ready := net.JoinHostPort(address, traefikReadyPort)
	return spec{
		name: traefik, path: p.programs[traefik],
		args:   []string{"--address=" + address, "--ready-address=" + ready},
		env:    []string{"KUBECONFIG=" + p.layout.kubeconfig(traefik)},
		within: nodePID,
		ready:  func(ctx context.Context) error { return p.check.url(ctx, "http://"+ready+"/") },
	}
}
