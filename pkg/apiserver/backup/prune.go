package backup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kubesites/website-apiserver/pkg/apiserver/store"
)

const (
	// timeFormat sorts like the times, and is a valid file name on every system.
	timeFormat = "20060102T150405.000Z"
	// suffix is the suffix of snapshots' file names.
	suffix = ".db"
	// noIdentity replaces the identity of a store without one.
	noIdentity = "no-identity"
	// staleAfter is longer than it takes to verify a snapshot. Until then the file is written continuously. Network
	// file systems have no locks that would prove it.
	staleAfter = time.Hour
)

// stored is a snapshot in a directory.
type stored struct {
	path     string
	identity string
	taken    time.Time
}

// name returns the file name of a snapshot in a directory with others.
func name(record *store.Record, taken time.Time) (string, error) {
	name := identity(record) + "-" + taken.UTC().Format(timeFormat) + suffix
	if filepath.Base(name) != name {
		return "", fmt.Errorf("the identity %q of the store cannot be part of a file name: it was not made by "+
			"website-apiserver", identity(record))
	}
	return name, nil
}

func identity(record *store.Record) string {
	if record == nil {
		return noIdentity
	}
	return record.Identity
}

// list returns the snapshots in a directory, the last one first.
func list(dir string) ([]stored, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("listing the snapshots: %w", err)
	}
	var found []stored
	for _, entry := range entries {
		rest, ok := strings.CutSuffix(entry.Name(), suffix)
		dash := strings.LastIndexByte(rest, '-')
		if !ok || dash < 0 || !entry.Type().IsRegular() {
			continue
		}
		if taken, err := time.Parse(timeFormat, rest[dash+1:]); err == nil {
			found = append(found, stored{filepath.Join(dir, entry.Name()), rest[:dash], taken})
		}
	}
	slices.SortFunc(found, func(a, b stored) int { return cmp.Compare(b.taken.UnixNano(), a.taken.UnixNano()) })
	return found, nil
}

// listUntil is list without snapshots from the future, which a wrong clock has dated: they
// would hide the time of the last one.
func listUntil(dir string, now time.Time) ([]stored, error) {
	found, err := list(dir)
	return slices.DeleteFunc(found, func(s stored) bool { return s.taken.After(now) }), err
}

// SaveAndPrune saves a snapshot as Save does, and keeps the last ones of the store in its directory. It returns the
// removed others. With a snapshot, the error is about their removal.
func (s Snapshotter) SaveAndPrune(ctx context.Context, path string, keep int) (Snapshot, []string, error) {
	dir := path
	if !isDirectory(path) {
		dir = filepath.Dir(path)
	}
	record, err := s.record(ctx)
	if err != nil {
		return Snapshot{}, nil, err
	}
	// The disk may be full because of more snapshots than must be kept by now.
	before, pruneErr := prune(dir, record, keep, time.Now())
	snapshot, err := s.Save(ctx, path)
	if err != nil {
		return Snapshot{}, before, errors.Join(err, pruneErr)
	}
	after, err := prune(dir, snapshot.Record, keep, time.Now())
	if err != nil {
		err = fmt.Errorf("the snapshot was taken, and earlier ones cannot be removed: %w", err)
	}
	return snapshot, append(before, after...), err
}

// prune removes all but the last snapshots of the store with a record from a directory, and returns
// the removed ones. It keeps snapshots of other stores, as one of them may be the right one, and
// snapshots later than now. It also removes files that a killed process has left. A file that cannot
// be removed does not prevent the removal of others.
func prune(dir string, record *store.Record, keep int, now time.Time) ([]string, error) {
	found, err := listUntil(dir, now)
	if err != nil {
		return nil, err
	}
	found = slices.DeleteFunc(found, func(s stored) bool { return s.identity != identity(record) })
	var removed []string
	var failures []error
	for _, old := range found[min(max(keep, 1), len(found)):] {
		if err := remove(old.path); err != nil {
			failures = append(failures, fmt.Errorf("removing a snapshot: %w", err))
			continue
		}
		removed = append(removed, old.path)
	}
	return removed, errors.Join(append(failures, removeStale(dir))...)
}

// directoryError names the snapshots in a directory that was given in place of one.
func directoryError(dir string) error {
	found, err := list(dir)
	if err != nil {
		return err
	}
	names := make([]string, len(found))
	for i, snapshot := range found {
		names[i] = filepath.Base(snapshot.path)
	}
	return fmt.Errorf("%s is a directory with %d snapshots, name one of them: %s", dir, len(names),
		strings.Join(names, ", "))
}

// remove succeeds if another process has removed the file.
func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// removeStale removes partial files that are no longer written.
func removeStale(dir string) error {
	partial, err := filepath.Glob(filepath.Join(dir, partialPattern))
	if err != nil {
		return fmt.Errorf("listing partial snapshots: %w", err)
	}
	for _, path := range partial {
		info, err := os.Lstat(path)
		if err != nil || !info.Mode().IsRegular() || time.Since(info.ModTime()) < staleAfter {
			continue
		}
		if err := remove(path); err != nil {
			return fmt.Errorf("removing a partial snapshot: %w", err)
		}
	}
	return nil
}
