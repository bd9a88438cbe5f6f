package devcluster

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/kubesites/website-apiserver/pkg/controller/images"
)

// These are the images of a real node besides the product's: the defaults of
// website-controller, and the image that holds the namespaces of every pod.
const (
	nginxImage   = images.Nginx
	gitSyncImage = images.GitSync
	pauseImage   = "localhost/devcluster/pause-standin:1"
)

const (
	// registryTimeout is the time limit of a connection to a registry.
	registryTimeout = 3 * time.Second
	// pullTimeout is the time limit of pulling one image, which is built afterwards.
	pullTimeout = 5 * time.Minute
	// imageNamespace is the namespace of the kubelet's images in containerd.
	imageNamespace = "k8s.io"
	standInLabel   = "io.kubesites.stand-in"
	// archiveLabel is containerd's label with the archive that an image was imported from.
	archiveLabel = "io.kubesites.archive"
)

// recipe describes how to make an image.
type recipe struct {
	name string
	// local is set for images that no registry has.
	local bool
	// packages are Debian packages, which are installed with their dependencies.
	packages []string
	// program is a program of this repository that is put at the root.
	program string
	// product is set for images that hack/images makes for users.
	product bool
	config  v1.Config
	// passwd and group are further lines of those files.
	passwd, group []string
	what          string
	// given is a file with the image, if any.
	given string
}

// shell is for kubectl exec and for the shell scripts of git. No package depends on it, as
// every Debian system has it.
var shell = []string{"dash", "coreutils", "grep", "sed"}

var recipes = []recipe{
	{
		name: pauseImage, local: true, program: pauseStandIn, what: "a stand-in for the pause image",
		config: v1.Config{Entrypoint: []string{"/" + pauseStandIn}, User: "65535:65535",
			Labels: map[string]string{standInLabel: "pause"}},
	},
	{name: images.APIServer, local: true, product: true, program: websiteAPIServer,
		what: "website-apiserver of this repository"},
	{name: images.Controller, local: true, product: true, program: websiteController,
		what: "website-controller of this repository"},
	{name: images.Agent, local: true, product: true, program: websiteAgent, what: "website-agent of this repository"},
	{
		name: nginxImage, packages: append([]string{"nginx-light"}, shell...), what: "Debian's nginx",
		passwd: []string{"nginx:x:101:101:nginx:/nonexistent:/usr/sbin/nologin"}, group: []string{"nginx:x:101:"},
		config: v1.Config{
			User: "101", Cmd: []string{"nginx", "-g", "daemon off;"}, StopSignal: "SIGQUIT",
			Labels: map[string]string{standInLabel: "nginx-unprivileged, with Debian's nginx"},
		},
	},
	{
		// The agent uses only git and ssh of this image.
		name: gitSyncImage, packages: append([]string{"git", "openssh-client"}, shell...), what: "Debian's git and ssh",
		passwd: []string{"git-sync:x:65533:65533:git-sync:/tmp:/usr/sbin/nologin"}, group: []string{"git-sync:x:65533:"},
		config: v1.Config{
			User: "65533:65533", WorkingDir: "/tmp", Env: []string{"HOME=/tmp"},
			Labels: map[string]string{standInLabel: "git-sync, with Debian's git and ssh, and without git-sync"},
		},
	},
}

// provideImages provides the images of the product and of Websites on the node.
func (c *Cluster) provideImages(ctx context.Context) error {
	given := map[string]string{gitSyncImage: c.plan.options.GitSyncImageArchive,
		nginxImage: c.plan.options.NginxImageArchive}
	for _, r := range recipes {
		if r.given = given[r.name]; r.given != "" {
			r.what = "the image in " + r.given
		}
		step := c.progress.step("image " + r.name)
		how, err := c.provideImage(ctx, r, step)
		if err != nil {
			return step.failed(fmt.Errorf("providing image %s: %w", r.name, err))
		}
		step.done("%s", how)
	}
	return nil
}

func (c *Cluster) provideImage(ctx context.Context, r recipe, step *step) (how string, err error) {
	archive, err := r.archive(c.plan)
	if err != nil {
		return "", err
	}
	listed, err := c.ctr(ctx, "images", "list", "name=="+r.name)
	if err != nil {
		return "", err
	}
	source, from := c.plan.options.Images, archiveLabel+"="+filepath.Base(archive)
	exists, pulled := strings.Contains(listed, r.name), !strings.Contains(listed, archiveLabel)
	switch {
	case exists && strings.Contains(listed, from) && (r.local || r.given != "" || source != ImagesRegistry):
		return "exists: " + r.what, nil
	case exists && pulled && !r.local && source != ImagesDebian && r.given == "":
		return "exists: pulled", nil
	}
	if !r.local && source != ImagesDebian && r.given == "" {
		step.set("connecting to its registry")
		err := c.pull(ctx, r.name, step)
		if err == nil {
			return "pulled", nil
		}
		if source == ImagesRegistry || ctx.Err() != nil {
			return "", err
		}
	}
	if !isFile(archive) {
		step.set("building %s", r.what)
		err := r.target(c.plan, archive).make(ctx, step)
		if err != nil {
			return "", err
		}
	}
	if err := pruneArchives(archive, time.Now()); err != nil {
		return "", err
	}
	step.set("importing %s", r.what)
	// The label is set by the same command, as an unlabelled image counts as pulled.
	if _, err := c.ctr(ctx, "images", "import", "--no-unpack", "--label="+from, archive); err != nil {
		return "", err
	}
	return "imported " + r.what, nil
}

// pull pulls an image, if its registry is reachable.
func (c *Cluster) pull(ctx context.Context, name string, step *step) error {
	host, _, _ := strings.Cut(name, "/")
	if err := registryAnswers(ctx, host); err != nil {
		return err
	}
	step.set("pulling")
	ctx, cancel := context.WithTimeoutCause(ctx, pullTimeout, fmt.Errorf("it takes longer than %s", pullTimeout))
	defer cancel()
	_, err := c.ctr(ctx, "images", "pull", name)
	return err
}

// registryAnswers returns an error, within registryTimeout, if a registry is unreachable.
func registryAnswers(ctx context.Context, host string) error {
	if _, _, err := net.SplitHostPort(host); err != nil {
		host = net.JoinHostPort(host, "443")
	}
	ctx, cancel := context.WithTimeout(ctx, registryTimeout)
	defer cancel()
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", host)
	if err != nil {
		return fmt.Errorf("the image's registry is unreachable: %w", err)
	}
	return conn.Close()
}

// ctr runs containerd's client in the node.
func (c *Cluster) ctr(ctx context.Context, args ...string) (string, error) {
	return c.RunOnNode(ctx, c.plan.programs[ctr],
		append([]string{"--address=" + containerdSocket, "--namespace=" + imageNamespace}, args...)...)
}
