package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kubesites/website-apiserver/pkg/agent/disk"
)

// SubmodulePolicy selects the submodules to fetch.
type SubmodulePolicy string

// The policies.
const (
	SubmodulesNone      SubmodulePolicy = "None"
	SubmodulesShallow   SubmodulePolicy = "Shallow"
	SubmodulesRecursive SubmodulePolicy = "Recursive"
)

// Options configure a repository.
type Options struct {
	// Dir is the directory of all files. Its content may be removed at any time between two operations.
	Dir string
	// URL is an http, https or ssh address, or user@host:path.
	URL string
	// Path is the needed directory of the repository, or empty for all of it. The targets of symbolic links in it, and
	// the attribute files above it, are fetched as well.
	Path       string
	Submodules SubmodulePolicy

	Credentials Credentials
	// CAFile is a bundle of CA certificates in the place of the public ones, or empty.
	CAFile string
	Proxy  Proxy

	// Revision changes the modification times of all files, as their content does.
	Revision string

	// Timeout limits a fetch, and a checkout.
	Timeout time.Duration
	// Memory limits the data of each process, in bytes; 0: no limit.
	Memory int64
	// MaxFiles limits the files of a commit; 0: no limit.
	MaxFiles int64
	// Room returns how many bytes may be written; nil: no limit.
	Room func() (int64, error)
}

const (
	repositoryDir = "repository"
	worktreeDir   = "worktree"
	modulesDir    = "modules"
	homeDir       = "home"
	indexFile     = "index"
)

// Repository is a repository on the disk. Its operations wait for each other.
type Repository struct {
	Options

	protocols string
	// parent is the repository whose submodule this is, or nil.
	parent  *Repository
	modules map[string]*Repository
	busy    chan struct{}
	// onStart is called by tests with the process group of each command.
	onStart func(group int)

	// format is the object format of the remote, if it is not SHA-1. full and unfiltered are true once the server has
	// answered that it has no shallow fetches, or no partial ones.
	format           string
	full, unfiltered bool
	// depth is the number of commits to fetch, without their files if there are several; 0: one.
	depth int
	// unknown is the number of fetches in a row that have failed for an unknown reason.
	unknown int
	// checkedOut is the state of the worktree, or nil if that is not complete.
	checkedOut *Tree
	// needed are the commits and trees that the last fetch was for.
	needed []string
	// begun is the size of git's directory when the last fetch began, and most the size that it may have; 0: not known.
	begun, most int64
}

// Open returns the repository of a directory, which is made when it is first needed.
func Open(options Options) (*Repository, error) {
	protocols, err := protocolsOf(options.URL)
	if err != nil {
		return nil, err
	}
	options.Path = strings.Trim(filepath.ToSlash(filepath.Clean("/"+options.Path)), "/")
	r := &Repository{Options: options, protocols: protocols}
	r.modules, r.busy = map[string]*Repository{}, make(chan struct{}, 1)
	return r, nil
}

func (r *Repository) path(elements ...string) string {
	return filepath.Join(append([]string{r.Dir}, elements...)...)
}

// root returns the repository that the credentials are for.
func (r *Repository) root() *Repository {
	for r.parent != nil {
		r = r.parent
	}
	return r
}

// begin waits for other operations, and limits the time of this one.
func (r *Repository) begin(ctx context.Context) (context.Context, func(), error) {
	select {
	case r.busy <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, fmt.Errorf("waiting for another operation of git: %w", context.Cause(ctx))
	}
	ctx, cancel := context.WithTimeout(ctx, r.Timeout)
	return ctx, func() { cancel(); <-r.busy }, nil
}

// prepare makes the repository unless it exists, and removes leftovers of a killed git. No other git works in it: each
// ends with its operation.
func (r *Repository) prepare(ctx context.Context) error {
	if err := errors.Join(emptyDirectory(r.path(homeDir)), os.RemoveAll(r.path(earlierDir))); err != nil {
		return onDisk(err)
	}
	if _, err := os.Stat(r.path(repositoryDir, "HEAD")); err == nil {
		return onDisk(r.removeLeftovers())
	}
	const made = "repository.new"
	if err := errors.Join(r.remove(), os.RemoveAll(r.path(made))); err != nil {
		return onDisk(err)
	}
	args := []string{"init", "--quiet", "--bare", "--template=", "--initial-branch=main"}
	if r.format != "" {
		args = append(args, "--object-format="+r.format)
	}
	if _, err := r.run(ctx, command{args: args, env: []string{"GIT_DIR=" + r.path(made)}}); err != nil {
		return err
	}
	return onDisk(os.Rename(r.path(made), r.path(repositoryDir)))
}

// remove removes the repository. The next fetch begins without it.
func (r *Repository) remove() error {
	r.checkedOut = nil
	return errors.Join(os.RemoveAll(r.path(repositoryDir)), os.RemoveAll(r.path(worktreeDir)))
}

