package git

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kubesites/website-apiserver/pkg/agent/disk"
	"github.com/kubesites/website-apiserver/pkg/agent/requests"
)

// Tree is the needed part of a commit.
type Tree struct {
	// Commit is the hash of the commit.
	Commit string
	// ID identifies the content: the published path, what its links lead to, its attributes and submodules. A push that
	// changes none of them has the same.
	ID string
	// Files is the number of files and symbolic links, submodules included.
	Files int64

	// bytes limits the size of the files that a checkout writes.
	bytes      int64
	attributes string
	modules    []module
	// leadsOut is true if a link leads out of the repository, which may be into the one that this is a submodule of.
	leadsOut bool
}

const (
	// trackedRef has the last commit that was fetched.
	trackedRef = "refs/website/head"
	// maxAttempts is more than the ways in which a server may be asked.
	maxAttempts = 6
)

// Fetch fetches the needed part of a commit: HEAD, a reference by its full name, or a commit by its hash.
func (r *Repository) Fetch(ctx context.Context, ref string) (*Tree, error) {
	ctx, end, err := r.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	r.begun, r.most = 0, 0
	if ref != "HEAD" && !strings.HasPrefix(ref, "refs/") && !requests.IsCommit(ref) {
		return nil, failure(ReasonRefNotFound, "")
	}
	tree, err := r.fetch(ctx, ref)
	if isReason(err, ReasonRefNotFound) {
		err = r.diagnose(ctx, ref, err)
	}
	return tree, err
}

// fetch tries in the ways that the server has not refused so far.
func (r *Repository) fetch(ctx context.Context, ref string) (*Tree, error) {
	if err := r.checkFiles(); err != nil {
		return nil, err
	}
	if requests.IsCommit(ref) && len(ref) == 64 {
		r.format = "sha256"
	}
	var tree *Tree
	var err error
	done := map[Reason]bool{}
	for range maxAttempts {
		tree, err = r.attempt(ctx, ref)
		if err == nil {
			return tree, nil
		}
		again, cleanErr := r.adapt(ctx, err, done)
		if cleanErr != nil {
			return nil, errors.Join(err, cleanErr)
		}
		if !again {
			break
		}
	}
	return nil, err
}

// adapt cleans up after an attempt, and reports whether another attempt would differ. done are the reasons for which
// there was one already.
func (r *Repository) adapt(ctx context.Context, err error, done map[Reason]bool) (again bool, cleanErr error) {
	var typed *Error
	if !errors.As(err, &typed) || typed.Submodule != "" {
		return false, onDisk(r.removeLeftovers())
	}
	switch typed.Reason {
	case reasonNoShallow:
		again, r.full = !r.full, true
	case reasonNoWant:
		again, r.unfiltered = !r.unfiltered && r.Path != "", true
	case reasonFormat:
		again, r.format = true, r.otherFormat()
	case reasonDamaged:
		again, done[reasonDamaged] = !done[reasonDamaged], true
	case ReasonTooLarge, ReasonStorageFull:
		if err := r.shrink(ctx); err != nil {
			return false, err
		}
		// Fetches that failed before have left objects, which took the space.
		size, err := r.Size()
		again, done[ReasonTooLarge] = r.begun > size+compactSlack && !done[ReasonTooLarge], true
		return again, err
	case ReasonUnknown:
		// The repository on the disk may be the cause.
		if r.unknown++; r.unknown < 2 {
			return false, onDisk(r.removeLeftovers())
		}
	default:
		return false, onDisk(r.removeLeftovers())
	}
	return again, onDisk(r.remove())
}

// otherFormat returns the object format that the repository on the disk does not have.
func (r *Repository) otherFormat() string {
	if r.format == "sha256" {
		return "sha1"
	}
	return "sha256"
}

// shrink removes the objects of a commit that does not fit.
func (r *Repository) shrink(ctx context.Context) error {
	if err := r.removeLeftovers(); err != nil {
		return onDisk(err)
	}
	if len(r.needed) == 0 || r.full {
		return onDisk(r.remove())
	}
	err := r.compact(ctx, true)
	if err != nil && !errors.Is(err, context.Canceled) {
		// Otherwise no later fetch would have space.
		return errors.Join(err, onDisk(r.remove()))
	}
	return err
}

