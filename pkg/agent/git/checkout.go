package git

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// Checkout has the worktree contain the tree that was fetched last. Files that are in it already stay as they are,
// unless attributes have git take them for changed; git replaces others, it does not write to them. After a failure,
// the next checkout begins with an empty worktree.
func (r *Repository) Checkout(ctx context.Context, tree *Tree) error {
	ctx, end, err := r.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	canUpdate := r.base(tree.attributes, len(tree.modules) > 0) != r.emptyTree()
	r.checkedOut = nil
	worktree := r.path(worktreeDir)
	if canUpdate {
		err = r.write(ctx, tree, worktree)
	}
	if !canUpdate || isReason(err, reasonDamaged) {
		if err := errors.Join(emptyDirectory(worktree), ignoreMissing(os.Remove(r.path(indexFile)))); err != nil {
			return onDisk(err)
		}
		err = r.write(ctx, tree, worktree)
	}
	if err != nil {
		return r.replace(err)
	}
	if !isInside(worktree, r.Path) {
		return failure(ReasonPathNotFound, "")
	}
	r.checkedOut = tree
	return nil
}

// write fills a directory.
func (r *Repository) write(ctx context.Context, tree *Tree, dir string) error {
	room, err := r.room()
	if err != nil {
		return err
	}
	if err := ignoreMissing(os.Remove(r.path(indexFile + ".lock"))); err != nil {
		return onDisk(err)
	}
	if _, err := r.run(ctx, command{
		args: []string{"read-tree", "--reset", "-u", tree.ID},
		env:  []string{"GIT_WORK_TREE=" + dir, "GIT_INDEX_FILE=" + r.path(indexFile)},
		room: room,
	}); err != nil {
		return err
	}
	if err := r.setDates(ctx, tree, dir); err != nil {
		return err
	}
	for _, m := range tree.modules {
		// A hostile commit can have a link in the place of a directory that the submodule is in.
		if !isPlain(dir, m.path) {
			return submoduleFailure(m.path, failure(ReasonCommitInvalid, ""))
		}
		if err := ignoreMissing(os.Remove(m.repository.path(indexFile))); err != nil {
			return onDisk(err)
		}
		if err := m.repository.write(ctx, m.tree, filepath.Join(dir, m.path)); err != nil {
			return submoduleFailure(m.path, err)
		}
	}
	return nil
}

// isPlain reports whether a directory can be reached without links.
func isPlain(root, path string) bool {
	for _, element := range strings.Split(path, "/") {
		root = filepath.Join(root, element)
		if info, err := os.Lstat(root); err != nil || !info.IsDir() {
			return false
		}
	}
	return true
}

// isInside reports whether a path leads to a directory below another one.
func isInside(root, path string) bool {
	base, err := filepath.EvalSymlinks(root)
	if err != nil {
		return false
	}
	dir, err := filepath.EvalSymlinks(filepath.Join(root, path))
	if err != nil {
		return false
	}
	info, err := os.Stat(dir)
	return err == nil && info.IsDir() && (dir == base || strings.HasPrefix(dir, base+string(filepath.Separator)))
}
