package app

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"
	cliflag "k8s.io/component-base/cli/flag"

	"github.com/kubesites/website-apiserver/pkg/apiserver"
	"github.com/kubesites/website-apiserver/pkg/apiserver/backup"
	"github.com/kubesites/website-apiserver/pkg/apiserver/options"
)

// newExportCommand returns the command that exports all Websites.
func newExportCommand() (*cobra.Command, error) {
	return completeStoreCommand(&cobra.Command{
		Use:   "export [FILE]",
		Short: "Write all Websites to a file of YAML documents",
		Long: `export writes all Websites of the store, as of one revision and while servers run, to a
new file of mode 0600, or to the standard output without FILE. They are decrypted, and
have everything but their resourceVersion: UIDs, generations, managed fields, status. The
last line of a complete export says how many Websites it has, and its SHA-256.

"website-apiserver store import" brings them into another store.

The flags are those by which website-apiserver finds and decrypts its store. An embedded
etcd is reached in the --data-dir of a running server.`,
		Args: cobra.MaximumNArgs(1),
	}, (*options.Options).EtcdFlags, func(cmd *cobra.Command, o options.CompletedOptions, args []string) error {
		websites, err := storedWebsites(o)
		if err != nil {
			return err
		}
		start := time.Now()
		var export backup.Export
		if len(args) > 0 && args[0] != "-" {
			export, err = websites.ToFile(cmd.Context(), args[0])
		} else {
			export, err = websites.To(cmd.Context(), cmd.OutOrStdout())
		}
		if err != nil {
			return err
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "exported: %d Websites of the store %s at revision %s in %s\n", export.Websites,
			export.Identity, export.Revision, time.Since(start).Round(time.Millisecond))
		return nil
	})
}

// newImportCommand returns the command that imports an export.
func newImportCommand() (*cobra.Command, error) {
	var keepInvalid bool
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "Bring the Websites of an export into the store",
		Long: `import writes the Websites of an export, or of the standard input if FILE is "-", into the
store, with their UIDs: objects of the cluster stay owned by them. They are encoded and
encrypted as the server does, validated before anything is written, and read back.
Admission, quotas and permissions do not apply.

A Website that exists with another UID or spec is not overwritten: all of them are
listed, and nothing is written. An interrupted import continues when it is repeated; until
it is complete, "website-apiserver store accept" rejects the store.

Import into the empty store of a closed server, then run "website-apiserver store check"
and "website-apiserver store accept". An empty store is not to be accepted before: the
garbage collector would delete what the Websites own.

The flags are those by which website-apiserver finds and encrypts its store. An embedded
etcd is reached in the --data-dir of a running server.`,
		Args: cobra.ExactArgs(1),
	}
	flags := func(o *options.Options) cliflag.NamedFlagSets {
		sections := o.EtcdFlags()
		sections.FlagSet("import").BoolVar(&keepInvalid, "keep-invalid", false,
			"Import Websites that are invalid by the current rules as well, such as those that were stored under earlier ones.")
		return sections
	}
	return completeStoreCommand(cmd, flags, func(cmd *cobra.Command, o options.CompletedOptions, args []string) error {
		websites, err := storedWebsites(o)
		if err != nil {
			return err
		}
		file, err := backup.Open(args[0], cmd.InOrStdin())
		if err != nil {
			return err
		}
		defer file.Close() //nolint:errcheck // It is only read.
		start := time.Now()
		done, err := websites.From(cmd.Context(), args[0], file, keepInvalid)
		if err != nil {
			return err
		}
		fmt.Fprintf(cmd.OutOrStdout(), "imported: %d Websites, %d were there before, in %s\n", done.Created, done.Present,
			time.Since(start).Round(time.Millisecond))
		fmt.Fprintln(cmd.OutOrStdout(),
			`if the server is closed, run "website-apiserver store check" and "website-apiserver store accept"`)
		return nil
	})
}

// storedWebsites returns access to stored Websites with the server's encoding.
func storedWebsites(o options.CompletedOptions) (*backup.Websites, error) {
	config, resourcePrefix, err := o.WebsiteStorage()
	if err != nil {
		return nil, err
	}
	scheme, _, err := apiserver.NewScheme()
	if err != nil {
		return nil, err
	}
	return &backup.Websites{Config: config, ResourcePrefix: resourcePrefix, Scheme: scheme}, nil
}
