package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	logsapi "k8s.io/component-base/logs/api/v1"

	"github.com/kubesites/website-apiserver/pkg/apiserver/options"
	"github.com/kubesites/website-apiserver/pkg/apiserver/store"
)

// storeTimeout bounds a command about the store, which lists some kinds of the
// whole cluster.
const storeTimeout = 2 * time.Minute

// errUnknownOwners ends "store check" with another code than 0.
var errUnknownOwners = errors.New("the store does not have the owners of all objects")

// newStoreCommand returns the commands about the store that a server is served
// from. It returns an error when the API types cannot be registered.
func newStoreCommand() (*cobra.Command, error) {
	cmd := &cobra.Command{
		Use:   "store",
		Short: "Look at the store of Websites, or accept another one",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	check, err := newStoreSubcommand(&cobra.Command{
		Use:   "check",
		Short: "List objects of the cluster whose Website the store does not have",
		Long: `check compares the store with the cluster and changes nothing. It prints which
store the cluster was served from, which one this is, and all objects of the cluster
that are owned by a Website that the store does not have: the garbage collector
deletes them once a server is open with this store. It exits with 1 if there are any,
or if a server does not open with this store.

It takes the flags by which website-apiserver finds its store. An embedded etcd is
reached in the --data-dir of a running server.`,
	}, runStoreCheck)
	if err != nil {
		return nil, err
	}
	accept, err := newStoreSubcommand(&cobra.Command{
		Use:   "accept",
		Short: "Open servers with this store, although it is not the one that was served",
		Long: `accept makes this store the one that the cluster is served from. Servers that are
closed open within seconds. The garbage collector then deletes all objects that are
owned by a Website that the store does not have: run "website-apiserver store check"
before. There is no way back.

It takes the flags by which website-apiserver finds its store. An embedded etcd is
reached in the --data-dir of a running server.`,
	}, runStoreAccept)
	if err != nil {
		return nil, err
	}
	cmd.AddCommand(check, accept)
	return cmd, nil
}

// newStoreSubcommand completes cmd, which is to run with the flags of a server
// that are about its store.
func newStoreSubcommand(cmd *cobra.Command, run func(context.Context, io.Writer, store.Config) error) (*cobra.Command, error) {
	o, err := options.NewOptions()
	if err != nil {
		return nil, err
	}
	cmd.Args = cobra.NoArgs
	cmd.SilenceUsage = true
	cmd.PersistentPreRunE = func(*cobra.Command, []string) error {
		return o.ServerRun.ComponentGlobalsRegistry.Set()
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := logsapi.ValidateAndApply(o.Logs, nil); err != nil {
			return err
		}
		completed, err := o.Complete()
		if err != nil {
			return err
		}
		config, err := completed.StoreConfig()
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), storeTimeout)
		defer cancel()
		return run(ctx, cmd.OutOrStdout(), config)
	}
	sections := o.StoreFlags()
	addSections(cmd, sections)
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

func runStoreAccept(ctx context.Context, out io.Writer, config store.Config) error {
	report, err := store.Accept(ctx, config)
	if err != nil {
		return err
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
	fmt.Fprintf(out, "objects owned by Websites:              %d, of which %d by Websites that this store does not have\n", report.Owned, len(report.Unknown))
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
