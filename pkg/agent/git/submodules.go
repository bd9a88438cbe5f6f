package git

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

// maxDepth limits how many submodules are within each other.
const maxDepth = 10

// module is a submodule of a commit.
type module struct {
	path       string
	repository *Repository
	tree       *Tree
}

// declaration is a section of .gitmodules.
type declaration struct{ path, url, update string }

// fetchModules fetches the submodules of a tree. Each address has a repository of its own, and git's own list of
// submodules is not used, so an earlier .gitmodules has no effect.
func (r *Repository) fetchModules(ctx context.Context, tree *Tree, found *listing) error {
	declared := map[string]declaration{}
	if len(found.modules) > 0 {
		var err error
		if declared, err = r.declarations(ctx, found.modulesHash); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(found.modules)) {
		declaration := declared[name]
		if declaration.update == "none" {
			continue
		}
		repository, err := r.module(declaration.url)
		if err != nil {
			return submoduleFailure(name, err)
		}
		if err := os.MkdirAll(repository.Dir, 0o755); err != nil {
			return onDisk(err)
		}
		fetched, err := repository.fetch(ctx, found.modules[name].hash)
		if err != nil {
			return submoduleFailure(name, err)
		}
		tree.modules = append(tree.modules, module{name, repository, fetched})
		tree.Files, tree.bytes = tree.Files+fetched.Files, tree.bytes+fetched.bytes
		tree.leadsOut = tree.leadsOut || fetched.leadsOut
	}
	return nil
}

// needs adds the commits that a tree needs, by the repository of a submodule. One can be a submodule at several
// commits.
func (t *Tree) needs(needed map[*Repository][]string) {
	for _, m := range t.modules {
		needed[m.repository] = append(needed[m.repository], m.tree.Commit, m.tree.ID)
		m.tree.needs(needed)
	}
}

// declarations reads a .gitmodules, by path.
func (r *Repository) declarations(ctx context.Context, hash string) (map[string]declaration, error) {
	byName, byPath := map[string]declaration{}, map[string]declaration{}
	if hash == "" {
		return byPath, nil
	}
	lines := &records{each: func(record string) error {
		key, value, _ := strings.Cut(record, "\n")
		key, found := strings.CutPrefix(key, "submodule.")
		at := strings.LastIndexByte(key, '.')
		if !found || at < 0 {
			return nil
		}
		name := key[:at]
		d := byName[name]
		switch key[at+1:] {
		case "path":
			d.path = value
		case "url":
			d.url = value
		case "update":
			d.update = value
		}
		byName[name] = d
		return nil
	}}
	args := []string{"config", "--blob", hash, "--no-includes", "--null", "--list"}
	if _, err := r.run(ctx, command{args: args, stdout: lines}); isReason(err, reasonDamaged) {
		return nil, submoduleFailure(modulesFile, wrap(ReasonUnknown, err.Error(), err))
	} else if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		byPath[byName[name].path] = byName[name]
	}
	return byPath, nil
}

// module returns the repository of a submodule.
func (r *Repository) module(address string) (*Repository, error) {
	if address == "" {
		return nil, failure(ReasonUnknown, "it has no url in .gitmodules")
	}
	depth := 1
	for parent := r.parent; parent != nil; parent = parent.parent {
		depth++
	}
	if depth > maxDepth {
		return nil, failure(ReasonUnknown, fmt.Sprintf("more than %d submodules are within each other", maxDepth))
	}
	address, err := resolveURL(r.URL, address)
	if err != nil {
		return nil, wrap(ReasonUnknown, err.Error(), err)
	}
	key := fmt.Sprintf("%x", sha256.Sum256([]byte(address)))[:32]
	if known := r.modules[key]; known != nil {
		return known, nil
	}
	options := r.Options
	options.Dir, options.URL, options.Path = r.path(modulesDir, key), address, ""
	if r.Submodules == SubmodulesShallow {
		options.Submodules = SubmodulesNone
	}
	opened, err := Open(options)
	if err != nil {
		return nil, err
	}
	opened.parent, opened.format = r, r.format
	r.modules[key] = opened
	return opened, nil
}

// keepModules keeps the needed commits of the repositories of submodules, and removes the others.
func (r *Repository) keepModules(needed map[*Repository][]string) error {
	maps.DeleteFunc(r.modules, func(_ string, m *Repository) bool { return needed[m] == nil })
	entries, err := os.ReadDir(r.path(modulesDir))
	errs := []error{ignoreMissing(err)}
	for _, entry := range entries {
		if m := r.modules[entry.Name()]; m != nil {
			m.needed = needed[m]
			errs = append(errs, m.keepModules(needed))
		} else {
			errs = append(errs, os.RemoveAll(r.path(modulesDir, entry.Name())))
		}
	}
	return onDisk(errors.Join(errs...))
}

// submoduleFailure adds the path of a submodule to its failure, unless that is about this pod.
func submoduleFailure(path string, err error) error {
	var typed *Error
	if !errors.As(err, &typed) || isLocal(typed.Reason) && typed.Reason != ReasonCommitInvalid {
		return err
	}
	if typed.Submodule != "" {
		path += "/" + typed.Submodule
	}
	cause := typed.Reason
	if typed.Submodule != "" {
		cause = typed.Cause
	}
	return &Error{Reason: ReasonSubmodule, Text: typed.Text, Submodule: path, Cause: cause, err: err}
}
