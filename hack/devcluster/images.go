package devcluster

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/kubesites/website-apiserver/hack/devcluster/image"
	"github.com/kubesites/website-apiserver/hack/devcluster/node"
	"github.com/kubesites/website-apiserver/pkg/controller/options"
)

// The images of a real node: those that website-controller gives the pods of Websites
// unless it is told otherwise, and the one that holds the place of every pod.
const (
	nginxImage   = options.DefaultNginxImage
	gitSyncImage = options.DefaultGitSyncImage
	pauseImage   = "localhost/devcluster/pause-standin:1"
)

const (
	// How long a registry may take to accept a connection.
	registryTimeout = 3 * time.Second
	// How long pulling one image may take before it is made instead.
	pullTimeout = 5 * time.Minute
	// imageFormat is part of the cache's key. Change it with how images are made.
	imageFormat = "2"
	// imageNamespace is where containerd keeps what the kubelet uses.
	imageNamespace = "k8s.io"
	// archiveAge is how long an archive stays in the cache that no cluster imports.
	archiveAge   = 30 * 24 * time.Hour
	standInLabel = "io.kubesites.stand-in"
)

// recipe says how to make an image.
type recipe struct {
	name string
	// local images exist nowhere else.
	local bool
	// packages are Debian's, whose dependencies come along.
	packages []string
	// program of this repository that is put at the root.
	program string
	config  v1.Config
	// passwd and group are further lines of those files.
	passwd, group []string
	what          string
}

// shell is for whoever looks around in a pod with kubectl exec, and for the parts of git that
// are shell scripts. No package asks for it, as every Debian has it.
var shell = []string{"dash", "coreutils", "grep", "sed"}

var recipes = []recipe{
	{
		name: pauseImage, local: true, program: pauseStandIn, what: "a stand-in for the pause image",
		config: v1.Config{Entrypoint: []string{"/" + pauseStandIn}, User: "65535:65535", Labels: map[string]string{standInLabel: "pause"}},
	},
	{
		name: nginxImage, packages: append([]string{"nginx-light"}, shell...), what: "Debian's nginx",
		passwd: []string{"nginx:x:101:101:nginx:/nonexistent:/usr/sbin/nologin"}, group: []string{"nginx:x:101:"},
		config: v1.Config{
			User: "101", Cmd: []string{"nginx", "-g", "daemon off;"}, StopSignal: "SIGQUIT",
			Labels: map[string]string{standInLabel: "nginx-unprivileged, with Debian's nginx"},
		},
	},
	{
		name: gitSyncImage, packages: append([]string{"git", "openssh-client"}, shell...), program: gitSyncStandIn, what: "a stand-in for git-sync, on Debian's git",
		passwd: []string{"git-sync:x:65533:65533:git-sync:/tmp:/usr/sbin/nologin"}, group: []string{"git-sync:x:65533:"},
		config: v1.Config{
			User: "65533:65533", Entrypoint: []string{"/" + gitSyncStandIn}, WorkingDir: "/tmp", Env: []string{"HOME=/tmp"},
			Labels: map[string]string{standInLabel: "git-sync"},
		},
	},
}

