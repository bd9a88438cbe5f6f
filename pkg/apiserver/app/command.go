// Package app is the command website-apiserver.
package app

import (
	"fmt"

	"github.com/spf13/cobra"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/cli/globalflag"
	"k8s.io/component-base/logs"
	logsapi "k8s.io/component-base/logs/api/v1"
	// Makes --logging-format=json available.
	_ "k8s.io/component-base/logs/json/register"
	// Exports the workqueue and client metrics of the informers.
	_ "k8s.io/component-base/metrics/prometheus/restclient"
	_ "k8s.io/component-base/metrics/prometheus/workqueue"
	"k8s.io/component-base/term"

	"github.com/kubesites/website-apiserver/pkg/apiserver/options"
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
			// Feature gates and emulated versions take effect here, before
			// anything reads them.
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
			limitGarbage()
			return Run(cmd.Context(), completed)
		},
	}

	sections := o.Flags()
	// Cobra handles the flag; defined here it appears in its section of --help.
	sections.FlagSet("global").Bool("version", false, fmt.Sprintf("version for %s", cmd.Name()))
	addSections(cmd, sections)
	cmd.CompletionOptions.DisableDefaultCmd = true
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

// addSections gives the command the flags of all sections, and those that every
// Kubernetes command has. --help shows them by section.
func addSections(cmd *cobra.Command, sections cliflag.NamedFlagSets) {
	globalflag.AddGlobalFlags(sections.FlagSet("global"), cmd.Name(), logs.SkipLoggingConfigurationFlags())
	for _, flags := range sections.FlagSets {
		cmd.Flags().AddFlagSet(flags)
	}
	columns, _, err := term.TerminalSize(cmd.OutOrStdout())
	if err != nil {
		columns = 0 // Not a terminal: lines are not wrapped.
	}
	cliflag.SetUsageAndHelpFunc(cmd, sections, columns)
}