// attempt fetches the needed part of a commit.
func (r *Repository) attempt(ctx context.Context, ref string) (*Tree, error) {
	if err := r.prepare(ctx); err != nil {
		return nil, err
	}
	fetched, err := r.fetchCommit(ctx, ref)
	if err != nil {
		return nil, err
	}
	tree, err := r.fetchTree(ctx, fetched)
	if err != nil {
		return nil, err
	}
	r.unknown = 0
	if r.parent != nil {
		return tree, nil
	}
	needed := map[*Repository][]string{}
	tree.needs(needed)
	r.needed = []string{tree.Commit, tree.ID}
	return tree, r.keepModules(needed)
}

// fetchCommit fetches a commit with its directories, and its files unless only some of them are needed. It returns a
// name of the commit.
func (r *Repository) fetchCommit(ctx context.Context, ref string) (string, error) {
	args := append(slices.Clone(fetchArguments), "--update-shallow", "--force")
	refspecs := []string{"+" + ref + ":" + trackedRef}
	isHash := requests.IsCommit(ref)
	switch {
	case !r.full:
		args = append(args, fmt.Sprintf("--depth=%d", max(r.depth, 1)))
		if r.isPartial() {
			args = append(args, "--filter=blob:none")
		}
	case isHash:
		// Such a server sends commits of its references only.
		refspecs = []string{"+refs/heads/*:refs/website/heads/*", "+refs/tags/*:refs/website/tags/*"}
	}
	if err := r.fetchObjects(ctx, command{args: append(append(args, "origin"), refspecs...)}); err != nil {
		if isHash && isReason(err, reasonNoWant) {
			return "", wrap(ReasonCommitRefused, "", err)
		}
		return "", err
	}
	if isHash {
		return ref, nil
	}
	return trackedRef, nil
}

// isPartial reports whether only the files that are needed are fetched.
func (r *Repository) isPartial() bool {
	return (r.Path != "" || r.depth > 1) && !r.unfiltered && !r.full
}

// fetchArguments begin each fetch.
var fetchArguments = []string{
	"fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-gc", "--no-recurse-submodules",
}

// fetchBlobs fetches files in one request.
func (r *Repository) fetchBlobs(ctx context.Context, hashes []string) error {
	return r.fetchObjects(ctx, command{
		// In a negotiation, the client says that it has the commit, and the server then leaves out its files.
		args: slices.Concat([]string{"-c", "fetch.negotiationAlgorithm=noop"}, fetchArguments,
			[]string{"--filter=blob:none", "--stdin", "origin"}),
		stdin: strings.NewReader(strings.Join(hashes, "\n") + "\n"),
	})
}

// fetchObjects runs a fetch whose packs have to fit.
func (r *Repository) fetchObjects(ctx context.Context, c command) error {
	room, err := r.room()
	if err != nil {
		return err
	}
	c.protocols, c.room = r.protocols, room
	fetch := func(ctx context.Context) error {
		_, err := r.run(ctx, c)
		return err
	}
	if r.full && room > 0 {
		// Objects come one by one.
		return limitGrowth(ctx, room, r.path(repositoryDir), fetch)
	}
	return fetch(ctx)
}

// room returns how many bytes may be written, or 0 if there is no limit. The volume is measured once for a fetch and
// the checkout that follows: to measure all of it takes much longer than git's directory.
func (r *Repository) room() (int64, error) {
	root := r.root()
	if root.Room == nil {
		return 0, nil
	}
	size, err := root.Size()
	if err != nil {
		return 0, err
	}
	if root.most == 0 {
		room, err := root.Room()
		if err != nil {
			return 0, onDisk(err)
		}
		if room <= 0 {
			// A commit of any size is too large then.
			return 0, failure(ReasonStorageFull, "")
		}
		root.begun, root.most = size, size+room
	}
	if size >= root.most {
		return 0, failure(ReasonTooLarge, "")
	}
	return root.most - size, nil
}

// diagnose names why a reference was not found.
func (r *Repository) diagnose(ctx context.Context, ref string, cause error) error {
	found, err := r.list(ctx, func(string) bool { return false })
	switch {
	case isReason(err, ReasonEmpty, ReasonWebPage):
		return err
	case err == nil && ref == "HEAD":
		return wrap(ReasonHead, found.Head, cause)
	case requests.IsCommit(ref):
		return wrap(ReasonCommitRefused, "", cause)
	default:
		return cause
	}
}

// Worktree is the directory that Checkout fills.
func (r *Repository) Worktree() string { return r.path(worktreeDir) }

// Size is the size of git's directory in bytes.
func (r *Repository) Size() (int64, error) {
	var total int64
	for _, dir := range []string{repositoryDir, modulesDir} {
		used, err := disk.UsageOf(r.path(dir))
		if err != nil {
			return 0, onDisk(err)
		}
		total += used.Size
	}
	return total, nil
}
