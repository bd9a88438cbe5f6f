package app

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	cliflag "k8s.io/component-base/cli/flag"
	logsapi "k8s.io/component-base/logs/api/v1"
	"k8s.io/utils/clock"

	"github.com/kubesites/website-apiserver/pkg/apiserver/etcdcert"
	"github.com/kubesites/website-apiserver/pkg/command"
)

// caLifetime is the lifetime of the CA, which an administrator replaces.
const caLifetime = 10 * 365 * 24 * time.Hour

// minimumLifetime leaves time for a Secret to reach the pods before a certificate expires.
const minimumLifetime = time.Hour

// newEtcdCertificatesCommand returns the command that renews the certificates of an etcd cluster.
func newEtcdCertificatesCommand() *cobra.Command {
	certificates := etcdcert.Config{
		Namespace: "website-system", Name: "website-etcd", Members: 3,
		Lifetime: 90 * 24 * time.Hour, CALifetime: caLifetime, Clock: clock.RealClock{},
	}
	var kubeconfig, metricsAddress string
	logging := logsapi.NewLoggingConfiguration()
	cmd := &cobra.Command{
		Use:   "etcd-certificates",
		Short: "Keep the certificates of the etcd cluster of artifacts/ha",
		Long: `etcd-certificates generates a CA, the certificate of the members of an etcd cluster and that
of website-apiserver, in the Secrets NAME-ca, NAME-server and NAME-client. It replaces the two
certificates after two thirds of their lifetime, until it is stopped. etcd and website-apiserver
read them again for each connection. It does not replace the CA, which they read at their start
only: delete the three Secrets, and restart etcd and website-apiserver.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := logsapi.ValidateAndApply(logging, nil); err != nil {
				return err
			}
			if certificates.Members < 1 {
				return errors.New("--members must be at least 1")
			}
			if certificates.Lifetime < minimumLifetime {
				return fmt.Errorf("--lifetime must be at least %s", minimumLifetime)
			}
			if certificates.CALifetime/3 < certificates.Lifetime {
				return errors.New("--ca-lifetime must be at least three times --lifetime, as the CA must outlive the " +
					"certificates that it signs")
			}
			rules := clientcmd.NewDefaultClientConfigLoadingRules()
			rules.ExplicitPath = kubeconfig
			config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
			if err != nil {
				return fmt.Errorf("reading the client configuration (--kubeconfig): %w", err)
			}
			if certificates.Client, err = kubernetes.NewForConfig(config); err != nil {
				return fmt.Errorf("making a client: %w", err)
			}
			return runWithMetrics(cmd.Context(), metricsAddress, certificates.Run)
		},
	}
	var sections cliflag.NamedFlagSets
	flags := sections.FlagSet("certificates")
	flags.StringVar(&kubeconfig, "kubeconfig", "", "Path to the kubeconfig file of a user with write access to Secrets. "+
		"Defaults to $KUBECONFIG, ~/.kube/config and the pod's ServiceAccount, in this order.")
	flags.StringVar(&certificates.Namespace, "namespace", certificates.Namespace,
		"The namespace of the Secrets and of the etcd cluster.")
	flags.StringVar(&certificates.Name, "name", certificates.Name,
		"The name of the StatefulSet of etcd and of its Service.")
	flags.IntVar(&certificates.Members, "members", certificates.Members, "The number of members.")
	flags.DurationVar(&certificates.Lifetime, "lifetime", certificates.Lifetime,
		"The lifetime of certificates, at least 1h. They are replaced after two thirds of it.")
	flags.DurationVar(&certificates.CALifetime, "ca-lifetime", certificates.CALifetime,
		"The lifetime of the CA, at least three times the lifetime of certificates.")
	flags.StringVar(&metricsAddress, "metrics-address", metricsAddress,
		"The address at which /metrics and /livez are served over HTTP, such as :2381. Default: not served.")
	logsapi.AddFlags(logging, sections.FlagSet("logs"))
	command.AddSections(cmd, sections)
	return cmd
}
