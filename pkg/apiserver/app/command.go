// Package app is the command website-apiserver.
package app

import (
	"github.com/spf13/cobra"
	logsapi "k8s.io/component-base/logs/api/v1"

	// This import registers --logging-format=json.
	_ "k8s.io/component-base/logs/json/register"
	// This import exports the workqueue and client metrics of the informers.
	_ "k8s.io/component-base/metrics/prometheus/restclient"
	_ "k8s.io/component-base/metrics/prometheus/workqueue"

	"github.com/kubesites/website-apiserver/pkg/apiserver/options"
	"github.com/kubesites/website-apiserver/pkg/command"
	"github.com/kubesites/website-apiserver/pkg/version"
)

// NewCommand returns the command website-apiserver. It serves until the context
// of the command ends. It returns an error when the API types cannot be
// registered.
func NewCommand() (*cobra.Command, error) {
	o, err := options.NewOptions()
	if err != nil {
		return nil, err
	}
	cmd := &cobra.Command{
		Use:   "website-apiserver",
		Short: "Serve the Website API",
		Long: `website-apiserver serves the resource Website of the API group
mycontroller.nevermosby.io. It is registered with a Kubernetes cluster by an
APIService; the cluster authenticates and authorizes every request.

Websites are stored in etcd: in the cluster given by --etcd-servers or, if it is
empty, in an etcd that runs inside the process and keeps its data in --data-dir.

"website-apiserver migrate-storage" rewrites all stored Websites, "website-apiserver
store" inspects, backs up and restores the store, and "website-apiserver import" moves
Websites from a CustomResourceDefinition; see their --help.`,
		Version: version.String(),
		Args:    cobra.NoArgs,
		PersistentPreRunE: func(*cobra.Command, []string) error {
			// Feature gates and emulated versions take effect here, before they
			// are read.
			return o.ServerRun.ComponentGlobalsRegistry.Set()
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := logsapi.ValidateAndApply(o.Logs, nil); err != nil {
				return err
			}
			completed, err := o.Complete()
			if err != nil {
				return err
			}
			if err := completed.Validate(); err != nil {
				return err
			}
			return Run(cmd.Context(), completed)
		},
	}

	command.AddSections(cmd, o.Flags())
	storeCommand, err := newStoreCommand()
	if err != nil {
		return nil, err
	}
	importCommand, err := newImportDefinitionCommand()
	if err != nil {
		return nil, err
	}
	cmd.AddCommand(newMigrateCommand(), newUninstallCommand(), newCheckCommand(), newEtcdCertificatesCommand(),
		importCommand, storeCommand)
	return cmd, nil
}
