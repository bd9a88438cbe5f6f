package git

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Checkout has the worktree contain the tree that was fetched last. Files that are in it already stay as they are,
// unless attributes may have them written in another way. After a failure, the next checkout begins with an empty
// worktree.
func (r *Repository) Checkout(ctx context.Context, tree *Tree) error {
	ctx, end, err := r.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	base := r.base(tree.attributes)
	r.checkedOut = nil
	err = r.fill(ctx, tree, base)
	if base != nil && isReason(err, reasonDamaged) {
		err = r.fill(ctx, tree, nil)
	}
	if err != nil {
		return r.replace(err)
	}
	r.checkedOut = tree
	return nil
}

// base returns the tree that the worktree has, if it can become another one with these attributes, or nil.
func (r *Repository) base(attributes string) *Tree {
	if r.checkedOut != nil && r.checkedOut.attributes == attributes {
		return r.checkedOut
	}
	return nil
}

// fill has the worktree contain a tree. Attributes can have git write files larger than they are in the repository, and
// the limit of each file does not limit all of them.
func (r *Repository) fill(ctx context.Context, tree, base *Tree) error {
	room, err := r.room()
	if err != nil {
		return err
	}
	write := func(ctx context.Context) error { return r.write(ctx, tree, base, r.Worktree(), room) }
	if room > 0 && tree.hasAttributes() {
		return limitGrowth(ctx, room, r.Worktree(), write)
	}
	return write(ctx)
}

// write has a directory contain a tree. Files of the base, which it contains by now, stay if the tree has them as well;
// git replaces others, it does not write to them. Without a base the directory is emptied. No file may be larger than
// the room.
func (r *Repository) write(ctx context.Context, tree, base *Tree, dir string, room int64) error {
	if err := r.clear(ctx, tree, base, dir); err != nil {
		return err
	}
	// git is not asked which files have changed on the disk: it cannot tell for those that it would not store as it has
	// written them, such as some with CRLF.
	from, env := r.idOf(base), []string{"GIT_WORK_TREE=" + dir, "GIT_INDEX_FILE=" + r.path(indexFile)}
	steps := [][]string{{"read-tree", "--reset", "-u", from, tree.ID}}
	if base != nil && r.parent != nil {
		// A repository can be a submodule in several places, and the index is of the last one.
		steps = [][]string{{"read-tree", from}, steps[0]}
	}
	for _, args := range steps {
		if _, err := r.run(ctx, command{args: args, env: env, room: room}); err != nil {
			return err
		}
	}
	if err := r.setDates(ctx, from, tree, dir); err != nil {
		return err
	}
	for _, m := range tree.modules {
		// A hostile commit can have a link in the place of a directory that the submodule is in.
		if !isPlain(dir, m.path) {
			return submoduleFailure(m.path, failure(ReasonCommitInvalid, ""))
		}
		if err := m.repository.write(ctx, m.tree, base.baseOf(m), filepath.Join(dir, m.path), room); err != nil {
			return submoduleFailure(m.path, err)
		}
	}
	return nil
}

// clear removes what is in the way of a tree: all without a base, else submodules that it does not have.
func (r *Repository) clear(ctx context.Context, tree, base *Tree, dir string) error {
	errs := []error{os.RemoveAll(r.path(indexFile + ".lock"))}
	if base == nil {
		errs = append(errs, os.RemoveAll(r.path(indexFile)), emptyDirectory(dir))
		return onDisk(errors.Join(errs...))
	}
	if err := r.checkDates(ctx, base, dir); err != nil {
		return err
	}
	for _, m := range base.modules {
		if tree.baseOf(m) == nil && isPlain(dir, m.path) {
			errs = append(errs, emptyDirectory(filepath.Join(dir, m.path)))
		}
	}
	return onDisk(errors.Join(errs...))
}

// baseOf returns the tree of a submodule from which another one can be made, or nil.
func (t *Tree) baseOf(other module) *Tree {
	if t == nil {
		return nil
	}
	at := slices.IndexFunc(t.modules, func(m module) bool {
		return m.path == other.path && m.repository == other.repository && m.tree.attributes == other.tree.attributes
	})
	if at < 0 {
		return nil
	}
	return t.modules[at].tree
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
