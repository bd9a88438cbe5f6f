package app

import (
	"fmt"
	"io"
	"math"

	"github.com/spf13/cobra"
	cliflag "k8s.io/component-base/cli/flag"

	"github.com/kubesites/website-apiserver/pkg/apiserver/backup"
	"github.com/kubesites/website-apiserver/pkg/apiserver/embeddedetcd"
	"github.com/kubesites/website-apiserver/pkg/apiserver/options"
)

// newSnapshotCommand returns the command that takes a snapshot of the store.
func newSnapshotCommand() (*cobra.Command, error) {
	var keep int
	cmd := &cobra.Command{
		Use:   "snapshot [FILE|DIRECTORY]",
		Short: "Save a snapshot of the store",
		Long: `snapshot copies the database of etcd to a new file of mode 0600, while servers run. The
file is in the format of etcdctl, and as encrypted as the store. It is verified before it
gets its name: its SHA-256, the structure of the database, and that it is a store of
Websites. An existing file is not overwritten.

In a directory, by default the current one, the file is named after the identity of the
store and the time. With --keep, older snapshots of the same store are removed from the
directory, before and after the new one is taken, as website-apiserver does for its embedded etcd.

The flags are those by which website-apiserver finds its store. An embedded etcd is
reached in the --data-dir of a running server.`,
		Args: cobra.MaximumNArgs(1),
	}
	flags := func(o *options.Options) cliflag.NamedFlagSets {
		sections := o.EtcdFlags()
		sections.FlagSet("snapshot").IntVar(&keep, "keep", 0,
			"The number of snapshots of this store to keep in the directory, the new one included. 0 keeps all.")
		return sections
	}
	return completeStoreCommand(cmd, flags, func(cmd *cobra.Command, o options.CompletedOptions, args []string) error {
		if keep < 0 {
			return fmt.Errorf("--keep=%d: must not be negative", keep)
		}
		path := "."
		if len(args) > 0 {
			path = args[0]
		}
		transport, prefix := o.Etcd()
		snapshotter := backup.Snapshotter{Transport: transport, Prefix: prefix}
		if o.EmbeddedEtcd() {
			// The file may be on the volume of the running server, whose etcd ends the process when it
			// cannot write there.
			snapshotter.Space = embeddedetcd.SpaceFor
		}
		if keep == 0 {
			keep = math.MaxInt
		}
		snapshot, removed, err := snapshotter.SaveAndPrune(cmd.Context(), path, keep)
		if snapshot.Path != "" {
			printSnapshot(cmd.OutOrStdout(), "saved", snapshot)
		}
		for _, old := range removed {
			fmt.Fprintf(cmd.OutOrStdout(), "removed: %s\n", old)
		}
		return err
	})
}

func printSnapshot(out io.Writer, done string, s backup.Snapshot) {
	fmt.Fprintf(out, "%s: %s\n", done, s.Path)
	fmt.Fprintf(out, "store: %s, %d Websites at revision %d\n", s.Identity(), s.Websites, s.Revision)
	fmt.Fprintf(out, "size:  %d bytes, SHA-256 of the database %s\n", s.Bytes, s.SHA256)
}
