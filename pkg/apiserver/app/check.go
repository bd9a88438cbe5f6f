package app

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/tools/clientcmd"
	cliflag "k8s.io/component-base/cli/flag"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1alpha1"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/command"
)

// checkInterval is the time between two attempts.
const checkInterval = 2 * time.Second

// newCheckCommand returns the command that tests an installation.
func newCheckCommand() *cobra.Command {
	var kubeconfig string
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Wait until the host cluster serves the API",
		Long: `check waits until kube-apiserver serves Websites in all versions, as clients of the cluster
discover them. It needs no permissions beyond those of every authenticated user.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			rules := clientcmd.NewDefaultClientConfigLoadingRules()
			rules.ExplicitPath = kubeconfig
			config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
			if err != nil {
				return fmt.Errorf("reading the client configuration (--kubeconfig): %w", err)
			}
			client, err := discovery.NewDiscoveryClientForConfig(config)
			if err != nil {
				return fmt.Errorf("making a client: %w", err)
			}
			for _, version := range []string{v1alpha1.SchemeGroupVersion.String(), v1beta1.SchemeGroupVersion.String()} {
				if err := waitDiscovered(cmd.Context(), client, version, timeout); err != nil {
					return err
				}
				fmt.Fprintf(cmd.OutOrStdout(), "%s is served\n", version)
			}
			return nil
		},
	}
	var sections cliflag.NamedFlagSets
	flags := sections.FlagSet("check")
	flags.StringVar(&kubeconfig, "kubeconfig", "", "Path to the kubeconfig file of a user. Defaults to $KUBECONFIG, "+
		"~/.kube/config and the pod's ServiceAccount, in this order.")
	flags.DurationVar(&timeout, "timeout", time.Minute, "How long to wait for each version.")
	command.AddSections(cmd, sections)
	return cmd
}

// waitDiscovered waits until a client discovers Websites in a version.
func waitDiscovered(ctx context.Context, client discovery.DiscoveryInterface, version string,
	timeout time.Duration) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, checkInterval, timeout, true, func(context.Context) (bool, error) {
		resources, err := client.ServerResourcesForGroupVersion(version)
		if err == nil && !slices.ContainsFunc(resources.APIResources,
			func(r metav1.APIResource) bool { return r.Name == "websites" }) {
			err = fmt.Errorf("%s has no Websites", version)
		}
		last = err
		return err == nil, nil
	})
	if err != nil {
		return fmt.Errorf("%s is not served: %w (%w)", version, last, err)
	}
	return nil
}
