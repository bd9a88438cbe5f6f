package app

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	cliflag "k8s.io/component-base/cli/flag"
	aggregator "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset"

	"github.com/kubesites/website-apiserver/pkg/apiserver/registration"
	"github.com/kubesites/website-apiserver/pkg/command"
)

// uninstallTimeout bounds the command beyond --minimum-age: its requests take some seconds.
const uninstallTimeout = time.Minute

// remainingObjects describes the objects that the command does not remove.
const remainingObjects = `
Websites are kept in the store, and their Deployments and Services keep serving.
  to remove the servers:      kubectl delete -k the manifests that installed them
                              (the namespace, volume claim and configmap website-store stay)
  to come back:               kubectl apply -k the same manifests
  to undo this command:       kubectl annotate service -n %[1]s %[2]s %[3]s-
  to remove the sites as well, after the servers:
                              kubectl delete deployments,services,configmaps,poddisruptionbudgets,ingresses -A \
                                -l app.kubernetes.io/managed-by=website-controller
                              where there is a Gateway API, the same for httproutes and listenersets
                              kubectl delete namespace %[1]s
`

// newUninstallCommand returns the command that removes the API from the host cluster.
func newUninstallCommand() *cobra.Command {
	var kubeconfig, service string
	var minimumAge time.Duration
	cmd := &cobra.Command{
		Use:   "uninstall",
		Short: "Remove the API from the host cluster, and keep the sites",
		Long: `uninstall deletes the APIServices with which website-apiserver has registered itself,
and has running servers not register themselves again. Run it before the servers are
deleted: an APIService without a server makes discovery fail for every client of the
cluster. Websites, and what they own in the cluster, are kept. Soon after the API has been
registered, the command waits, see --minimum-age.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			reference, err := registration.ParseService(service)
			if err != nil {
				return fmt.Errorf("--service=%w", err)
			}
			rules := clientcmd.NewDefaultClientConfigLoadingRules()
			rules.ExplicitPath = kubeconfig
			config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
			if err != nil {
				return fmt.Errorf("reading the client configuration (--kubeconfig): %w", err)
			}
			client, err := kubernetes.NewForConfig(config)
			if err != nil {
				return fmt.Errorf("making a client: %w", err)
			}
			aggregation, err := aggregator.NewForConfig(config)
			if err != nil {
				return fmt.Errorf("making a client: %w", err)
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), uninstallTimeout+minimumAge)
			defer cancel()
			deleted, err := registration.Uninstall(ctx, client, aggregation.ApiregistrationV1().APIServices(),
				reference, minimumAge)
			printUninstalled(cmd.OutOrStdout(), reference, deleted)
			return err
		},
	}
	var sections cliflag.NamedFlagSets
	flags := sections.FlagSet("uninstall")
	flags.StringVar(&kubeconfig, "kubeconfig", "", "Path to the kubeconfig file of a user who may delete APIServices. "+
		"Defaults to $KUBECONFIG, ~/.kube/config and the pod's ServiceAccount, in this order.")
	flags.StringVar(&service, "service", "website-system/website-apiserver:443",
		"The Service of website-apiserver, as NAMESPACE/NAME:PORT.")
	flags.DurationVar(&minimumAge, "minimum-age", registration.MinimumAge, "How long the API must have been available "+
		"before it is removed; the command waits for that. The garbage collector of the host cluster must have begun to "+
		"watch Websites: otherwise it takes the missing API for missing Websites, and deletes what they own.")
	command.AddSections(cmd, sections)
	return cmd
}

func printUninstalled(out io.Writer, service registration.Service, deleted []string) {
	for _, name := range deleted {
		fmt.Fprintf(out, "deleted APIService %s\n", name)
	}
	if len(deleted) == 0 {
		fmt.Fprintf(out, "no APIService leads to service %s\n", service)
	}
	fmt.Fprintf(out, remainingObjects, service.Namespace, service.Name, registration.AnnotationRegistration)
}
