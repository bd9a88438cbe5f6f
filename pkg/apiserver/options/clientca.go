package options

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/apiserver/pkg/server/healthz"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// The ConfigMap by which kube-apiserver tells API servers whom to trust.
const (
	trustNamespace = metav1.NamespaceSystem
	trustName      = "extension-apiserver-authentication"
	trustConfigMap = "configmap " + trustNamespace + "/" + trustName
	clientCAKey    = "client-ca-file"
)

// applyClientCA has client certificates verified as the authentication options
// would have it, but by an authority that can be asked whether it is known yet.
// It returns the check that asks, nil where the flags do not leave the authority
// to the cluster.
func (o CompletedOptions) applyClientCA() (healthz.HealthChecker, error) {
	authentication := o.Recommended.Authentication
	if authentication.SkipInClusterLookup || authentication.ClientCert != (genericoptions.ClientCertAuthenticationOptions{}) {
		return nil, nil
	}
	config, err := clientConfig(authentication.RemoteKubeConfigFile)
	if err != nil {
		return nil, fmt.Errorf("--authentication-kubeconfig: %w", err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("--authentication-kubeconfig: %w", err)
	}
	clientCA, err := newClientCA(client)
	if err != nil {
		return nil, err
	}
	authentication.ClientCert.CAContentProvider = clientCA
	return newClientTrustCheck(clientCA, func(ctx context.Context) (bool, error) {
		published, err := clientCAPublished(ctx, client)
		if err != nil && authentication.TolerateInClusterLookupFailure {
			return false, nil
		}
		return published, err
	}), nil
}

// clientConfig is that of the file, or of the pod's ServiceAccount without one.
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
	// The host's priority and fairness sets the pace.
	config.QPS = -1
	return config, nil
}

// newClientCA returns the authority of clients that the cluster publishes. The
// server that is given it keeps it up to date.
func newClientCA(client kubernetes.Interface) (*dynamiccertificates.ConfigMapCAController, error) {
	clientCA, err := dynamiccertificates.NewDynamicCAFromConfigMapController("client-ca", trustNamespace, trustName, clientCAKey, client)
	if err != nil {
		return nil, fmt.Errorf("following %s: %w", trustConfigMap, err)
	}
	return clientCA, nil
}

// clientCAPublished tells whether the cluster publishes an authority of clients.
// A kube-apiserver without --client-ca-file does not.
func clientCAPublished(ctx context.Context, client kubernetes.Interface) (bool, error) {
	trust, err := client.CoreV1().ConfigMaps(trustNamespace).Get(ctx, trustName, metav1.GetOptions{})
	if err != nil {
		return false, fmt.Errorf("reading %s: %w", trustConfigMap, err)
	}
	return trust.Data[clientCAKey] != "", nil
}
