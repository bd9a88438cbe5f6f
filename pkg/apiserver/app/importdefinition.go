package app

import (
	"time"

	"github.com/spf13/cobra"
	cliflag "k8s.io/component-base/cli/flag"

	"github.com/kubesites/website-apiserver/pkg/apiserver/crdimport"
	"github.com/kubesites/website-apiserver/pkg/apiserver/options"
)

// defaultPropagationDelay is longer than a loaded kube-apiserver needs to observe a change.
const defaultPropagationDelay = 10 * time.Second

// newImportDefinitionCommand returns the commands that move Websites from a
// CustomResourceDefinition. It returns an error when the API types cannot be registered.
func newImportDefinitionCommand() (*cobra.Command, error) {
	cmd := &cobra.Command{
		Use:   "import",
		Short: "Import the Websites of the original CustomResourceDefinition",
		Long: `import moves the Websites of the CustomResourceDefinition websites.mycontroller.nevermosby.io
to website-apiserver, with their UIDs: Deployments and Services stay owned by them, and are
not written. Writes of Websites are refused meanwhile.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	for _, subcommand := range []struct {
		use, short, long string
		run              func(*crdimport.Importer, *cobra.Command) error
	}{
		{
			"plan", "Print the steps of run, and change nothing",
			`plan reports how far the import is, and the Websites that cannot be imported.`,
			func(i *crdimport.Importer, cmd *cobra.Command) error { return i.Plan(cmd.Context()) },
		},
		{
			"run", "Import, or continue an interrupted import",
			`run imports. It prints each step, and continues where an interrupted run has ended.`,
			func(i *crdimport.Importer, cmd *cobra.Command) error { return i.Run(cmd.Context()) },
		},
		{
			"back", "Go back to the CustomResourceDefinition, until it is removed",
			`back has the CustomResourceDefinition serve Websites again, and permits writes. Nothing is
lost by that, as writes were refused. It fails once the definition is being removed.`,
			func(i *crdimport.Importer, cmd *cobra.Command) error { return i.Back(cmd.Context()) },
		},
	} {
		delay := defaultPropagationDelay
		flags := func(o *options.Options) cliflag.NamedFlagSets {
			sections := o.StoreFlags()
			sections.FlagSet("import").DurationVar(&delay, "propagation-delay", delay,
				"How long each kube-apiserver may take to observe a change. The import waits that long three times.")
			return sections
		}
		command, err := completeStoreCommand(&cobra.Command{
			Use:   subcommand.use,
			Short: subcommand.short,
			Long: subcommand.long + `

The flags are those by which website-apiserver finds its store and the host cluster. An
embedded etcd is reached in the --data-dir of a running server.`,
			Args: cobra.NoArgs,
		}, flags, func(cmd *cobra.Command, o options.CompletedOptions, _ []string) error {
			importer, err := newImporter(cmd, o, delay)
			if err != nil {
				return err
			}
			return subcommand.run(importer, cmd)
		})
		if err != nil {
			return nil, err
		}
		cmd.AddCommand(command)
	}
	return cmd, nil
}

func newImporter(cmd *cobra.Command, o options.CompletedOptions, delay time.Duration) (*crdimport.Importer, error) {
	websites, err := storedWebsites(o)
	if err != nil {
		return nil, err
	}
	storeConfig, err := o.StoreConfig()
	if err != nil {
		return nil, err
	}
	host, err := o.HostConfig()
	if err != nil {
		return nil, err
	}
	return crdimport.New(crdimport.Config{
		Host: host, Websites: websites, Store: storeConfig, PropagationDelay: delay, Out: cmd.OutOrStdout(),
	})
}
