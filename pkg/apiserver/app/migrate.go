package app

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/clientcmd"
	cliflag "k8s.io/component-base/cli/flag"
	logsapi "k8s.io/component-base/logs/api/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/apiserver/storagemigration"
	"github.com/kubesites/website-apiserver/pkg/command"
)

// defaultChunkSize is kubectl's default.
const defaultChunkSize = 500

// newMigrateCommand returns the command that rewrites all stored Websites.
func newMigrateCommand() *cobra.Command {
	var kubeconfig string
	var chunkSize int64
	logging := logsapi.NewLoggingConfiguration()
	cmd := &cobra.Command{
		Use:   "migrate-storage",
		Short: "Rewrite all stored Websites",
		Long: `migrate-storage rewrites every stored Website in the current storage version and
encoding, with the current encryption key. It is a client of the API: servers keep
serving. Run it once all servers have the new version or configuration: after an
upgrade that changes the storage version, after a change of --storage-media-type, and
before an old key is removed from the file of --encryption-provider-config.

It can be interrupted and restarted at any time: current objects are not written
again. It exits with 0 once every Website is current.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := logsapi.ValidateAndApply(logging, nil); err != nil {
				return err
			}
			if chunkSize < 1 {
				return errors.New("--chunk-size must be at least 1")
			}
			rules := clientcmd.NewDefaultClientConfigLoadingRules()
			rules.ExplicitPath = kubeconfig
			config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
			if err != nil {
				return fmt.Errorf("reading the client configuration (--kubeconfig): %w", err)
			}
			// Priority and fairness of the server limits the requests.
			config.QPS = -1
			client, err := metadata.NewForConfig(config)
			if err != nil {
				return fmt.Errorf("making a client: %w", err)
			}
			migration := storagemigration.Migration{
				Client:    client,
				Resource:  v1beta1.SchemeGroupVersion.WithResource("websites"),
				ChunkSize: chunkSize,
			}
			counts, err := migration.Run(cmd.Context())
			if err != nil && counts.Total() == 0 {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(),
				"%d Websites: %d rewritten, %d current before, %d changed by others meanwhile, %d failed\n",
				counts.Total(), counts.Rewritten, counts.Current, counts.Changed, counts.Failed)
			return err
		},
	}

	var sections cliflag.NamedFlagSets
	flags := sections.FlagSet("migration")
	flags.StringVar(&kubeconfig, "kubeconfig", "", "Path to the kubeconfig file of a user who may list and patch "+
		"Websites in all namespaces. Defaults to $KUBECONFIG, ~/.kube/config and the pod's ServiceAccount, in this order.")
	flags.Int64Var(&chunkSize, "chunk-size", defaultChunkSize, "The number of Websites in a list request.")
	logsapi.AddFlags(logging, sections.FlagSet("logs"))
	command.AddSections(cmd, sections)
	return cmd
}
