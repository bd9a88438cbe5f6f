package devcluster

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// Defaults of Options.
const (
	// DefaultDir is where a detached cluster keeps its state, relative to the checkout.
	DefaultDir = ".devcluster"
	// DefaultReadyTimeout is how long one component may take until it is ready.
	// Components take seconds; the rest is for small machines under load.
	DefaultReadyTimeout = 2 * time.Minute
)

// NodeMode says what the pods of the cluster run on.
type NodeMode string

const (
	// NodeAuto takes NodeReal where this machine can offer it, else NodeSimulated, and
	// reports which it took and why.
	NodeAuto NodeMode = "auto"
	// NodeReal runs containers, in a network of their own: kubelet, kube-proxy and
	// containerd. It takes Linux and root. The cluster also gets a git server that pods
	// reach; they reach nothing else outside.
	NodeReal NodeMode = "real"
	// NodeSimulated has kwok answer for the nodes: pods become Running and Ready and
	// are deleted like real ones, but no container runs.
	NodeSimulated NodeMode = "simulated"
	// NodeNone leaves nodes out: pods stay Pending.
	NodeNone NodeMode = "none"
)

// ImageSource says where a real node has its container images from.
type ImageSource string

const (
	// ImagesAuto pulls an image if its registry can be reached, and makes it otherwise.
	ImagesAuto ImageSource = "auto"
	// ImagesRegistry pulls all images, except the one that holds the place of a pod.
	ImagesRegistry ImageSource = "registry"
	// ImagesDebian asks no registry: nginx is Debian's, and a stand-in on top of Debian's
	// git takes the place of git-sync.
	ImagesDebian ImageSource = "debian"
)

// Options says what Up starts. The zero value is a complete cluster for a test.
type Options struct {
	// RepoDir is the checkout whose programs run. Default: the working directory or
	// the nearest folder above it that holds go.mod and hack/kubernetes/go.mod.
	RepoDir string

	// Dir holds all state: credentials, logs, stores, and what is known about running
	// processes. Up continues what it finds there, and Down removes it. If its path is
	// long, the store of website-apiserver is in a folder of its own in /tmp, for the
	// sake of its socket; Down removes that too. Default: DefaultDir in RepoDir if
	// Detached is set, else a new temporary folder that Cluster.Stop removes.
	Dir string

	// CacheDir holds the Kubernetes programs between clusters and checkouts.
	// Default: website-apiserver in os.UserCacheDir.
	CacheDir string

	// Ports are the ports on 127.0.0.1. A zero is replaced by the port the cluster in
	// Dir had before, else by the one DefaultPorts names (Detached) or by a free one.
	Ports Ports

	// Detached lets the processes outlive the caller. Otherwise they end with it: on
	// Linux even when it is killed, elsewhere only through Cluster.Stop.
	Detached bool

	// Progress receives one line per step with the elapsed time. Default: discarded.
	Progress io.Writer

	// Node says what pods run on. Default: NodeAuto.
	Node NodeMode

	// Images says where a real node has its container images from. Default: ImagesAuto.
	Images ImageSource

	// SimulatedNodes is how many nodes NodeSimulated offers. Default: 1, at most 250.
	SimulatedNodes int

	// KubernetesOnly leaves out everything of this repository: website-apiserver,
	// its APIService and roles, and website-controller.
	KubernetesOnly bool

	// WithoutController leaves out website-controller. Cluster.StartController can
	// start one later.
	WithoutController bool

	// ExternalEtcd has website-apiserver keep its objects in an etcd cluster of one member,
	// website-etcd, over mutual TLS, and not in the etcd inside it. The two hold different
	// Websites: a cluster that changes from one to the other does not take them along.
	ExternalEtcd bool

	// APIServerArgs are further flags of website-apiserver, also of those started by
	// Cluster.StartAPIServer. They come last, so they
	// override the ones chosen here.
	APIServerArgs []string

	// ControllerArgs are further flags of website-controller, also of those started
	// by Cluster.StartController.
	ControllerArgs []string

	// ReadyTimeout is how long one component may take until it is ready.
	// Default: DefaultReadyTimeout.
	ReadyTimeout time.Duration
}

// complete fills in the defaults. temporary is true if Dir was made by it.
func (o Options) complete() (done Options, temporary bool, err error) {
	if o.RepoDir == "" {
		wd, err := os.Getwd()
		if err != nil {
			return o, false, fmt.Errorf("finding the working directory: %w", err)
		}
		if o.RepoDir, err = findRepo(wd); err != nil {
			return o, false, err
		}
	}
	if o.RepoDir, err = filepath.Abs(o.RepoDir); err != nil {
		return o, false, fmt.Errorf("resolving the checkout's path: %w", err)
	}
	switch o.Node {
	case "":
		o.Node = NodeAuto
	case NodeAuto, NodeReal, NodeSimulated, NodeNone:
	default:
		return o, false, fmt.Errorf("node mode %q is unknown: use %s, %s, %s or %s", o.Node, NodeAuto, NodeReal, NodeSimulated, NodeNone)
	}
	switch o.Images {
	case "":
		o.Images = ImagesAuto
	case ImagesAuto, ImagesRegistry, ImagesDebian:
	default:
		return o, false, fmt.Errorf("image source %q is unknown: use %s, %s or %s", o.Images, ImagesAuto, ImagesRegistry, ImagesDebian)
	}
	if o.SimulatedNodes == 0 {
		o.SimulatedNodes = 1
	}
	if o.SimulatedNodes < 0 || o.SimulatedNodes > maxSimulatedNodes {
		return o, false, fmt.Errorf("%d simulated nodes: choose 1 to %d", o.SimulatedNodes, maxSimulatedNodes)
	}
	if o.Progress == nil {
		o.Progress = io.Discard
	}
	if o.ReadyTimeout == 0 {
		o.ReadyTimeout = DefaultReadyTimeout
	}
	if o.CacheDir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return o, false, fmt.Errorf("finding the user's cache folder (set HOME or XDG_CACHE_HOME): %w", err)
		}
		o.CacheDir = filepath.Join(cache, "website-apiserver")
	}
	switch {
	case o.Dir != "":
	case o.Detached:
		o.Dir = filepath.Join(o.RepoDir, DefaultDir)
	default:
		if o.Dir, err = os.MkdirTemp("", "devcluster-"); err != nil {
			return o, false, fmt.Errorf("making a state folder: %w", err)
		}
		temporary = true
	}
	if o.Dir, err = filepath.Abs(o.Dir); err != nil {
		return o, temporary, fmt.Errorf("resolving the state folder's path: %w", err)
	}
	return o, temporary, nil
}

// findRepo walks up from dir to the checkout. The second file tells the checkout's
// go.mod from those of the modules inside it.
func findRepo(dir string) (string, error) {
	for at := dir; ; at = filepath.Dir(at) {
		if isFile(filepath.Join(at, "go.mod")) && isFile(filepath.Join(at, kubernetesModule, "go.mod")) {
			return at, nil
		}
		if at == filepath.Dir(at) {
			return "", fmt.Errorf("no checkout of website-apiserver at %s or above it: run this inside one, or name it", dir)
		}
	}
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
