package devcluster

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/kubesites/website-apiserver/hack/devcluster/image"
)

// Defaults of Options.
const (
	// DefaultDir is the state directory of a detached cluster, relative to the checkout.
	DefaultDir = ".devcluster"
	// DefaultReadyTimeout bounds the time until one component is ready. Components
	// take seconds; the rest is for small machines under load.
	DefaultReadyTimeout = 2 * time.Minute
)

// NodeMode is the kind of node that the pods of the cluster run on.
type NodeMode string

const (
	// NodeAuto is the kind of the existing cluster, else NodeReal if this machine supports
	// it, else NodeSimulated; Up reports the choice, and why.
	NodeAuto NodeMode = "auto"
	// NodeReal runs containers: kubelet, kube-proxy and containerd, in their own network
	// namespace. It requires Linux and root. The cluster also has a git server, the only
	// external address that pods reach.
	NodeReal NodeMode = "real"
	// NodeSimulated is a node of kwok: pods become Running and Ready and are deleted like
	// real ones, but no container runs.
	NodeSimulated NodeMode = "simulated"
)

// ImageSource is the source of a real node's container images.
type ImageSource string

const (
	// ImagesAuto pulls an image if its registry is reachable, and builds it otherwise.
	ImagesAuto ImageSource = "auto"
	// ImagesRegistry pulls all images except pause.
	ImagesRegistry ImageSource = "registry"
	// ImagesDebian uses no registry: nginx comes from Debian packages, and so do git and ssh
	// of the image of git-sync.
	ImagesDebian ImageSource = "debian"
)

// Options are the options of Up. The zero value is a complete cluster for a test.
type Options struct {
	// RepoDir is the checkout whose programs run. Default: the working directory or
	// the nearest directory above it with go.mod and hack/kubernetes/go.mod.
	RepoDir string

	// Dir contains all state: credentials, logs, stores, and records of the running
	// processes. Down removes it. If its path is too long for a socket, the store of
	// website-apiserver is in a directory in /tmp, which Down removes too. Default:
	// DefaultDir in RepoDir if Detached is set, else a new temporary directory that
	// Cluster.Stop removes.
	Dir string

	// CacheDir keeps the Kubernetes programs for all clusters and checkouts.
	// Default: website-apiserver in os.UserCacheDir.
	CacheDir string

	// Ports are the ports on 127.0.0.1. A zero is replaced by the former port of the cluster in Dir,
	// else by the one in DefaultPorts (Detached without FreePorts) or by a free one.
	Ports Ports
	// FreePorts makes a Detached cluster take free ports, as the others do.
	FreePorts bool

	// Detached processes outlive the caller. Otherwise they end with it: on Linux even if
	// it is killed, elsewhere only through Cluster.Stop.
	Detached bool

	// KubernetesVersion is the version of the Kubernetes programs, such as v1.34.4. Another
	// version than that in hack/kubernetes is built from a module in CacheDir, and requires
	// NodeSimulated. Default: the version in hack/kubernetes.
	KubernetesVersion string

	// Progress receives one line per step, with the elapsed time. Default: none.
	Progress io.Writer

	// Node is the kind of node. Default: NodeAuto.
	Node NodeMode

	// Images is the source of a real node's container images. Default: ImagesAuto.
	Images ImageSource

	// GitSyncImageArchive and NginxImageArchive are files with these images of a real node,
	// as "docker save" writes them. They take precedence over Images.
	GitSyncImageArchive, NginxImageArchive string

	// NodeDisk is the disk space that the pods of a real node may request, in bytes. Default:
	// all of it.
	NodeDisk uint64

	// SyncedEtcd makes each write of etcd wait for the disk, as in production and in the etcd inside
	// website-apiserver. Otherwise the store of kube-apiserver may not survive a power failure.
	SyncedEtcd bool

	// WithoutController leaves out website-controller. Cluster.StartController can
	// start one later.
	WithoutController bool

	// WithoutProduct leaves out the product, which is otherwise installed on a real node from
	// artifacts/default, but not its images: the caller installs it. It requires NodeReal.
	WithoutProduct bool

	// Gateway installs Gateway API and starts the controller of a Gateway, which serves the
	// hosts of HostDomain. It requires NodeReal.
	Gateway bool

	// ExternalEtcd stores Websites in website-etcd, an etcd cluster of one member, over
	// mutual TLS, instead of the etcd embedded in website-apiserver. Websites are not
	// copied from one to the other. It requires NodeSimulated.
	ExternalEtcd bool

	// WebsiteEtcdMembers is the number of members of website-etcd. More than one require
	// ExternalEtcd, and cannot be Detached. Default: 1.
	WebsiteEtcdMembers int

	// APIServers is the number of website-apiservers behind the Service. With more than
	// one, a balancer in the calling process sends each connection to a ready one
	// (Cluster.Balancer). They require ExternalEtcd, and cannot be Detached. Default: 1.
	APIServers int

	// APIServerArgs are further flags of these website-apiservers.
	APIServerArgs []string
}

