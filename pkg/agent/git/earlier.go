package git

import (
	"context"
	"maps"
	"os"
	"path"
	"strings"
)

const (
	// earlierDir has the repository of Earlier, which leaves the one that is followed as it is.
	earlierDir = "earlier"
	// earlierShare is the part of the free space that Earlier may use.
	earlierShare = 16
)

// Earlier checks out the matching files of up to count ancestors of the commit of a tree, by first parents. Files of
// the tree are left out. It calls use with their directory, unless there are none. A server without shallow fetches,
// or that sends no file by its hash, is not asked.
func (r *Repository) Earlier(ctx context.Context, tree *Tree, count int, match func(name string) bool,
	use func(dir string) error) error {
	if r.full || r.unfiltered {
		return nil
	}
	ctx, end, err := r.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	options := r.Options
	options.Dir = r.path(earlierDir)
	if r.Room != nil {
		options.Room = func() (int64, error) {
			room, err := r.Room()
			return room / earlierShare, err
		}
	}
	earlier, err := Open(options)
	if err != nil {
		return err
	}
	earlier.format, earlier.depth = r.format, count+1
	defer func() { _ = os.RemoveAll(earlier.Dir) }()
	if err := earlier.prepare(ctx); err != nil {
		return err
	}
	if _, err := earlier.fetchCommit(ctx, tree.Commit); err != nil {
		return err
	}
	found, err := earlier.removed(ctx, tree.Commit, match)
	if err != nil || len(found.entries) == 0 {
		return err
	}
	if err := earlier.checkOutParts(ctx, found, tree.attributes); err != nil {
		return err
	}
	return use(earlier.Worktree())
}

// removed returns the files that match and that commits before one had, in their last version, with the attribute files
// of that one.
func (r *Repository) removed(ctx context.Context, commit string, match func(name string) bool) (*parts, error) {
	output, err := r.run(ctx, command{args: []string{"rev-list", "--first-parent", commit, "--"}})
	if err != nil {
		return nil, err
	}
	found, known := &parts{entries: map[string]entry{}}, map[string]bool{}
	attributes := map[string]entry{}
	for i, commit := range strings.Fields(output) {
		if err := r.files(ctx, r.idOf(nil), commit, func(name string, e entry) error {
			isMatch := e.isFile() && match(path.Base(name)) && (r.Path == "" || strings.HasPrefix(name, r.Path+"/"))
			switch {
			case i == 0 && e.isFile() && path.Base(name) == attributesFile:
				attributes[name] = e
			case isMatch && i > 0 && !known[name]:
				found.entries[name] = e
			}
			known[name] = known[name] || isMatch
			if r.MaxFiles > 0 && int64(len(known)) > r.MaxFiles {
				return r.tooMany()
			}
			return nil
		}); err != nil {
			return nil, err
		}
	}
	if len(found.entries) > 0 {
		maps.Copy(found.entries, attributes)
	}
	return found, nil
}

// checkOutParts fetches files and checks them out.
func (r *Repository) checkOutParts(ctx context.Context, p *parts, attributes string) error {
	id, err := p.write(ctx, r)
	if err == nil && p.isWhole {
		err = errTooMuch
	}
	if err != nil {
		return err
	}
	tree := &Tree{ID: id, attributes: attributes}
	if tree.bytes, err = r.fetchMissing(ctx, r.idOf(nil), id); err != nil {
		return err
	}
	if err := r.checkSize(tree); err != nil {
		return err
	}
	return r.fill(ctx, tree, nil)
}
