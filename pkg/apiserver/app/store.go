package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	cliflag "k8s.io/component-base/cli/flag"
	logsapi "k8s.io/component-base/logs/api/v1"

	"github.com/kubesites/website-apiserver/pkg/apiserver/embeddedetcd"
	"github.com/kubesites/website-apiserver/pkg/apiserver/options"
	"github.com/kubesites/website-apiserver/pkg/apiserver/store"
	"github.com/kubesites/website-apiserver/pkg/command"
)

// storeTimeout bounds the commands about the store, which list some kinds in all
// namespaces.
const storeTimeout = 2 * time.Minute

// errUnknownOwners makes "store check" end with another code than 0.
var errUnknownOwners = errors.New("the store does not have the owners of all objects")

// newStoreCommand returns the commands about the store. It returns an error when the API types cannot be registered.
func newStoreCommand() (*cobra.Command, error) {
	cmd := &cobra.Command{
		Use:   "store",
		Short: "Back up, restore and inspect the store of Websites, or accept another one",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	check, err := newStoreSubcommand(&cobra.Command{
		Use:   "check",
		Short: "List objects of the cluster whose Website the store does not have",
		Long: `check compares the store with the cluster and changes nothing. It prints the identity
of the store that the cluster was served from, the identity of this store, and all
objects of the cluster whose owner is a Website that this store does not contain: the
garbage collector deletes them once a server serves this store. It exits with 1 if
there are any, or if a server does not serve this store. It lists the resources that
website-controller creates; the garbage collector also deletes objects of others.

The flags are those by which website-apiserver finds its store. An embedded etcd is
reached in the --data-dir of a running server.`,
	}, (*options.Options).StoreFlags, runStoreCheck)
	if err != nil {
		return nil, err
	}
	accept, err := newAcceptCommand(&cobra.Command{
		Use:   "accept",
		Short: "Serve this store although it is not the recorded one",
		Long: `accept records this store as the one that the cluster is served from. Closed servers
open within seconds. The garbage collector then deletes all objects whose owner is a
Website that this store does not contain: run "website-apiserver store check" first.
This cannot be undone. If the store is the recorded one, accept changes nothing.

The flags are those by which website-apiserver finds its store. An embedded etcd is
reached in the --data-dir of a running server.`,
	})
	if err != nil {
		return nil, err
	}
	cmd.AddCommand(check, accept)
	for _, newCommand := range []func() (*cobra.Command, error){newSnapshotCommand, newRestoreCommand, newExportCommand,
		newImportCommand} {
		subcommand, err := newCommand()
		if err != nil {
			return nil, err
		}
		cmd.AddCommand(subcommand)
	}
	return cmd, nil
}

// newStoreSubcommand completes cmd, which runs with a server's flags for
// its store.
func newStoreSubcommand(cmd *cobra.Command, flags func(*options.Options) cliflag.NamedFlagSets,
	run func(context.Context, io.Writer, store.Config) error) (*cobra.Command, error) {
	cmd.Args = cobra.NoArgs
	return completeStoreCommand(cmd, flags, func(cmd *cobra.Command, o options.CompletedOptions, _ []string) error {
		config, err := o.StoreConfig()
		if err != nil {
			return err
		}
		if o.EmbeddedEtcd() {
			config.Writable = func() error { return embeddedetcd.Writable(o.DataDir) }
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), storeTimeout)
		defer cancel()
		return run(ctx, cmd.OutOrStdout(), config)
	})
}

// completeStoreCommand adds some of a server's flags to cmd, and makes it run with the
// completed options.
func completeStoreCommand(cmd *cobra.Command, flags func(*options.Options) cliflag.NamedFlagSets,
	run func(*cobra.Command, options.CompletedOptions, []string) error) (*cobra.Command, error) {
	o, err := options.NewOptions()
	if err != nil {
		return nil, err
	}
	cmd.SilenceUsage = true
	cmd.PersistentPreRunE = func(*cobra.Command, []string) error {
		return o.ServerRun.ComponentGlobalsRegistry.Set()
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := logsapi.ValidateAndApply(o.Logs, nil); err != nil {
			return err
		}
		completed, err := o.Complete()
		if err != nil {
			return err
		}
		return run(cmd, completed, args)
	}
	command.AddSections(cmd, flags(o))
	return cmd, nil
}

func runStoreCheck(ctx context.Context, out io.Writer, config store.Config) error {
	report, err := store.Inspect(ctx, config)
	if err != nil {
		return err
	}
	printReport(out, config, report)
	printUnknown(out, report)
	switch {
	case report.Closed != nil:
		return errors.New(report.Closed.Message)
	case len(report.Unknown) > 0:
		return errUnknownOwners
	}
	return nil
}

// newAcceptCommand completes cmd, which has one flag more than the others.
func newAcceptCommand(cmd *cobra.Command) (*cobra.Command, error) {
	var withIncompleteImport bool
	flags := func(o *options.Options) cliflag.NamedFlagSets {
		sections := o.StoreFlags()
		sections.FlagSet("accept").BoolVar(&withIncompleteImport, "with-incomplete-import", false,
			"Accept the store although an import into it was not completed.")
		return sections
	}
	return newStoreSubcommand(cmd, flags, func(ctx context.Context, out io.Writer, config store.Config) error {
		return runStoreAccept(ctx, out, config, withIncompleteImport)
	})
}

func runStoreAccept(ctx context.Context, out io.Writer, config store.Config, withIncompleteImport bool) error {
	report, err := store.Accept(ctx, config, withIncompleteImport)
	if err != nil {
		return err
	}
	if !report.Accepted {
		fmt.Fprintf(out, "%s names the store %s already: servers are open with it, nothing was changed\n", config.Host,
			report.Store.Identity)
		return nil
	}
	printUnknown(out, report)
	fmt.Fprintf(out, "%s names the store %s: servers open with it\n", config.Host, report.Store.Identity)
	return nil
}

func printReport(out io.Writer, config store.Config, report store.Report) {
	served, this := "none recorded", "no identity"
	if report.Host != nil {
		served = report.Host.Identity
	}
	if report.Store != nil {
		this = report.Store.Identity
	}
	fmt.Fprintf(out, "store that the cluster was served from: %s (%s)\n", served, config.Host)
	fmt.Fprintf(out, "this store:                             %s, %d Websites\n", this, report.Websites)
	fmt.Fprintf(out, "objects owned by Websites:              %d, of which %d by Websites that this store does not have\n",
		report.Owned, len(report.Unknown))
	fmt.Fprintf(out, "resources that were listed:             %s; the garbage collector also deletes objects of others\n",
		strings.Join(store.OwnedResources(), ", "))
	if report.Incomplete != "" {
		fmt.Fprintf(out, "an import was not completed:              %s\n", report.Incomplete)
	}
}

func printUnknown(out io.Writer, report store.Report) {
	if len(report.Unknown) == 0 {
		return
	}
	fmt.Fprintln(out, "the garbage collector deletes these objects once a server is open with this store:")
	w := tabwriter.NewWriter(out, 0, 8, 3, ' ', 0)
	fmt.Fprintln(w, "NAMESPACE\tRESOURCE\tNAME\tWEBSITE\tUID")
	for _, o := range report.Unknown {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", o.Namespace, o.Resource, o.Name, o.Website, o.UID)
	}
	_ = w.Flush()
}
