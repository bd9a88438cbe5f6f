package app

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/clientcmd"
	cliflag "k8s.io/component-base/cli/flag"
	logsapi "k8s.io/component-base/logs/api/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/apiserver/storagemigration"
)

// defaultChunkSize is what kubectl asks for at once, too.
const defaultChunkSize = 500

// newMigrateCommand returns the command that rewrites all stored Websites.
func newMigrateCommand() *cobra.Command {
	var kubeconfig, progressFile string
	var chunkSize int64
	logging := logsapi.NewLoggingConfiguration()
	cmd := &cobra.Command{
		Use:   "migrate-storage",
		Short: "Rewrite all stored Websites",
		Long: `migrate-storage has every stored Website written again, in the storage version,
the encoding and with the encryption key that the servers use now. It is a client
of the API: servers go on serving meanwhile. Run it once all of them have the new
version or configuration: after an upgrade that changes the storage version, after
--storage-media-type was changed, and before an old key is removed from the file of
--encryption-provider-config.

It may be interrupted and started again at any time: what is done takes no second
write. With --progress-file it even goes on where it has ended; use one file per
migration. It exits with 0 once every Website is stored as it should be.`,
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
				return fmt.Errorf("finding out how to reach the cluster (--kubeconfig): %w", err)
			}
			// The server's priority and fairness sets the pace.
			config.QPS = -1
			client, err := metadata.NewForConfig(config)
			if err != nil {
				return fmt.Errorf("making a client: %w", err)
			}
			if progressFile != "" {
				if progressFile, err = filepath.Abs(progressFile); err != nil {
					return fmt.Errorf("--progress-file: %w", err)
				}
			}
			migration := storagemigration.Migration{
				Client:       client,
				Server:       config.Host,
				Resource:     v1beta1.SchemeGroupVersion.WithResource("websites"),
				ChunkSize:    chunkSize,
				ProgressFile: progressFile,
			}
			counts, err := migration.Run(cmd.Context())
			if err != nil && counts.Total() == 0 {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%d Websites: %d rewritten, %d current before, %d changed by others meanwhile, %d failed\n",
				counts.Total(), counts.Rewritten, counts.Current, counts.Changed, counts.Failed)
			return err
		},
	}

	var sections cliflag.NamedFlagSets
	flags := sections.FlagSet("migration")
	flags.StringVar(&kubeconfig, "kubeconfig", "", "kubeconfig file of a user who may list and patch Websites in all namespaces. Defaults to $KUBECONFIG, ~/.kube/config and the pod's ServiceAccount, in this order.")
	flags.Int64Var(&chunkSize, "chunk-size", defaultChunkSize, "How many Websites to list at once.")
	flags.StringVar(&progressFile, "progress-file", "", "File that keeps the progress. If it exists, the migration goes on where it says; it is removed once the migration is complete. Servers must have the same configuration as when it was begun.")
	logsapi.AddFlags(logging, sections.FlagSet("logs"))
	addSections(cmd, sections)
	return cmd
}
