package git

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"path"
	"slices"
	"strconv"
	"strings"
)

const (
	attributesFile = ".gitattributes"
	modulesFile    = ".gitmodules"
	// maxRounds limits the fetches for links that lead to links.
	maxRounds = 8
	// blockSize is the least that a file takes on a disk.
	blockSize = 4 << 10
)

// noAttributes is the hash of no attribute files.
var noAttributes = fmt.Sprintf("%x", sha256.Sum256(nil))

// listing is the content of a tree.
type listing struct {
	files int64
	// links and modules are entries by path.
	links, modules map[string]entry
	// modulesHash is the hash of .gitmodules, or empty.
	modulesHash string
	attributes  hash.Hash
}

// fetchTree fetches the files that are needed of a commit, whose directories are there.
func (r *Repository) fetchTree(ctx context.Context, name string) (*Tree, error) {
	objects, err := r.openObjects(ctx)
	if err != nil {
		return nil, err
	}
	defer objects.end()
	p, commit, err := newParts(objects, name)
	if err == nil {
		err = r.publish(p)
	}
	for round := 0; err == nil; round++ {
		if round == maxRounds {
			p.isWhole = true
		}
		var tree *Tree
		tree, err = r.fetchParts(ctx, p, commit)
		if err == nil && !p.grown {
			return tree, nil
		}
		err = p.unlessTooMuch(err)
	}
	return nil, err
}

// publish includes the published path.
func (r *Repository) publish(p *parts) error {
	if r.Path == "" {
		p.isWhole = true
		return nil
	}
	if r.Submodules != SubmodulesNone {
		if _, err := p.follow("", modulesFile); err != nil {
			return p.unlessTooMuch(err)
		}
	}
	found, err := p.follow("", r.Path)
	if err != nil {
		return p.unlessTooMuch(err)
	}
	for _, e := range p.entries {
		if e.mode == modeLink {
			// Whether the link leads to a directory is known once its text is.
			return nil
		}
	}
	if found.mode != modeTree && (found.mode != modeModule || r.Submodules == SubmodulesNone) {
		return failure(ReasonPathNotFound, "")
	}
	return nil
}

// unlessTooMuch has the whole commit fetched after errTooMuch.
func (p *parts) unlessTooMuch(err error) error {
	if errors.Is(err, errTooMuch) && !p.isWhole {
		p.includeAll()
		return nil
	}
	return err
}

// fetchParts fetches the files and submodules of the parts, and adds to the parts what their links lead to.
func (r *Repository) fetchParts(ctx context.Context, p *parts, commit string) (*Tree, error) {
	p.grown = false
	id, err := p.write(ctx, r)
	if err != nil {
		return nil, err
	}
	tree := &Tree{Commit: commit, ID: id}
	found, err := r.listFiles(ctx, id)
	if err != nil {
		return nil, err
	}
	tree.Files = found.files - int64(len(found.modules))
	tree.attributes = fmt.Sprintf("%x", found.attributes.Sum(nil))
	if tree.bytes, err = r.fetchMissing(ctx, r.idOf(r.base(tree.attributes)), id); err != nil {
		return nil, err
	}
	if !p.isWhole || r.parent != nil && r.root().Path != "" {
		if r.Path != "" {
			if _, err := p.follow("", r.Path); err != nil {
				return nil, err
			}
		}
		for name, link := range found.links {
			if _, followed := p.entries[name]; followed {
				continue // From where it was included.
			}
			_, target, err := p.objects.read(link.hash, maxLinkText)
			if err == nil && !strings.HasPrefix(string(target), "/") {
				_, err = p.follow(path.Dir(name), string(target))
			}
			if err != nil && !errors.Is(err, errNoObject) {
				return nil, err
			}
		}
	}
	if r.Submodules != SubmodulesNone {
		if err := r.fetchModules(ctx, tree, found); err != nil {
			return nil, err
		}
	}
	for _, m := range tree.modules {
		if m.tree.leadsOut && r.Path != "" {
			p.includeAll()
		}
	}
	tree.leadsOut = p.leadsOut
	return tree, r.checkSize(tree)
}

// checkSize refuses a commit that does not fit, before it is checked out.
func (r *Repository) checkSize(tree *Tree) error {
	room, err := r.room()
	switch {
	case err != nil:
		return err
	case room > 0 && tree.bytes > room:
		return failure(ReasonTooLarge, fmt.Sprintf("its files take %d MiB, %d MiB are free", tree.bytes>>20, room>>20))
	case r.MaxFiles > 0 && tree.Files > r.MaxFiles:
		return r.tooMany()
	}
	return nil
}

