package git

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

const (
	// maxLinks is the longest chain of symbolic links, as in Linux.
	maxLinks = 40
	// maxLinkText is more than a symbolic link can have.
	maxLinkText = 4096
	// maxLookups, maxCached and maxParts limit the time and memory for finding the parts of a commit. Beyond them, the
	// whole commit is fetched.
	maxLookups, maxCached, maxParts = 1 << 20, 200_000, 64
	// maxTree limits the bytes of a directory.
	maxTree = 32 << 20
)

// parts are the needed files and directories of a commit: the published path, attribute files above it, and the targets
// of symbolic links.
type parts struct {
	objects *objects
	root    string
	// entries has them by path. None is in another one.
	entries map[string]entry
	isWhole bool
	// grown is true if something was added since it was set to false.
	grown bool
	// leadsOut is true if a link leads out of the repository.
	leadsOut bool

	trees           map[string]map[string]entry
	cached, lookups int
}

// errTooMuch has the whole commit fetched.
var errTooMuch = errors.New("finding the parts of the commit takes too much")

// newParts has no parts yet of a commit, whose hash it returns as well.
func newParts(objects *objects, name string) (p *parts, commit string, err error) {
	commit, _, err = objects.read(name+"^{commit}", 0)
	p = &parts{objects: objects, entries: map[string]entry{}, trees: map[string]map[string]entry{}}
	if err == nil {
		p.root, _, err = objects.read(commit+"^{tree}", 0)
	}
	if errors.Is(err, errNoObject) {
		// A tag can name a file as well.
		err = wrap(ReasonCommitRefused, "", err)
	}
	return p, commit, err
}

// tree returns the entries of a directory.
func (p *parts) tree(hash string) (map[string]entry, error) {
	if entries, known := p.trees[hash]; known {
		return entries, nil
	}
	_, content, err := p.objects.read(hash, maxTree)
	if errors.Is(err, errNoObject) {
		return nil, wrap(reasonDamaged, "", err)
	}
	if err != nil {
		return nil, err
	}
	entries := parseTree(content, len(p.root)/2)
	if p.cached += len(entries); content == nil || p.cached > maxCached {
		return nil, errTooMuch
	}
	p.trees[hash] = entries
	return entries, nil
}

// lookup returns the entry of a path without links, with an empty mode if there is none.
func (p *parts) lookup(name string) (entry, error) {
	at := entry{modeTree, p.root}
	for element := range strings.SplitSeq(name, "/") {
		if p.lookups++; p.lookups > maxLookups {
			return entry{}, errTooMuch
		}
		if at.mode != modeTree {
			return entry{}, nil
		}
		entries, err := p.tree(at.hash)
		if err != nil {
			return entry{}, err
		}
		at = entries[element]
	}
	return at, nil
}

// follow includes the target of a path from a directory, and all links on the way. It returns the entry, with an empty
// mode if there is none, or it is not known yet.
func (p *parts) follow(from, rest string) (entry, error) {
	var done []string
	if from != "" && from != "." {
		done = strings.Split(from, "/")
	}
	at := entry{modeTree, p.root}
	for links := 0; rest != ""; {
		var name string
		name, rest, _ = strings.Cut(rest, "/")
		switch name {
		case "", ".":
			continue
		case "..":
			if len(done) == 0 {
				p.leadsOut = true
				return entry{}, nil
			}
			done = done[:len(done)-1]
			continue
		}
		whole := strings.Join(append(slices.Clone(done), name), "/")
		var err error
		if at, err = p.lookup(whole); err != nil {
			return entry{}, err
		}
		switch at.mode {
		case "":
			return entry{}, nil
		case modeTree:
			done = append(done, name)
		case modeLink:
			if err := p.include(whole, at); err != nil {
				return entry{}, err
			}
			_, target, err := p.objects.read(at.hash, maxLinkText)
			if links++; errors.Is(err, errNoObject) || links > maxLinks || strings.HasPrefix(string(target), "/") {
				return entry{}, nil
			}
			if err != nil {
				return entry{}, err
			}
			rest = string(target) + "/" + rest
		default:
			// A submodule is included whole.
			if at.mode != modeModule && rest != "" {
				return entry{}, nil
			}
			return at, p.include(whole, at)
		}
	}
	if len(done) == 0 {
		p.includeAll()
		return entry{modeTree, p.root}, nil
	}
	whole := strings.Join(done, "/")
	at, err := p.lookup(whole)
	if err != nil {
		return entry{}, err
	}
	return at, p.include(whole, at)
}

// include adds an entry, and the attribute files above it.
func (p *parts) include(name string, e entry) error {
	if p.isWhole || p.has(name) {
		return nil
	}
	maps.DeleteFunc(p.entries, func(other string, _ entry) bool { return strings.HasPrefix(other, name+"/") })
	p.entries[name], p.grown = e, true
	for dir := path.Dir(name); ; dir = path.Dir(dir) {
		file := path.Join(dir, attributesFile)
		attributes, err := p.lookup(file)
		if err != nil {
			return err
		}
		if attributes.isFile() && !p.has(file) {
			p.entries[file] = attributes
		}
		if dir == "." {
			break
		}
	}
	return nil
}

// includeAll includes the whole commit.
func (p *parts) includeAll() { p.isWhole, p.grown = true, p.grown || !p.isWhole }

// has reports whether an entry is included, by itself or with a directory that it is in.
func (p *parts) has(name string) bool {
	for ; name != "."; name = path.Dir(name) {
		if _, found := p.entries[name]; found {
			return true
		}
	}
	return false
}

// write returns the tree with these parts only, which it makes.
func (p *parts) write(ctx context.Context, r *Repository) (string, error) {
	if p.isWhole {
		return p.root, nil
	}
	directories := map[string][]string{".": nil}
	add := func(name string, e entry) {
		kind := "blob"
		switch e.mode {
		case modeTree:
			kind = "tree"
		case modeModule:
			kind = "commit"
		}
		dir, line := path.Dir(name), fmt.Sprintf("%s %s %s\t%s\x00", e.mode, kind, e.hash, path.Base(name))
		directories[dir] = append(directories[dir], line)
	}
	for name, e := range p.entries {
		add(name, e)
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			if _, found := directories[dir]; !found {
				directories[dir] = nil
			}
		}
	}
	if len(directories) > maxParts {
		p.isWhole = true
		return p.root, nil
	}
	// The deepest first.
	names := slices.SortedFunc(maps.Keys(directories), func(a, b string) int {
		return depth(b) - depth(a)
	})
	var hash string
	for _, name := range names {
		slices.Sort(directories[name])
		var err error
		lines := strings.NewReader(strings.Join(directories[name], ""))
		hash, err = r.run(ctx, command{args: []string{"mktree", "-z", "--missing"}, stdin: lines})
		if err != nil {
			return "", err
		}
		if name != "." {
			add(name, entry{modeTree, hash})
		}
	}
	return hash, nil
}

func depth(name string) int {
	if name == "." {
		return 0
	}
	return 1 + strings.Count(name, "/")
}
