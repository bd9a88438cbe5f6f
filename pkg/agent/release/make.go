package release

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/kubesites/website-apiserver/pkg/agent/requests"
)

// ErrPathNotFound is a commit without the published directory.
var ErrPathNotFound = errors.New("the commit has no such directory")

// Made says what a release consists of.
type Made struct {
	// Files is the number of files.
	Files int
	// RefusedLinks is the number of symbolic links that are not served, because they
	// lead out of the repository, to something hidden, to themselves, or nowhere.
	RefusedLinks int
	// Unknown is why the message of the commit is not known, or nil.
	Unknown error
}

// Make makes the release of a commit from its worktree, with hard links, unless there is
// one. repository is the directory of the repository that the worktree belongs to: all
// files of the commit must be in the release, since git-sync can remove a worktree at any
// time, and git can be killed while it fills one.
func (s *Store) Make(ctx context.Context, repository, worktree, commit string) (Made, error) {
	if !requests.IsCommit(commit) {
		return Made{}, fmt.Errorf("%q is not a full commit hash", commit)
	}
	temporary := s.path(releasesDir, unfinished+commit)
	if err := os.RemoveAll(temporary); err != nil {
		return Made{}, fmt.Errorf("removing an unfinished release: %w", err)
	}
	t := newTree(worktree, temporary)
	t.maxFiles = s.MaxFiles()
	err := t.copy(ctx)
	if err == nil {
		err = s.verify(ctx, t, repository, commit)
	}
	if err == nil && !s.hasPublished(temporary) {
		err = fmt.Errorf("publishing directory %q: %w", s.Published, ErrPathNotFound)
	}
	if err == nil {
		// Otherwise, after a power failure, the current release could be one of empty files:
		// file systems write names before content.
		err = syncFileSystem(temporary)
	}
	if err == nil {
		// A release without it is served all the same.
		t.made.Unknown = s.keepAbout(ctx, repository, commit)
	}
	if err == nil && s.Has(commit) {
		err = s.remove(s.Path(commit))
	}
	if err == nil {
		err = os.Rename(temporary, s.Path(commit))
	}
	if err != nil {
		return Made{}, fmt.Errorf("making the release of commit %s: %w", commit, errors.Join(err, os.RemoveAll(temporary)))
	}
	return t.made, nil
}

// tree is a worktree that is being made a release.
type tree struct {
	source, target string
	made           Made
	// files is the number of files and directories of the worktree, and maxFiles its limit, or 0 if there is none.
	files, maxFiles int64
	// viaLinks is the number of files and directories that are there because of a link.
	viaLinks int
	// links are those of the worktree, and nowhere is where they lead to if nothing is there.
	links, nowhere sets.Set[string]
	// remembered and lookups count towards maxRemembered and maxLookups.
	remembered, lookups int
}

func newTree(source, target string) *tree {
	return &tree{source: source, target: target, links: sets.New[string](), nowhere: sets.New[string]()}
}

func (t *tree) copy(ctx context.Context) error {
	info, err := os.Lstat(t.source)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is not a directory", t.source)
	}
	if err := os.Mkdir(t.target, 0o755); err != nil {
		return err
	}
	return t.directory(ctx, "", "", nil)
}

// directory links the content of a directory of the worktree into a directory of the
// release. The two differ below a symbolic link; active are then the directories that are
// being copied because of links.
func (t *tree) directory(ctx context.Context, from, to string, active []string) error {
	entries, err := os.ReadDir(filepath.Join(t.source, from))
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		// Of the repository and of each submodule.
		if entry.Name() == ".git" {
			continue
		}
		if len(active) > 0 && !t.mayAdd() {
			t.made.RefusedLinks++
			return nil
		}
		if len(active) == 0 {
			t.files++
		}
		if t.maxFiles > 0 && t.files > t.maxFiles {
			return fmt.Errorf("%w: it has more than %d files and directories", ErrTooLarge, t.maxFiles)
		}
		source, target := filepath.Join(from, entry.Name()), filepath.Join(to, entry.Name())
		switch entry.Type() {
		case 0:
			err = t.file(source, target)
		case fs.ModeDir:
			if err = os.Mkdir(filepath.Join(t.target, target), 0o755); err == nil {
				err = t.directory(ctx, source, target, active)
			}
		case fs.ModeSymlink:
			if err = t.remember(t.links, source); err == nil {
				err = t.link(ctx, source, target, active)
			}
		}
		if viaLink := len(active) > 0 || entry.Type() == fs.ModeSymlink; viaLink && errors.Is(err, syscall.ENAMETOOLONG) {
			// No file of the repository has such a name, but what a link says may be any text.
			t.made.RefusedLinks++
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// file links a file. git never writes to a file that it has checked out: it removes it and
// creates another.
func (t *tree) file(source, target string) error {
	source, target = filepath.Join(t.source, source), filepath.Join(t.target, target)
	err := os.Link(source, target)
	if errors.Is(err, syscall.EMLINK) {
		err = copyFile(source, target)
	}
	t.made.Files++
	return err
}

func copyFile(source, target string) error {
	in, err := os.Open(source)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	out, err := os.OpenFile(target, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// verify makes sure that every file of a commit is in the release.
func (s *Store) verify(ctx context.Context, t *tree, repository, commit string) error {
	var missing error
	err := s.readGit(ctx, repository, func(output io.Reader) { missing = t.missing(output) }, "ls-tree", "-r", "-z", "--full-tree", commit)
	if err != nil {
		return fmt.Errorf("listing the files of the commit: %w", err)
	}
	return missing
}

// missing returns an error if a file that git lists is not in the release, or a link or that to which
// one leads was not in the worktree.
func (t *tree) missing(listed io.Reader) error {
	entries := bufio.NewReader(listed)
	for before := ""; ; {
		entry, err := entries.ReadString(0)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("listing the files of the commit: %w", err)
		}
		attributes, name, _ := strings.Cut(strings.TrimSuffix(entry, "\x00"), "\t")
		lacking := false
		switch mode, _, _ := strings.Cut(attributes, " "); {
		case strings.HasPrefix(mode, "100"):
			info, err := os.Lstat(filepath.Join(t.target, name))
			lacking = err != nil || !info.Mode().IsRegular()
		case mode == "120000":
			lacking = !t.links.Has(name)
		}
		// Links may be refused, and submodules be off. Directories that the entry before is in as well were checked for that.
		common := commonPrefix(before, name)
		for path := name; !lacking && len(t.nowhere) > 0 && len(path) >= common && path != ""; path = path[:max(0, strings.LastIndexByte(path, '/'))] {
			lacking = t.nowhere.Has(path)
		}
		if lacking {
			return fmt.Errorf("the worktree is incomplete: it lacks %q", name)
		}
		before = name
	}
}

// commonPrefix returns how many bytes two texts begin with that are the same.
func commonPrefix(a, b string) (length int) {
	for length < min(len(a), len(b)) && a[length] == b[length] {
		length++
	}
	return length
}
