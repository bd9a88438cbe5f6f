package release

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/kubesites/website-apiserver/pkg/agent/requests"
)

// ErrPathNotFound is a commit without the published directory.
var ErrPathNotFound = errors.New("the commit has no such directory")

// Source is the checked out commit of a release.
type Source struct {
	// Worktree is the directory that the commit is checked out in.
	Worktree string
	Commit   string
	// Files is the number of files and symbolic links that were checked out.
	Files int64
	About About
}

// Make makes a release of a worktree, with hard links. The current one stays as it is; another one is replaced.
func (s *Store) Make(ctx context.Context, source Source) error {
	commit := source.Commit
	if !requests.IsCommit(commit) {
		return fmt.Errorf("%q is not a full commit hash", commit)
	}
	if commit == s.Current() {
		return nil
	}
	// Somebody may have removed the directories.
	if err := s.makeDirectories(); err != nil {
		return err
	}
	temporary := s.path(releasesDir, unfinished+commit)
	if err := os.RemoveAll(temporary); err != nil {
		return fmt.Errorf("removing an unfinished release: %w", err)
	}
	t := &tree{source: source.Worktree, target: temporary, published: s.Published, maxFiles: s.MaxFiles()}
	err := t.copy(ctx)
	if err == nil && t.found < source.Files {
		// Something else than git has removed some.
		err = fmt.Errorf("the worktree has %d of %d files", t.found, source.Files)
	}
	if err == nil && !s.hasPublished(temporary) {
		err = fmt.Errorf("publishing directory %q: %w", s.Published, ErrPathNotFound)
	}
	if err == nil {
		t.checkPublished(s.Index)
		source.About.Warnings = t.warnings
	}
	if err == nil {
		// Otherwise, after a power failure, the current release could be one of empty files:
		// file systems write names before content.
		err = syncFileSystem(temporary)
	}
	if err == nil && s.Has(commit) {
		err = s.remove(s.Path(commit))
	}
	if err == nil {
		err = os.Rename(temporary, s.Path(commit))
	}
	if err == nil {
		// Descriptions without a release are removed.
		err = s.keepAbout(commit, source.About)
	}
	if err != nil {
		return fmt.Errorf("making the release of commit %s: %w", commit, errors.Join(err, os.RemoveAll(temporary)))
	}
	return nil
}

// tree is a worktree that is being made a release.
type tree struct {
	source, target string
	// published is the published directory of the release.
	published string
	warnings  []Warning
	// files is the number of files and directories of the release, and maxFiles its limit. A few links to directories
	// with links double it each.
	files, maxFiles int64
	// found is the number of files and symbolic links of the worktree.
	found int64
	// lookups count towards maxLookups.
	lookups int
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
	if len(entries) == 0 {
		// git checks out no other empty directories.
		t.warn(WarningSubmodules, to)
	}
	for _, entry := range entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		// Of the repository and of each submodule.
		if entry.Name() == ".git" {
			continue
		}
		if len(active) == 0 && !entry.IsDir() {
			t.found++
		}
		if t.files++; t.files > t.maxFiles {
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
			err = t.link(ctx, source, target, active)
		}
		if viaLink := len(active) > 0 || entry.Type() == fs.ModeSymlink; viaLink && errors.Is(err, syscall.ENAMETOOLONG) {
			// No file of the repository has such a name, but a link may have any text as its target.
			t.warn(WarningLinks, target)
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
	from, to := filepath.Join(t.source, source), filepath.Join(t.target, target)
	err := os.Link(from, to)
	if errors.Is(err, syscall.EMLINK) {
		err = copyFile(from, to)
	}
	if err != nil {
		return err
	}
	isPointer, err := isLFSPointer(to)
	if isPointer {
		t.warn(WarningLFSPointers, target)
	}
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
	info, statErr := in.Stat()
	if err = errors.Join(err, statErr, out.Close()); err != nil {
		return err
	}
	return os.Chtimes(target, info.ModTime(), info.ModTime())
}
