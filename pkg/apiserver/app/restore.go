package app

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	cliflag "k8s.io/component-base/cli/flag"

	"github.com/kubesites/website-apiserver/pkg/apiserver/backup"
	"github.com/kubesites/website-apiserver/pkg/apiserver/embeddedetcd"
	"github.com/kubesites/website-apiserver/pkg/apiserver/options"
)

// restoreOptions are the flags of the command.
type restoreOptions struct {
	bumpRevision uint64
	// outputDir is the directory of a member of an external etcd; empty for the
	// embedded one.
	outputDir string
	// renameExisting is the new name of existing data in --data-dir.
	renameExisting string
	member         backup.Member
}

// newRestoreCommand returns the command that restores a snapshot.
func newRestoreCommand() (*cobra.Command, error) {
	var r restoreOptions
	cmd := &cobra.Command{
		Use:   "restore FILE",
		Short: "Restore a snapshot into an empty data directory",
		Long: `restore verifies a snapshot and makes a data directory of etcd from it. Existing data is
not overwritten: stop the server and move the data away first, or let --rename-existing do so.

The embedded etcd is restored in --data-dir. Of an external etcd, restore every member on
its machine, from the same file: --output-dir, --name, --initial-cluster and
--initial-advertise-peer-urls are those of "etcdutl snapshot restore".

The revision is raised and all earlier ones are marked as compacted, so that clients list
again. The restored store has a nonce that the cluster has not recorded: the server stays
closed until "website-apiserver store accept". Run "website-apiserver store check" first:
it lists the objects that the garbage collector deletes then.`,
		Args: cobra.ExactArgs(1),
	}
	flags := func(o *options.Options) cliflag.NamedFlagSets {
		sections := o.EtcdFlags()
		r.addFlags(sections.FlagSet("restore"))
		return sections
	}
	return completeStoreCommand(cmd, flags, func(cmd *cobra.Command, o options.CompletedOptions, args []string) error {
		if err := r.validate(o); err != nil {
			return err
		}
		_, prefix := o.Etcd()
		restorer := backup.Restorer{Prefix: prefix, BumpRevision: r.bumpRevision, Space: embeddedetcd.SpaceFor,
			RenameExisting: r.renameExisting}
		var snapshot backup.Snapshot
		restore := func(dir string, member backup.Member) (err error) {
			snapshot, err = restorer.Restore(cmd.Context(), args[0], dir, member)
			return err
		}
		var err error
		if r.outputDir != "" {
			err = restore(r.outputDir, r.member)
		} else {
			err = embeddedetcd.Restore(o.DataDir, func(dir string, m embeddedetcd.Member) error {
				return restore(dir, backup.Member{Name: m.Name, PeerURLs: []string{m.PeerURL},
					InitialCluster: m.Name + "=" + m.PeerURL})
			})
		}
		if err != nil {
			return err
		}
		printSnapshot(cmd.OutOrStdout(), "restored", snapshot)
		fmt.Fprintln(cmd.OutOrStdout(), `start the server: it is closed. Then run "website-apiserver store check" and `+
			`"website-apiserver store accept"`)
		return nil
	})
}

func (r *restoreOptions) addFlags(flags *pflag.FlagSet) {
	flags.Uint64Var(&r.bumpRevision, "bump-revision", backup.DefaultBumpRevision, "By how much the revision is raised. "+
		"Must be larger than the difference of the last revision that clients have seen and the snapshot's, and the "+
		"same for all members.")
	flags.StringVar(&r.outputDir, "output-dir", "", "The data directory of the restored member of an external etcd. "+
		"Without it, the embedded etcd is restored in --data-dir.")
	flags.StringVar(&r.renameExisting, "rename-existing", "",
		"The name that existing data gets, in its directory, such as data.old. Without it, existing data is an error.")
	flags.StringVar(&r.member.Name, "name", "default", "With --output-dir: the name of the member, as its flag --name.")
	flags.StringVar(&r.member.InitialCluster, "initial-cluster", "default=http://localhost:2380",
		"With --output-dir: the members, as their flag --initial-cluster.")
	flags.StringVar(&r.member.ClusterToken, "initial-cluster-token", "",
		"With --output-dir: tells the restored cluster from the former one. The default depends on the snapshot.")
	flags.StringSliceVar(&r.member.PeerURLs, "initial-advertise-peer-urls", []string{"http://localhost:2380"},
		"With --output-dir: the peer URLs of the member, as its flag --initial-advertise-peer-urls.")
}

func (r *restoreOptions) validate(o options.CompletedOptions) error {
	if r.outputDir == "" && !o.EmbeddedEtcd() {
		transport, _ := o.Etcd()
		return fmt.Errorf("--etcd-servers=%s: an external etcd is not restored over the network: stop all members, and "+
			"restore each on its machine with --output-dir, --name, --initial-cluster and --initial-advertise-peer-urls",
			strings.Join(transport.ServerList, ","))
	}
	if r.bumpRevision == 0 {
		return errors.New("--bump-revision=0: must be positive: clients would wait for revisions that they have seen already")
	}
	return nil
}
