package app

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kubesites/website-apiserver/pkg/controller/options"
	"github.com/kubesites/website-apiserver/pkg/controller/website/adoption"
	"github.com/kubesites/website-apiserver/pkg/generated/clientset/versioned"
	"github.com/kubesites/website-apiserver/pkg/version"
)

// adoptOptions are the flags of the commands that adopt.
type adoptOptions struct {
	kubeconfig, namespace string
	allNamespaces         bool
}

// newAdoptCommand returns the commands that make Websites the owners of their children after a backup was restored.
func newAdoptCommand() *cobra.Command {
	o := &adoptOptions{}
	cmd := &cobra.Command{
		Use:   "adopt",
		Short: "Make Websites the owners of children that a backup has restored without",
		Long: `adopt sets the owner references of objects that have the names of children of a
Website, the labels of the controller, and no controller, such as those that a backup has
restored. The controller then reconciles them as they are: no object is created again.

It runs with the permissions of the kubeconfig file: get and list on Websites, and list and patch
on the kinds of their children. In a pod of the controller, it runs with those of the controller.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		// The adopt commands log errors only.
		PersistentPreRun: func(*cobra.Command, []string) {},
	}
	// The usage function of the parent command prints the flags of the controller.
	cmd.SetUsageFunc(new(cobra.Command).UsageFunc())
	cmd.SetHelpFunc(new(cobra.Command).HelpFunc())
	flags := cmd.PersistentFlags()
	flags.StringVar(&o.kubeconfig, "kubeconfig", "",
		"The kubeconfig file (default: as for kubectl; in a pod, its ServiceAccount)")
	flags.StringVarP(&o.namespace, "namespace", "n", "",
		"The namespace of the Websites (default: the namespace in the kubeconfig file)")
	flags.BoolVarP(&o.allNamespaces, "all-namespaces", "A", false, "All namespaces")
	cmd.MarkFlagsMutuallyExclusive("namespace", "all-namespaces")
	for _, subcommand := range []struct {
		use, short string
		run        func(*adoption.Adopter, context.Context) error
	}{
		{"plan [NAME...]", "Print the children that run would adopt, and the refused ones with a reason",
			(*adoption.Adopter).Plan},
		{"run [NAME...]", "Adopt the children of all Websites, or of the named ones", (*adoption.Adopter).Run},
	} {
		cmd.AddCommand(&cobra.Command{
			Use: subcommand.use, Short: subcommand.short, SilenceUsage: true,
			RunE: func(cmd *cobra.Command, names []string) error {
				adopter, err := o.adopter()
				if err != nil {
					return err
				}
				adopter.Names, adopter.Out = names, cmd.OutOrStdout()
				return subcommand.run(adopter, cmd.Context())
			},
		})
	}
	return cmd
}

func (o *adoptOptions) adopter() (*adoption.Adopter, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = o.kubeconfig
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{})
	config, err := loader.ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("reading the configuration of the client; name a file with --kubeconfig: %w", err)
	}
	config.UserAgent = options.Name + "/" + version.GitVersion()
	config.QPS = -1
	adopter := &adoption.Adopter{Namespace: o.namespace}
	if o.namespace == "" && !o.allNamespaces {
		if adopter.Namespace, _, err = loader.Namespace(); err != nil {
			return nil, fmt.Errorf("reading the namespace of the configuration; name one with --namespace: %w", err)
		}
	}
	websites, err := versioned.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("creating a client for Websites: %w", err)
	}
	adopter.Websites = websites.WebsiteV1beta1()
	if adopter.Objects, err = metadata.NewForConfig(config); err != nil {
		return nil, fmt.Errorf("creating a client for metadata: %w", err)
	}
	return adopter, nil
}