// hasAttributes reports whether the tree or a submodule of it has attribute files.
func (t *Tree) hasAttributes() bool {
	return t.attributes != noAttributes ||
		slices.ContainsFunc(t.modules, func(m module) bool { return m.tree.hasAttributes() })
}

func (r *Repository) tooMany() error {
	err := failure(ReasonTooLarge, fmt.Sprintf("it has more than %d files", r.MaxFiles))
	err.TooMany = true
	return err
}

// listFiles reads the content of a tree, up to the limit of files.
func (r *Repository) listFiles(ctx context.Context, tree string) (*listing, error) {
	found := &listing{links: map[string]entry{}, modules: map[string]entry{}, attributes: sha256.New()}
	return found, r.files(ctx, r.idOf(nil), tree, func(name string, e entry) error {
		switch {
		case e.mode == modeLink:
			found.links[name] = e
		case e.mode == modeModule:
			found.modules[name] = e
		case name == modulesFile:
			found.modulesHash = e.hash
		case path.Base(name) == attributesFile:
			fmt.Fprintf(found.attributes, "%s %s\x00", e.hash, name)
		}
		if found.files++; r.MaxFiles > 0 && found.files > r.MaxFiles {
			return r.tooMany()
		}
		return nil
	})
}

// files calls a function for each file, link and submodule of a tree or commit that another one does not have.
func (r *Repository) files(ctx context.Context, before, tree string, each func(name string, e entry) error) error {
	var about []string
	lines := &records{each: func(record string) error {
		if about == nil {
			if about = strings.Fields(record); len(about) != 5 {
				return fmt.Errorf("git lists a file as %q", record)
			}
			return nil
		}
		status, e := about[4], entry{about[1], about[3]}
		if about = nil; status == "D" {
			return nil
		}
		return each(record, e)
	}}
	_, err := r.run(ctx, command{args: []string{"diff-tree", "-r", "-z", before, tree}, stdout: lines})
	return err
}

// idOf returns the hash of a tree, and without one that of the empty tree, which git knows.
func (r *Repository) idOf(tree *Tree) string {
	switch {
	case tree != nil:
		return tree.ID
	case r.format == "sha256":
		return "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321"
	default:
		return "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
	}
}

// fetchMissing fetches the files that a tree has and another one does not, in one request, and returns what all of
// these take on a disk.
func (r *Repository) fetchMissing(ctx context.Context, before, tree string) (bytes int64, err error) {
	var changed []string
	if err := r.files(ctx, before, tree, func(_ string, e entry) error {
		if e.mode != modeModule {
			changed = append(changed, e.hash)
		}
		return nil
	}); err != nil {
		return 0, err
	}
	bytes, missing, err := r.sizes(ctx, changed)
	if err != nil || len(missing) == 0 {
		return bytes, err
	}
	if !r.isPartial() {
		return 0, failure(reasonDamaged, "files of the commit are missing")
	}
	if err := r.fetchBlobs(ctx, missing); err != nil {
		return 0, err
	}
	more, missing, err := r.sizes(ctx, missing)
	if err == nil && len(missing) > 0 {
		err = failure(reasonNoWant, "the server has not sent all files")
	}
	return bytes + more, err
}

// sizes returns what files take on a disk, and those that are not there.
func (r *Repository) sizes(ctx context.Context, hashes []string) (bytes int64, missing []string, err error) {
	if len(hashes) == 0 {
		return 0, nil, nil
	}
	asked := map[string]bool{}
	lines := &records{separator: '\n', each: func(record string) error {
		hash, text, _ := strings.Cut(record, " ")
		size, err := strconv.ParseInt(text, 10, 64)
		switch {
		case err == nil:
			bytes += (size + blockSize - 1) / blockSize * blockSize
		case !asked[hash]:
			asked[hash] = true
			missing = append(missing, hash)
		}
		return nil
	}}
	_, err = r.run(ctx, command{
		args:  []string{"cat-file", "--batch-check=%(objectname) %(objectsize)", "--buffer"},
		stdin: strings.NewReader(strings.Join(hashes, "\n") + "\n"), stdout: lines,
	})
	return bytes, missing, err
}
