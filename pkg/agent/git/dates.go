package git

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"os"
	"path/filepath"
	"time"
)

// latestDate is before each date of a push, so that no date of a file is in the future.
const latestDate = 1 << 30

// date returns the modification time of a file, which is made of its content and how that is checked out.
func (r *Repository) date(hash, attributes string) time.Time {
	sum := sha256.Sum256([]byte(r.root().Revision + "\n" + hash + "\n" + attributes))
	return time.Unix(1+int64(binary.BigEndian.Uint64(sum[:8])%latestDate), 0)
}

// setDates gives the files of a worktree their dates, but for those that it had before.
func (r *Repository) setDates(ctx context.Context, before string, tree *Tree, dir string) error {
	// A hostile tree can have a link in the place of a file.
	root, err := os.OpenRoot(dir)
	if err != nil {
		return onDisk(err)
	}
	defer func() { _ = root.Close() }()
	return r.files(ctx, before, tree.ID, func(name string, e entry) error {
		if !e.isFile() {
			return nil
		}
		date := r.date(e.hash, tree.attributes)
		return onDisk(root.Chtimes(name, date, date))
	})
}

// checkDates returns an error if something else than git has changed files of a worktree.
func (r *Repository) checkDates(ctx context.Context, tree *Tree, dir string) error {
	return r.files(ctx, r.idOf(nil), tree.ID, func(name string, e entry) error {
		info, err := os.Lstat(filepath.Join(dir, name))
		if err != nil || e.isFile() && !info.ModTime().Equal(r.date(e.hash, tree.attributes)) {
			return wrap(reasonDamaged, "", err)
		}
		return nil
	})
}
