// Package devcluster runs a complete Kubernetes cluster with the website
// components on this machine: etcd, kube-apiserver, kube-controller-manager,
// kube-scheduler, simulated nodes, website-apiserver behind an APIService, and
// website-controller.
//
// It needs Go and git, no root and no network beyond the Go module proxy. All
// programs are built from source: those of Kubernetes from the Go modules
// hack/kubernetes and hack/kwok, once per user (see Options.CacheDir), those of
// this repository from the checkout. Everything listens on 127.0.0.1 and keeps
// its state in one folder (see Options.Dir).
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
