// Command deploy installs the product in the cluster of a kubeconfig context, with images of this checkout, and
// publishes a page; with -undeploy it removes the product: see "make deploy" and "make undeploy".
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := command(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "deploy:", err)
		os.Exit(1)
	}
}

func command(ctx context.Context, args []string) error {
	d := deployment{start: time.Now()}
	var load string
	var date int64
	var undeploy bool
	flags := flag.NewFlagSet("deploy", flag.ContinueOnError)
	flags.StringVar(&d.dir, "repo", ".", "the checkout")
	flags.StringVar(&d.context, "context", "", "the kubeconfig context (default: the current one)")
	flags.StringVar(&d.registry, "registry", "", "where images are pushed, as in registry.example.com/kubesites")
	flags.StringVar(&load, "load", "", "the command that loads an image archive into the nodes, which is its "+
		"last argument")
	flags.StringVar(&d.repository, "repository", "",
		"the git repository to publish (default: the one in artifacts/examples/hello.yaml)")
	flags.StringVar(&d.version, "version", "", "the version that the programs report")
	flags.StringVar(&d.commit, "commit", "unknown", "the commit that the programs report")
	flags.Int64Var(&date, "date", 0, "the time of the images, in seconds since 1970")
	flags.BoolVar(&undeploy, "undeploy", false, "remove the installation")
	flags.BoolVar(&d.all, "all", false, "with -undeploy: delete all Websites first")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("there is no argument %q, only flags", flags.Args())
	}
	d.date = time.Unix(date, 0)
	if d.context == "" {
		current, err := run(ctx, "", "kubectl", "config", "current-context")
		if err != nil {
			return err
		}
		d.context = strings.TrimSpace(current)
	}
	d.report("context %s", d.context)
	if undeploy {
		return d.remove(ctx)
	}
	if load != "" {
		d.loader = &loader{about: "context " + d.context, command: strings.Fields(load)}
	} else if d.registry == "" {
		if d.loader = loaderOf(d.context); d.loader == nil {
			return fmt.Errorf("the context %q is not one of kind, k3d or minikube: name a registry that its nodes pull from "+
				"(make deploy REGISTRY=registry.example.com/NAME),"+
				" or the command that loads an image archive (make deploy LOAD='k3s ctr images import')", d.context)
		}
	}
	return d.deploy(ctx)
}
