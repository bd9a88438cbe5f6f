package app

import (
	"github.com/spf13/cobra"
	cliflag "k8s.io/component-base/cli/flag"
	logsapi "k8s.io/component-base/logs/api/v1"
	_ "k8s.io/component-base/logs/json/register" // for --logging-format=json
	"k8s.io/klog/v2"

	"github.com/kubesites/website-apiserver/pkg/command"
	"github.com/kubesites/website-apiserver/pkg/controller/options"
	"github.com/kubesites/website-apiserver/pkg/version"
)

// NewCommand returns the command website-controller. It runs until the context
// of the command ends.
func NewCommand() (*cobra.Command, error) {
	o, err := options.NewOptions()
	if err != nil {
		return nil, err
	}
	cmd := &cobra.Command{
		Use:   options.Name,
		Short: "Publish the git repositories that Websites name",
		Long: `website-controller watches Websites (mycontroller.nevermosby.io) and keeps
for each of them a Deployment whose pods fetch the git repository and serve its
files, a Service, and a ConfigMap with the nginx configuration. It reports
progress and problems in the status of the Website.

Any number of replicas may run; leader election selects the active one.

"website-controller adopt" makes Websites the owners of children that a backup has
restored; see its --help.`,
		Version: version.String(),
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := logsapi.ValidateAndApply(o.Logs, o.FeatureGate); err != nil {
				return err
			}
			if err := o.Complete().Validate(); err != nil {
				return err
			}
			logger := klog.FromContext(cmd.Context())
			logger.Info("Starting", "command", options.Name, "version", version.String())
			cliflag.PrintFlags(cmd.Flags())
			return Run(cmd.Context(), o)
		},
	}

	command.AddSections(cmd, o.Flags())
	cmd.AddCommand(newAdoptCommand())
	return cmd, nil
}
