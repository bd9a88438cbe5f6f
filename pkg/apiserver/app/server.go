// Package app is the command website-apiserver.
package app

import (
	"context"
	"errors"

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
	"k8s.io/klog/v2"

	"github.com/kubesites/website-apiserver/pkg/apiserver/embeddedetcd"
	"github.com/kubesites/website-apiserver/pkg/apiserver/options"
	"github.com/kubesites/website-apiserver/pkg/version"
)

// NewCommand returns the command website-apiserver, which serves until ctx
// ends. It returns an error when the API types cannot be registered.
func NewCommand(ctx context.Context) (*cobra.Command, error) {
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

Websites are stored in etcd: in the cluster given by --etcd-servers or, without
one, in an etcd that runs inside the process and keeps its data in --data-dir.

"website-apiserver migrate-storage" rewrites all stored Websites, and
"website-apiserver store" looks at the store; see their --help.`,
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
			return Run(cmd.Context(), completed)
		},
	}
	cmd.SetContext(ctx)

	sections := o.Flags()
	// Declared here rather than by cobra, so that --help shows it.
	sections.FlagSet("global").Bool("version", false, "Print the version and exit.")
	addGlobalFlags(&sections, cmd)
	columns, _, _ := term.TerminalSize(cmd.OutOrStdout())
	cliflag.SetUsageAndHelpFunc(cmd, sections, columns)
	cmd.CompletionOptions.DisableDefaultCmd = true
	storeCommand, err := newStoreCommand()
	if err != nil {
		return nil, err
	}
	cmd.AddCommand(newMigrateCommand(), storeCommand)
	return cmd, nil
}

// addGlobalFlags adds the flags that every Kubernetes command has, and gives the
// command all sections.
func addGlobalFlags(sections *cliflag.NamedFlagSets, cmd *cobra.Command) {
	globalflag.AddGlobalFlags(sections.FlagSet("global"), cmd.Name(), logs.SkipLoggingConfigurationFlags())
	for _, set := range sections.FlagSets {
		cmd.Flags().AddFlagSet(set)
	}
}

// Run serves until ctx ends and then shuts down: requests in flight are
// finished, then the embedded etcd, if there is one, is closed. It returns an
// error when the server cannot start, or when its etcd fails.
func Run(ctx context.Context, o options.CompletedOptions) (err error) {
	klog.FromContext(ctx).Info("Starting website-apiserver", "version", version.GitVersion())
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	if o.EmbeddedEtcd() {
		etcd, err := embeddedetcd.Start(ctx, o.DataDir)
		if err != nil {
			return err
		}
		failed := make(chan error, 1)
		go func() {
			// Without its store the server can only fail requests: a restart
			// is the better answer.
			failed <- etcd.Wait(ctx)
			cancel()
		}()
		serveErr := serve(ctx, o)
		cancel()
		return errors.Join(serveErr, <-failed, etcd.Close())
	}
	return serve(ctx, o)
}

func serve(ctx context.Context, o options.CompletedOptions) error {
	config, err := o.Config(ctx)
	if err != nil {
		return err
	}
	server, err := config.Complete().New()
	if err != nil {
		return err
	}
	return server.Run(ctx)
}
