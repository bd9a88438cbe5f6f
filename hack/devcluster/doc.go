// Package devcluster runs a complete Kubernetes cluster with the website
// components on this machine: etcd, kube-apiserver, kube-controller-manager,
// kube-scheduler, simulated nodes or a real one, website-apiserver behind an
// APIService, and website-controller.
//
// With simulated nodes it needs Go and git, no root and no network beyond the Go
// module proxy. All programs are built from source: those of Kubernetes and
// containerd from the Go modules hack/kubernetes, hack/kwok and hack/containerd,
// once per user (see Options.CacheDir), those of this repository from the
// checkout. Everything listens on 127.0.0.1 and keeps its state in one folder
// (see Options.Dir).
//
// A real node (NodeReal; Linux, root) also takes runc and nftables, which are
// installed on Debian. It runs containers in a network, mounts and a process
// namespace of its own (package node), which the kernel clears whatever happens;
// neither rules nor settings of the host change. Two private networks, routed
// through a pair of interfaces, are all that the host sees of it:
//
//   - The host has the first address of the pair. There the node finds
//     kube-apiserver (package gateway), and pods find a git server (package
//     gitserver).
//   - The node has the second, at which NodePorts answer (Cluster.NodeAddress).
//   - Pods are reached from the host directly. They reach each other, Services
//     and the git server, all by address: no names, no internet. That is why the
//     example of a real node is not kubia, whose repository is out there.
//
// Images are pulled where a registry answers; else they are made (package image)
// from Debian's packages, with stand-ins for git-sync and pause that say so.
//
// Two callers share it. "make up" starts a cluster that outlives the command
// (Options.Detached) on fixed ports and ends with "make down". Tests start a
// cluster on free ports whose processes die with the test binary, even if that
// is killed:
//
//	c, err := devcluster.Up(ctx, devcluster.Options{Dir: dir})
//	if err != nil { ... }
//	defer c.Stop(context.Background())
//	config, err := c.AdminConfig()
//
// Trust is split the way a production cluster splits it, so that a mistake shows
// here and not there: one authority signs the clients of kube-apiserver, one the
// serving certificates, one the front proxy (the aggregation layer), and one etcd.
// website-apiserver and website-controller authenticate as the ServiceAccounts
// that artifacts/rbac gives permissions to, and can do nothing more.
package devcluster
