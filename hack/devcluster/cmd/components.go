package main

import (
	"context"
	"flag"

	"github.com/kubesites/website-apiserver/hack/devcluster/gateway"
	"github.com/kubesites/website-apiserver/hack/devcluster/gitserver"
	"github.com/kubesites/website-apiserver/hack/devcluster/node"
)

// What follows are components of a cluster, started by "devcluster up" and by tests. They
// are in this program because it is there anyway.

// runNode is the first process of a real node.
func runNode(args []string) error {
	flags := flag.NewFlagSet("node", flag.ContinueOnError)
	_ = flags.String("dir", "", "the cluster's state `folder`, to tell nodes apart in a list of processes")
	if err := parse(flags, args); err != nil {
		return err
	}
	return node.Init()
}

// runGateway is the way from a real node to kube-apiserver and to registries of images.
func runGateway(ctx context.Context, args []string) error {
	var o gateway.Options
	flags := flag.NewFlagSet("gateway", flag.ContinueOnError)
	flags.StringVar(&o.API, "api", "", "the `address` that stands for kube-apiserver")
	flags.StringVar(&o.Target, "target", "", "the `address` where kube-apiserver listens")
	flags.StringVar(&o.Proxy, "proxy", "", "the `address` of the proxy for pulling images")
	flags.StringVar(&o.Client, "client", "", "the only `IP` address that may use the proxy")
	if err := parse(flags, args); err != nil {
		return err
	}
	return gateway.Serve(ctx, o)
}

// runGitServer serves the repositories of a cluster.
func runGitServer(ctx context.Context, args []string) error {
	var o gitserver.Options
	flags := flag.NewFlagSet("git-server", flag.ContinueOnError)
	flags.StringVar(&o.Address, "address", "", "the `address` to listen on")
	flags.StringVar(&o.Dir, "repositories", "", "the `folder` of repositories")
	flags.StringVar(&o.CredentialsFile, "credentials", "", "the `file` with user:password for private repositories")
	if err := parse(flags, args); err != nil {
		return err
	}
	return gitserver.Serve(ctx, o)
}
