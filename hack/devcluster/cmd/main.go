// Command devcluster starts and stops a development cluster on this machine. "make up"
// and "make down" run it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/kubesites/website-apiserver/hack/devcluster"
)

const usage = `usage:
  devcluster up   [flags]   build and start the cluster, apply the example Website
  devcluster down [flags]   stop the cluster and remove its state

Flags of a command: devcluster COMMAND --help
`

// errUsage ends the program after the flag package or run has said what is wrong.
var errUsage = errors.New("usage")

// errHelp ends it after it has printed the help that was asked for.
var errHelp = errors.New("help")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	// After the first signal the second one ends the program at once.
	context.AfterFunc(ctx, stop)
	err := run(ctx, os.Args[1:])
	interrupted := ctx.Err() != nil
	stop()
	switch {
	case err == nil, errors.Is(err, errHelp):
	case errors.Is(err, errUsage):
		os.Exit(2)
	default:
		fmt.Fprintln(os.Stderr, "devcluster:", err)
		if interrupted {
			fmt.Fprintln(os.Stderr, "devcluster: interrupted: \"make up\" continues, \"make down\" ends what was started")
		}
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		fmt.Fprint(os.Stderr, usage)
		return errUsage
	}
	switch args[0] {
	case "up":
		return up(ctx, args[1:])
	case "down":
		return down(ctx, args[1:])
	case "node":
		return runNode(args[1:])
	case "gateway":
		return runGateway(ctx, args[1:])
	case "git-server":
		return runGitServer(ctx, args[1:])
	case "help", "-h", "--help":
		fmt.Print(usage)
		return nil
	default:
		fmt.Fprintf(os.Stderr, "devcluster: unknown command %q\n%s", args[0], usage)
		return errUsage
	}
}

func parse(flags *flag.FlagSet, args []string) error {
	err := flags.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		return errHelp
	}
	if err != nil {
		return errUsage // the flag package has printed it
	}
	if flags.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "devcluster %s: unexpected argument %q\n", flags.Name(), flags.Arg(0))
		return errUsage
	}
	return nil
}

func up(ctx context.Context, args []string) error {
	options := devcluster.Options{Detached: true, Progress: os.Stdout}
	flags := flag.NewFlagSet("up", flag.ContinueOnError)
	flags.StringVar(&options.Dir, "dir", devcluster.DefaultDir, "the `folder` for all state")
	node := flags.String("node", string(devcluster.NodeAuto), "what pods run on: real (Linux, as root), simulated (kwok), or auto: real where possible")
	images := flags.String("images", string(devcluster.ImagesAuto), "where a real node has its images from: registry, debian (made from Debian's packages), or auto: registry where possible")
	base := flags.Int("base-port", 0, fmt.Sprintf("the first of the consecutive `ports` that the components take (default: the ones the cluster has, or from %d on)", devcluster.DefaultBasePort))
	ports := map[string]int{}
	flags.Func("port", "the port of one component, as `NAME=N`; may be repeated", func(value string) error {
		name, number, _ := strings.Cut(value, "=")
		port, err := strconv.Atoi(number)
		if err != nil {
			return fmt.Errorf("want NAME=N: %w", err)
		}
		ports[name] = port
		return nil
	})
	flags.IntVar(&options.SimulatedNodes, "simulated-nodes", 1, "how many nodes to simulate")
	flags.BoolVar(&options.KubernetesOnly, "kubernetes-only", false, "leave out everything of this repository")
	flags.BoolVar(&options.ExternalEtcd, "external-etcd", false, "store Websites in an etcd of their own, over TLS, instead of the one inside website-apiserver (the two hold different Websites)")
	flags.DurationVar(&options.ReadyTimeout, "ready-timeout", devcluster.DefaultReadyTimeout, "how long one component may take until it is ready")
	if err := parse(flags, args); err != nil {
		return err
	}
	options.Images = devcluster.ImageSource(*images)
	switch options.Node = devcluster.NodeMode(*node); options.Node {
	case devcluster.NodeAuto, devcluster.NodeReal, devcluster.NodeSimulated:
	default:
		return fmt.Errorf("--node=%s (NODE) is unknown: use auto, real or simulated", *node)
	}
	if *base != 0 {
		options.Ports = devcluster.DefaultPorts(*base)
	}
	for name, port := range ports {
		if err := options.Ports.Set(name, port); err != nil {
			return fmt.Errorf("--port: %w", err)
		}
	}

	begin := time.Now()
	cluster, err := devcluster.Up(ctx, options)
	if err != nil {
		return err
	}
	pages := ""
	if !options.KubernetesOnly {
		url, err := cluster.ApplyExample(ctx)
		if err != nil {
			return err
		}
		pages = url
		stdout, stderr, err := cluster.Kubectl(ctx, "get", "websites")
		if err != nil {
			return fmt.Errorf("%w: %s", err, strings.TrimSpace(stderr))
		}
		fmt.Printf("\n$ kubectl get websites\n%s", stdout)
	}
	fmt.Printf("\nThe cluster is up after %s. To use it:\n\n  export KUBECONFIG=%s\n", time.Since(begin).Round(100*time.Millisecond), cluster.Kubeconfig())
	if _, err := exec.LookPath("kubectl"); err != nil {
		fmt.Printf("  export PATH=%s:$PATH   # kubectl\n", filepath.Join(cluster.Dir(), "bin"))
	}
	if pages != "" {
		fmt.Printf("\nThe example's page, on this machine: %s\nTo change it, push to %s\n", pages, cluster.GitRepositoryPath("example"))
	}
	fmt.Println("\n\"make down\" ends it.")
	return nil
}

func down(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("down", flag.ContinueOnError)
	dir := flags.String("dir", devcluster.DefaultDir, "the `folder` for all state")
	if err := parse(flags, args); err != nil {
		return err
	}
	path, err := filepath.Abs(*dir)
	if err != nil {
		return fmt.Errorf("resolving --dir: %w", err)
	}
	return devcluster.Down(ctx, path, func(format string, args ...any) { fmt.Printf(format+"\n", args...) })
}
