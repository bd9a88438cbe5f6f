// Package devcluster runs a complete Kubernetes cluster with the website components on this
// machine: etcd, kube-apiserver, kube-controller-manager, kube-scheduler, a simulated or a
// real node, website-apiserver behind an APIService, and website-controller.
//
// The last two run in pods of a real node, as they do for users: their images are built
// (hack/images) and imported if they have changed, and artifacts/default is applied. With a
// simulated node, they run beside the cluster.
//
// With a simulated node, it requires Go and git, but neither root nor a network beyond the
// Go module proxy. All programs are built from source: Kubernetes, kwok and containerd from
// the Go modules hack/kubernetes, hack/kwok and hack/containerd, once per user
// (Options.CacheDir), and this repository's from the checkout. They listen on 127.0.0.1 and
// keep their state in one directory (Options.Dir).
//
// A real node (NodeReal; Linux, root) also requires runc and nftables, which are installed
// on Debian. It has its own network, mount and PID namespaces (package node), which the
// kernel removes with its last process; no rule or setting of the host changes. The host and
// the node are connected by a veth pair:
//
//   - The host has the first address of the pair. The node reaches kube-apiserver there
//     (package gateway), and pods reach a git server (package gitserver).
//   - The node has the second address, on which NodePorts are served (Cluster.NodeAddress).
//   - The host has a route to the pods, by which kube-apiserver connects to the pods of
//     website-apiserver and of webhooks. Pods reach each other, Services and the git server.
//     CoreDNS resolves the names of Services and pods, and no others: there is no internet access.
//   - The default StorageClass has one volume, a directory of the node.
//
// Other images are pulled if a registry is reachable. Otherwise they are built from Debian
// packages (package image): the image of git-sync has git and ssh only, and a stand-in
// replaces pause.
//
// "make up" starts a cluster that outlives the command (Options.Detached), on fixed ports.
// Tests start a cluster on free ports, whose processes end with the test binary, even if
// that is killed:
//
//	c, err := devcluster.Up(ctx, devcluster.Options{Dir: dir})
//	if err != nil { ... }
//	defer c.Stop(context.Background())
//	config := c.AdminConfig()
//
// As in a production cluster, there are separate CAs: of the cluster, of the front proxy (the aggregation
// layer) and of etcd.
// Beside the cluster, website-apiserver and website-controller authenticate with certificates,
// as the ServiceAccounts of artifacts/rbac, and have no other permissions.
package devcluster
