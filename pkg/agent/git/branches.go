package git

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
)

const (
	headPrefix = "refs/heads/"
	// maxBranches limits the returned branches, maxListed the bytes of a server's list that are read.
	maxBranches, maxListed = 100, 256 << 20
)

// Branches are branches of the repository.
type Branches struct {
	// List has them in the order of their names, at most maxBranches. More is true if there are others behind them.
	List []Branch
	More bool
	// Head is the branch that the remote's HEAD names.
	Head string

	any bool
}

// Branch is a branch of the repository.
type Branch struct {
	Name   string `json:"name"`
	Commit string `json:"commit"`
}

// Branches lists the branches that match, and the branch of HEAD. A repository without branches is an error: a server
// that has lost it must not look like one whose branches are gone.
func (r *Repository) Branches(ctx context.Context, match func(branch string) bool) (Branches, error) {
	ctx, end, err := r.begin(ctx)
	if err != nil {
		return Branches{}, err
	}
	defer end()
	return r.list(ctx, match)
}

// list lists references of the server.
func (r *Repository) list(ctx context.Context, match func(branch string) bool) (Branches, error) {
	if err := errors.Join(r.checkFiles(), onDisk(emptyDirectory(r.path(homeDir)))); err != nil {
		return Branches{}, err
	}
	var found Branches
	var page bool
	read := 0
	lines := &records{separator: '\n', each: func(line string) error {
		if read += len(line); read > maxListed {
			return failure(ReasonUnknown, "the list of references does not end")
		}
		found.add(line, match)
		return nil
	}}
	_, err := r.run(ctx, command{
		args:   []string{"ls-remote", "--symref", "--", r.URL, "HEAD", headPrefix + "*"},
		stdout: lines, protocols: r.protocols, page: &page,
		// The repository on the disk may be damaged.
		env: []string{"GIT_DIR=" + r.path(homeDir, "none")},
	})
	switch {
	case err != nil:
		return Branches{}, err
	case !found.any && page:
		// git takes a page of one line for a list without references.
		return Branches{}, failure(ReasonWebPage, "")
	case !found.any:
		return Branches{}, failure(ReasonEmpty, "")
	}
	return found, nil
}

// add reads a line: a hash and a reference, or the reference that HEAD is.
func (b *Branches) add(line string, match func(branch string) bool) {
	value, ref, _ := strings.Cut(line, "\t")
	if target, isSymbolic := strings.CutPrefix(value, "ref: "); isSymbolic {
		if branch, ok := strings.CutPrefix(target, headPrefix); ok && ref == "HEAD" {
			b.Head = branch
		}
		return
	}
	branch, isBranch := strings.CutPrefix(ref, headPrefix)
	b.any = b.any || isBranch
	if !isBranch || !match(branch) {
		return
	}
	at, present := slices.BinarySearchFunc(b.List, branch, func(known Branch, name string) int {
		return cmp.Compare(known.Name, name)
	})
	if present {
		return
	}
	b.List = slices.Insert(b.List, at, Branch{Name: branch, Commit: value})
	if len(b.List) > maxBranches {
		b.List, b.More = b.List[:maxBranches], true
	}
}