// removeLeftovers removes locks, incomplete objects, and packs that have no index yet.
func (r *Repository) removeLeftovers() error {
	root := r.path(repositoryDir)
	var errs []error
	for _, pattern := range []string{
		"*.lock", "refs/*/*.lock", "refs/website/*/*.lock", "objects/pack/tmp_*", "objects/pack/.tmp*", "objects/pack/*.temp",
		"objects/tmp_*", "objects/??/tmp_*",
	} {
		found, _ := filepath.Glob(filepath.Join(root, pattern))
		for _, path := range found {
			errs = append(errs, os.RemoveAll(path))
		}
	}
	packs, err := os.ReadDir(filepath.Join(root, "objects", "pack"))
	errs = append(errs, err)
	for _, entry := range packs {
		path := filepath.Join(root, "objects", "pack", entry.Name())
		if _, err := os.Stat(strings.TrimSuffix(path, filepath.Ext(path)) + ".idx"); errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, os.Remove(path))
		}
	}
	return ignoreMissing(errors.Join(errs...))
}

// Compact removes the objects that the last fetch did not need, once they take as much space as those that it did.
// Neither fetches nor "gc" do so: they keep all objects that a server without some of them was asked for.
func (r *Repository) Compact(ctx context.Context) error {
	ctx, end, err := r.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	return r.compact(ctx, false)
}

func (r *Repository) compact(ctx context.Context, always bool) error {
	for _, module := range r.modules {
		if err := module.compact(ctx, always); err != nil {
			return err
		}
	}
	if len(r.needed) == 0 {
		return nil
	}
	if !always {
		used, err := disk.UsageOf(r.path(repositoryDir, "objects"))
		if err != nil {
			return onDisk(err)
		}
		output, err := r.run(ctx, r.ofNeeded("rev-list", "--disk-usage", "--objects", "--missing=allow-any", "--stdin"))
		if err != nil {
			return r.replace(err)
		}
		live, err := strconv.ParseInt(output, 10, 64)
		if err != nil || used.Size <= 2*live+compactSlack {
			return err
		}
	}
	return r.replace(r.repack(ctx))
}

// ofNeeded is a command for all objects that are needed.
func (r *Repository) ofNeeded(args ...string) command {
	if r.full {
		args = append(args, "--all")
	}
	needed := r.needed
	if r.checkedOut != nil {
		needed = append(slices.Clone(needed), r.checkedOut.ID)
	}
	return command{args: args, stdin: strings.NewReader(strings.Join(needed, "\n") + "\n")}
}

// compactSlack is the size below which nothing is removed: that costs more than it frees.
const compactSlack = 64 << 10

// repack puts the objects that are needed into one pack, and removes all others. If it is killed, both are there.
func (r *Repository) repack(ctx context.Context) error {
	objects := r.path(repositoryDir, "objects")
	// A fetch that has failed may have gone further.
	if _, err := r.run(ctx, command{args: []string{"update-ref", trackedRef, r.needed[0]}}); err != nil {
		return err
	}
	base := filepath.Join(objects, "pack", "pack")
	name, err := r.run(ctx, r.ofNeeded("pack-objects", "--quiet", "--revs", "--missing=allow-any", base))
	if err != nil {
		return err
	}
	kept := "pack-" + name
	if err := os.WriteFile(filepath.Join(objects, "pack", kept+".promisor"), nil, 0o600); err != nil {
		return onDisk(err)
	}
	entries, err := filepath.Glob(filepath.Join(objects, "*", "*"))
	errs := []error{err}
	for _, path := range entries {
		if !strings.HasPrefix(filepath.Base(path), kept+".") {
			errs = append(errs, os.Remove(path))
		}
	}
	if r.full {
		return onDisk(errors.Join(errs...))
	}
	// Each fetch adds its commit to the list of those without parents, which is sent to the server.
	var shallow strings.Builder
	for _, root := range r.needed {
		if strings.Contains(r.shallow(), root) {
			fmt.Fprintln(&shallow, root)
		}
	}
	errs = append(errs, os.WriteFile(r.path(repositoryDir, "shallow"), []byte(shallow.String()), 0o600))
	return onDisk(errors.Join(errs...))
}

func (r *Repository) shallow() string {
	data, _ := os.ReadFile(r.path(repositoryDir, "shallow"))
	return string(data)
}

// replace removes a repository that git cannot read, or that the volume has no space for, and returns the error of
// that.
func (r *Repository) replace(err error) error {
	if isReason(err, reasonDamaged, ReasonTooLarge, ReasonStorageFull) {
		return errors.Join(err, onDisk(r.remove()))
	}
	return err
}

// onDisk returns the typed error of an operation of this process on the disk.
func onDisk(err error) error {
	if err == nil {
		return nil
	}
	reason := classify(err.Error())
	if !isLocal(reason) {
		reason = ReasonUnknown
	}
	return wrap(reason, err.Error(), err)
}

func isReason(err error, reasons ...Reason) bool {
	var typed *Error
	return errors.As(err, &typed) && slices.Contains(reasons, typed.Reason)
}

func emptyDirectory(dir string) error {
	return errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o755))
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
