package options

import (
	"fmt"
	"net"
)

// CompletedOptions are Options with every default that depends on another option
// filled in. Only Complete makes them.
type CompletedOptions struct {
	*completedOptions
}

type completedOptions struct {
	*Options
}

// Complete fills in the defaults that depend on other options. It does not change the options
// themselves.
func (o *Options) Complete() CompletedOptions {
	completed := o.clone()
	// A controller outside the cluster needs only one kubeconfig.
	if completed.Authentication.RemoteKubeConfigFile == "" {
		completed.Authentication.RemoteKubeConfigFile = o.Kubeconfig
	}
	if completed.Authorization.RemoteKubeConfigFile == "" {
		completed.Authorization.RemoteKubeConfigFile = o.Kubeconfig
	}
	return CompletedOptions{&completedOptions{completed}}
}

// clone returns a copy of the options. Parts that are changed later are copied, the others are
// shared. The copy must not be bound to flags.
func (o *Options) clone() *Options {
	options := *o
	options.SecureServing = new(*o.SecureServing)
	options.Authentication = new(*o.Authentication)
	options.Authorization = new(*o.Authorization)
	return &options
}

// DefaultCertificate generates a self-signed certificate in memory, unless the flags
// name one.
func (o CompletedOptions) DefaultCertificate() error {
	if err := o.SecureServing.MaybeDefaultWithSelfSignedCerts("localhost", nil,
		[]net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}); err != nil {
		return fmt.Errorf("generating a self-signed certificate; use --tls-cert-file and --tls-private-key-file instead: %w",
			err)
	}
	return nil
}