// errNoGateway reports that a cluster without containers has no Gateway.
var errNoGateway = errors.New("--gateway (GATEWAY=1) requires a real node, whose pods the Gateway connects to: use " +
	"NODE=real")

// complete fills in the defaults. temporary is true if it created Dir.
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
	case NodeAuto, NodeReal, NodeSimulated:
	default:
		return o, false, fmt.Errorf("--node=%s (NODE) is unknown: use %s, %s or %s", o.Node, NodeAuto,
			NodeReal, NodeSimulated)
	}
	switch o.Images {
	case "":
		o.Images = ImagesAuto
	case ImagesAuto, ImagesRegistry, ImagesDebian:
	default:
		return o, false, fmt.Errorf("--images=%s (IMAGES) is unknown: use %s, %s or %s", o.Images, ImagesAuto,
			ImagesRegistry, ImagesDebian)
	}
	if err := o.completeArchives(); err != nil {
		return o, false, err
	}
	o.WebsiteEtcdMembers, o.APIServers = max(o.WebsiteEtcdMembers, 1), max(o.APIServers, 1)
	if (o.WebsiteEtcdMembers > 1 || o.APIServers > 1) && (o.Detached || !o.ExternalEtcd) {
		return o, false, errors.New("several members of website-etcd and several website-apiservers are for tests with an " +
			"external etcd only")
	}
	if o.WithoutProduct && o.Node != NodeReal {
		return o, false, errors.New("a cluster without the product requires a real node, on which it is installed")
	}
	if o.Node != NodeSimulated && o.ExternalEtcd {
		return o, false, errors.New("on a real node the product is installed from artifacts/default: --external-etcd is " +
			"for simulated nodes, use NODE=simulated")
	}
	if o.Gateway && o.Node == NodeSimulated {
		return o, false, errNoGateway
	}
	if o.KubernetesVersion != "" && o.Node != NodeSimulated {
		return o, false, errors.New("--kubernetes-version is for simulated nodes: use NODE=simulated")
	}
	if o.Progress == nil {
		o.Progress = io.Discard
	}
	if o.CacheDir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return o, false, fmt.Errorf("finding the user's cache directory (set HOME or XDG_CACHE_HOME): %w", err)
		}
		o.CacheDir = filepath.Join(cache, "website-apiserver")
	}
	switch {
	case o.Dir != "":
	case o.Detached:
		o.Dir = filepath.Join(o.RepoDir, DefaultDir)
	default:
		if o.Dir, err = os.MkdirTemp("", "devcluster-"); err != nil {
			return o, false, fmt.Errorf("creating a state directory: %w", err)
		}
		temporary = true
	}
	if o.Dir, err = filepath.Abs(o.Dir); err != nil {
		return o, temporary, fmt.Errorf("resolving the state directory's path: %w", err)
	}
	return o, temporary, nil
}

// checkArchives returns an error if image archives are given for a simulated node.
func (o *Options) checkArchives() error {
	if o.Node == NodeSimulated && (o.GitSyncImageArchive != "" || o.NginxImageArchive != "") {
		return errors.New("--git-sync-image-archive and --nginx-image-archive are for a real node: on simulated nodes no " +
			"container runs")
	}
	return nil
}

// completeArchives checks the image archives, and makes their paths absolute.
func (o *Options) completeArchives() error {
	if err := o.checkArchives(); err != nil {
		return err
	}
	for flag, archive := range map[string]*string{"git-sync-image-archive": &o.GitSyncImageArchive,
		"nginx-image-archive": &o.NginxImageArchive} {
		if *archive == "" {
			continue
		}
		path, err := filepath.Abs(*archive)
		if err == nil {
			err = image.Check(path)
		}
		if err != nil {
			return fmt.Errorf("--%s: %w", flag, err)
		}
		*archive = path
	}
	return nil
}

// findRepo walks up from dir to the checkout. Only the checkout has both files.
func findRepo(dir string) (string, error) {
	for at := dir; ; at = filepath.Dir(at) {
		if isFile(filepath.Join(at, "go.mod")) && isFile(filepath.Join(at, kubernetesModule, "go.mod")) {
			return at, nil
		}
		if at == filepath.Dir(at) {
			return "", fmt.Errorf("%s is not in a checkout of website-apiserver: run this command in one", dir)
		}
	}
}

func isDirectory(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
