package devcluster

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/kubesites/website-apiserver/hack/devcluster/image"
	"github.com/kubesites/website-apiserver/hack/devcluster/node"
)

const (
	// imageFormat is part of the cache key. Increment it when you change this code.
	imageFormat = "2"
	// archiveAge is the time after which an unused archive is removed from the cache.
	archiveAge = 30 * 24 * time.Hour
	// imagesCommand is the program that builds the images of website-apiserver,
	// website-controller and the agent.
	imagesCommand = "images"
)

// archive returns the path of the image's archive in the cache. Its name contains a hash of
// the inputs. The versions of Debian packages are not part of the name: finding the current
// ones would require the network at every start.
func (r recipe) archive(p *plan) (string, error) {
	var inputs []string
	if r.given != "" {
		inputs, r = append(inputs, r.given), recipe{name: r.name}
	}
	if r.program != "" {
		inputs = append(inputs, p.product(r.program))
	}
	if r.product {
		inputs = append(inputs, p.product(imagesCommand))
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

// pruneArchives marks an archive as used and removes archives that no cluster has used for
// archiveAge. Each change of a program creates another archive.
func pruneArchives(used string, now time.Time) error {
	if err := os.Chtimes(used, now, now); err != nil {
		return fmt.Errorf("noting that an image is in use: %w", err)
	}
	archives, err := filepath.Glob(filepath.Join(filepath.Dir(used), "*.tar"))
	if err != nil {
		return fmt.Errorf("listing the cached images: %w", err)
	}
	for _, archive := range archives {
		// A missing archive was removed by another command.
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

// target returns the build target for the image's archive in the cache.
func (r recipe) target(p *plan, archive string) target {
	return target{name: filepath.Base(archive), path: archive,
		build: func(ctx context.Context, out string, s *step) error {
			return r.make(ctx, p, out, func(what string) { s.set("%s", what) })
		}}
}

// make builds the image and writes its archive to out.
func (r recipe) make(ctx context.Context, p *plan, out string, say func(string)) (err error) {
	if r.given != "" {
		return image.Rename(out, r.given, r.name)
	}
	if r.product {
		return r.makeProduct(ctx, p, out)
	}
	layer := image.NewLayer()
	if len(r.packages) > 0 {
		layer.MergeUsr()
		say("fetching Debian's " + strings.Join(r.packages, ", ") + " and dependencies")
		files, err := image.DownloadDebian(ctx, node.Apt, filepath.Dir(out), r.packages...)
		if err != nil {
			return fmt.Errorf("%w: neither an image registry nor Debian packages, from which images are built, can be "+
				"downloaded (NODE=simulated needs no images): %w", ErrUnsuitable, err)
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

// makeProduct builds the image as "make images" does, of the program that was built for this machine.
func (r recipe) makeProduct(ctx context.Context, p *plan, out string) error {
	dir := filepath.Join(filepath.Dir(out), "built")
	if _, err := output(ctx, p.options.RepoDir, p.product(imagesCommand), "--repo="+p.options.RepoDir, "--out="+dir,
		"--programs="+r.program, "--program-dir="+filepath.Dir(p.product(r.program)),
		"--platforms=linux/"+runtime.GOARCH); err != nil {
		return err
	}
	if err := os.Rename(filepath.Join(dir, r.program+".oci.tar"), out); err != nil {
		return fmt.Errorf("moving the image: %w", err)
	}
	return nil
}

// accounts returns the content of /etc/passwd or /etc/group.
func accounts(first string, more []string) []byte {
	return []byte(strings.Join(append([]string{first}, more...), "\n") + "\n")
}