// provideImages makes sure that the node has the images without which no Website runs.
func (c *Cluster) provideImages(ctx context.Context) error {
	for _, r := range recipes {
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
	known, err := c.importedImages()
	if err != nil {
		return "", err
	}
	have, err := c.ctr(ctx, "images", "list", "--quiet", "name=="+r.name)
	if err != nil {
		return "", err
	}
	source := c.plan.options.Images
	if strings.TrimSpace(have) != "" && (known[r.name] == archive || known[r.name] == "" && source != ImagesDebian) {
		return "is there", nil
	}
	if !r.local && source != ImagesDebian {
		step.set("asking its registry")
		err := c.pull(ctx, r.name, step)
		if err == nil {
			return "pulled", c.noteImage(known, r.name, "")
		}
		if source == ImagesRegistry || ctx.Err() != nil {
			return "", err
		}
	}
	if !isFile(archive) {
		step.set("making %s", r.what)
		err := target{name: filepath.Base(archive), path: archive, build: func(ctx context.Context, out string, say func(string)) error {
			return r.make(ctx, c.plan, out, say)
		}}.make(ctx, step)
		if err != nil {
			return "", err
		}
	}
	if err := pruneArchives(archive, time.Now()); err != nil {
		return "", err
	}
	step.set("importing %s", r.what)
	if _, err := c.ctr(ctx, "images", "import", "--no-unpack", archive); err != nil {
		return "", err
	}
	return "imported " + r.what + " from " + archive, c.noteImage(known, r.name, archive)
}

// pull has containerd fetch an image, if its registry can be reached at all.
func (c *Cluster) pull(ctx context.Context, name string, step *step) error {
	host, _, _ := strings.Cut(name, "/")
	if err := registryAnswers(ctx, host); err != nil {
		return err
	}
	step.set("pulling it")
	ctx, cancel := context.WithTimeoutCause(ctx, pullTimeout, fmt.Errorf("it takes longer than %s", pullTimeout))
	defer cancel()
	_, err := c.ctr(ctx, "images", "pull", name)
	return err
}

// registryAnswers finds out quickly whether there is a way to a registry.
func registryAnswers(ctx context.Context, host string) error {
	if _, _, err := net.SplitHostPort(host); err != nil {
		host = net.JoinHostPort(host, "443")
	}
	ctx, cancel := context.WithTimeout(ctx, registryTimeout)
	defer cancel()
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", host)
	if err != nil {
		return fmt.Errorf("the image's registry cannot be reached: %w", err)
	}
	return conn.Close()
}

// ctr runs containerd's client in the node.
func (c *Cluster) ctr(ctx context.Context, args ...string) (string, error) {
	return c.RunOnNode(ctx, c.plan.programs[ctr], append([]string{"--address=" + containerdSocket, "--namespace=" + imageNamespace}, args...)...)
}

// archive is the path of the image's archive in the cache, named by all it is made from.
// The versions of Debian's packages are not among that: they change with the system's
// release, and a security fix is no reason to need the network at every start.
func (r recipe) archive(p *plan) (string, error) {
	var inputs []string
	if r.program != "" {
		inputs = append(inputs, p.product(r.program))
	}
	if len(r.packages) > 0 {
		inputs = append(inputs, "/etc/os-release")
	}
	hash, err := hashFiles(inputs...)
	if err != nil {
		return "", err
	}
	data, err := json.Marshal([]any{imageFormat, hash, r.name, r.packages, r.program, r.config, r.passwd, r.group})
	if err != nil {
		return "", fmt.Errorf("computing the cache key of image %s: %w", r.name, err)
	}
	sum := sha256.Sum256(data)
	name, _, _ := strings.Cut(r.name[strings.LastIndex(r.name, "/")+1:], ":")
	return filepath.Join(p.options.CacheDir, "images", name+"-"+hex.EncodeToString(sum[:6])+".tar"), nil
}

// pruneArchives notes that an archive is in use and removes those of the cache that no
// cluster has used for long: each change of a program makes another.
func pruneArchives(used string, now time.Time) error {
	if err := os.Chtimes(used, now, now); err != nil {
		return fmt.Errorf("noting that an image is in use: %w", err)
	}
	archives, err := filepath.Glob(filepath.Join(filepath.Dir(used), "*.tar"))
	if err != nil {
		return fmt.Errorf("listing the cached images: %w", err)
	}
	for _, archive := range archives {
		// One that is gone was removed by another command.
		info, err := os.Stat(archive)
		if err != nil || now.Sub(info.ModTime()) < archiveAge {
			continue
		}
		if err := os.Remove(archive); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("removing a cached image that is no longer used: %w", err)
		}
	}
	return nil
}

// make writes the image's archive.
func (r recipe) make(ctx context.Context, p *plan, out string, say func(string)) (err error) {
	layer := image.NewLayer()
	if len(r.packages) > 0 {
		layer.MergeUsr()
		say("fetching Debian's " + strings.Join(r.packages, ", ") + " and what it needs")
		files, err := image.DownloadDebian(ctx, node.Apt, filepath.Dir(out), r.packages...)
		if err != nil {
			return fmt.Errorf("%w: no registry can be reached to pull images from, and Debian's packages, from which they could be made, neither (NODE=simulated needs no images): %w", ErrUnsuitable, err)
		}
		say(fmt.Sprintf("unpacking %d packages", len(files)))
		if err := layer.AddDebian(ctx, files...); err != nil {
			return err
		}
		layer.AddSymlink("usr/bin/sh", "dash")
	}
	layer.AddFile("etc/passwd", 0o644, accounts("root:x:0:0:root:/root:/bin/sh", r.passwd))
	layer.AddFile("etc/group", 0o644, accounts("root:x:0:", r.group))
	if r.program != "" {
		data, err := os.ReadFile(p.product(r.program))
		if err != nil {
			return fmt.Errorf("reading a program for the image: %w", err)
		}
		layer.AddFile(r.program, 0o755, data)
	}
	config := r.config
	config.Env = append([]string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}, config.Env...)
	file, err := os.Create(out)
	if err != nil {
		return fmt.Errorf("writing the image: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return image.Write(file, r.name, config, layer)
}

// accounts are the lines of /etc/passwd or /etc/group.
func accounts(first string, more []string) []byte {
	return []byte(strings.Join(append([]string{first}, more...), "\n") + "\n")
}

// importedImages are the archives that the node's images were imported from, by name.
func (c *Cluster) importedImages() (map[string]string, error) {
	known := map[string]string{}
	data, err := os.ReadFile(c.plan.layout.nodeFile("images.json"))
	if errors.Is(err, os.ErrNotExist) {
		return known, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &known)
	}
	if err != nil {
		return nil, fmt.Errorf("reading which images were imported: %w", err)
	}
	return known, nil
}

func (c *Cluster) noteImage(known map[string]string, name, archive string) error {
	known[name] = archive
	data, err := json.MarshalIndent(known, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding which images were imported: %w", err)
	}
	return writeFile(c.plan.layout.nodeFile("images.json"), append(data, '\n'), 0o600)
}
