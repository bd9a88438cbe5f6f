// Command devcluster starts and stops a development cluster on this machine. "make up"
// and "make down" run it.
package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kubesites/website-apiserver/hack/devcluster"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	// A write to a closed output, such as a pipe to head, fails instead of ending the program. If the signal
	// were ignored, the components would ignore it as well.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	// After the first signal, the second one ends the program at once.
	context.AfterFunc(ctx, stop)
	root := &cobra.Command{Use: "devcluster", Short: "Run a development cluster on this machine", SilenceUsage: true,
		SilenceErrors: true}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddCommand(upCommand(), downCommand(), nodeCommand(), gatewayCommand(), gitServerCommand())
	err := root.ExecuteContext(ctx)
	interrupted := ctx.Err() != nil
	stop()
	if err == nil {
		return
	}
	fmt.Fprintln(os.Stderr, "devcluster:", err)
	if interrupted {
		fmt.Fprintln(os.Stderr, `devcluster: interrupted: "make up" continues, "make down" stops the started processes`)
	}
	os.Exit(1)
}

func upCommand() *cobra.Command {
	options := devcluster.Options{Detached: true, Progress: os.Stdout}
	cmd := &cobra.Command{Use: "up", Short: "Build and start the cluster, and create the example Website",
		Args: cobra.NoArgs}
	flags := cmd.Flags()
	flags.StringVar(&options.Dir, "dir", devcluster.DefaultDir, "The directory of the cluster's state")
	flags.StringVar((*string)(&options.Node), "node", string(devcluster.NodeAuto), "The kind of nodes: real (Linux, as "+
		"root), simulated (kwok), or auto: as the existing cluster, else real if this machine supports it")
	flags.StringVar((*string)(&options.Images), "images", string(devcluster.ImagesAuto), "The source of a real node's "+
		"images: registry, debian (built from Debian packages), or auto: registry if it is reachable")
	flags.StringVar(&options.GitSyncImageArchive, "git-sync-image-archive", "",
		"A file with the git-sync image of a real node, as \"docker save\" writes it, instead of the source in --images")
	flags.StringVar(&options.NginxImageArchive, "nginx-image-archive", "",
		"A file with the nginx image of a real node, as --git-sync-image-archive")
	base := flags.Int("base-port", 0, fmt.Sprintf("The first of the consecutive ports of the components (default: those "+
		"of the existing cluster, or from %d)", devcluster.DefaultBasePort))
	flags.BoolVar(&options.FreePorts, "free-ports", false,
		"Take any free ports instead of those from --base-port on. An existing cluster keeps its ports")
	flags.StringVar(&options.KubernetesVersion, "kubernetes-version", "", "The version of the Kubernetes programs, such "+
		"as v1.34.4 (default: the version in hack/kubernetes). Only with --node=simulated")
	disk := flags.String("node-disk", "",
		"How much of the disk the pods of a real node may request, such as 32Gi (default: all of it)")
	flags.BoolVar(&options.Gateway, "gateway", false,
		"Install Gateway API with a Gateway, which serves the hosts of the domain "+devcluster.HostDomain+
			" with certificates of a CA of the cluster. Only with a real node")
	flags.BoolVar(&options.ExternalEtcd, "external-etcd", false, "Store Websites in a separate etcd, over mutual TLS, "+
		"instead of the one embedded in website-apiserver. The two hold different Websites. Only with --node=simulated")
	cmd.MarkFlagsMutuallyExclusive("base-port", "free-ports")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if *base != 0 {
			options.Ports = devcluster.DefaultPorts(*base)
		}
		if *disk != "" {
			size, err := resource.ParseQuantity(*disk)
			if err != nil || size.Sign() <= 0 {
				return fmt.Errorf("--node-disk=%s is no size, such as 32Gi", *disk)
			}
			options.NodeDisk = uint64(size.Value())
		}
		return up(cmd.Context(), options)
	}
	return cmd
}

func up(ctx context.Context, options devcluster.Options) error {
	begin := time.Now()
	cluster, err := devcluster.Up(ctx, options)
	if err != nil {
		return err
	}
	page, err := cluster.ApplyExample(ctx)
	if err != nil {
		return err
	}
	stdout, stderr, err := cluster.Kubectl(ctx, "get", "websites")
	if err != nil {
		return fmt.Errorf("%w: %s", err, strings.TrimSpace(stderr))
	}
	fmt.Printf("\n$ kubectl get websites\n%s", stdout)
	fmt.Printf("\nThe cluster is ready after %s. To use it:\n\n  export KUBECONFIG=%s\n",
		time.Since(begin).Round(100*time.Millisecond), quoted(cluster.Kubeconfig()))
	if _, err := exec.LookPath("kubectl"); err != nil {
		fmt.Printf("  export PATH=%s:$PATH   # kubectl\n", quoted(filepath.Join(cluster.Dir(), "bin")))
	}
	if page != "" {
		fmt.Printf("\nPage of the example: %s\nTo change it, push to %s\n", page, cluster.GitRepositoryPath("example"))
	}
	if options.Gateway {
		fmt.Printf("\nHosts of %[1]s are at %[2]s, with certificates of a CA of this cluster:\n\n"+
			"  curl --cacert %[3]s --connect-to ::%[2]s: https://HOST.%[1]s/\n"+
			"  chromium --host-resolver-rules='MAP *.%[1]s %[2]s'   # after importing the CA\n", devcluster.HostDomain,
			cluster.NodeAddress(), cluster.SitesCA())
	}
	fmt.Println("\nTo stop the cluster and remove its state: make down")
	return nil
}

// quoted quotes a path for a shell.
func quoted(path string) string {
	if !strings.ContainsFunc(path, func(r rune) bool { return strings.ContainsRune(" \t\"'`$\\&;()<>|*?[]#~", r) }) {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}

func downCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "down", Short: "Stop the cluster and remove its state", Args: cobra.NoArgs}
	dir := cmd.Flags().String("dir", devcluster.DefaultDir, "The directory of the cluster's state")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		path, err := filepath.Abs(*dir)
		if err != nil {
			return fmt.Errorf("resolving --dir: %w", err)
		}
		return devcluster.Down(cmd.Context(), path, func(format string, args ...any) { fmt.Printf(format+"\n", args...) })
	}
	return cmd
}
