package main

import (
	"github.com/spf13/cobra"

	"github.com/kubesites/website-apiserver/hack/devcluster/gateway"
	"github.com/kubesites/website-apiserver/hack/devcluster/gitserver"
	"github.com/kubesites/website-apiserver/hack/devcluster/node"
)

// The commands below are components of a cluster, started by "devcluster up" and by tests.

func component(use, short string) *cobra.Command {
	return &cobra.Command{Use: use, Short: short, Args: cobra.NoArgs, Hidden: true}
}

func nodeCommand() *cobra.Command {
	cmd := component("node", "The first process of a real node")
	cmd.Flags().String("dir", "", "The directory of the cluster's state, which identifies the node in a list of processes")
	cmd.RunE = func(*cobra.Command, []string) error { return node.Init() }
	return cmd
}

func gatewayCommand() *cobra.Command {
	var o gateway.Options
	cmd := component("gateway", "Connect a real node to kube-apiserver and to image registries")
	cmd.Flags().StringVar(&o.API, "api", "", "The address that stands for kube-apiserver")
	cmd.Flags().StringVar(&o.Target, "target", "", "The address of kube-apiserver")
	cmd.Flags().StringVar(&o.Proxy, "proxy", "", "The address of the proxy for pulling images")
	cmd.Flags().StringVar(&o.Client, "client", "", "The only IP address that may use the proxy")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return gateway.Serve(cmd.Context(), o) }
	return cmd
}

func gitServerCommand() *cobra.Command {
	var o gitserver.Options
	cmd := component("git-server", "Serve the repositories of a cluster")
	cmd.Flags().StringVar(&o.Address, "address", "", "The address to listen on")
	cmd.Flags().StringVar(&o.Dir, "repositories", "", "The directory of the repositories")
	cmd.Flags().StringVar(&o.CredentialsFile, "credentials", "", "The file with user:password for private repositories")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return gitserver.Serve(cmd.Context(), o) }
	return cmd
}
