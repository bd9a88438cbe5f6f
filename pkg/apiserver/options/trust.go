package options

import (
	"fmt"

	genericoptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kubesites/website-apiserver/pkg/apiserver/trust"
)

// applyTrust verifies client certificates and the front proxy as the authentication
// options do, with CAs whose arrival can be awaited. It returns nil if none of them
// comes from the cluster.
func (o CompletedOptions) applyTrust() (*trust.Cluster, error) {
	authentication := o.Recommended.Authentication
	config := trust.Config{
		Clients:  authentication.ClientCert == genericoptions.ClientCertAuthenticationOptions{},
		Proxy:    authentication.RequestHeader.ClientCAFile == "",
		Optional: authentication.TolerateInClusterLookupFailure,
	}
	if authentication.SkipInClusterLookup || !config.Clients && !config.Proxy {
		return nil, nil
	}
	client, err := unlimitedClient(authentication.RemoteKubeConfigFile, 0)
	if err != nil {
		return nil, fmt.Errorf("--authentication-kubeconfig: %w", err)
	}
	cluster, err := trust.New(client, config)
	if err != nil {
		return nil, err
	}
	// The CAs must not be looked up a second time.
	authentication.SkipInClusterLookup = true
	if config.Clients {
		authentication.ClientCert.CAContentProvider = cluster.ClientCA()
	}
	return cluster, nil
}

// clientConfig returns the client configuration of the file or, without one, of the
// pod's ServiceAccount.
func clientConfig(kubeconfig string) (*rest.Config, error) {
	var config *rest.Config
	var err error
	if kubeconfig == "" {
		config, err = rest.InClusterConfig()
	} else {
		config, err = clientcmd.BuildConfigFromFlags("", kubeconfig)
	}
	if err != nil {
		return nil, err
	}
	// Priority and fairness of the host cluster limits the requests.
	config.QPS = -1
	return config, nil
}
