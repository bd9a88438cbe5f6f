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

// Complete fills in the defaults that depend on other options. The options stay as
// they are.
func (o *Options) Complete() CompletedOptions {
	completed := o.clone()
	// One kubeconfig is enough for a controller outside the cluster.
	if completed.Authentication.RemoteKubeConfigFile == "" {
		completed.Authentication.RemoteKubeConfigFile = o.Kubeconfig
	}
	if completed.Authorization.RemoteKubeConfigFile == "" {
		completed.Authorization.RemoteKubeConfigFile = o.Kubeconfig
	}
	return CompletedOptions{&completedOptions{completed}}
}

// clone returns a copy of the options. The parts that are changed later are copied,
// the others are shared. The copy is not to be bound to flags.
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
