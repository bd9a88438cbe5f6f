package git

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// latestDate is before each date of a push, so that no date of a file is in the future.
const latestDate = 1 << 30

// date returns the modification time of a file, which is made of its content and how that is checked out.
func (r *Repository) date(hash, attributes string) time.Time {
	sum := sha256.Sum256([]byte(r.root().Revision + "\n" + hash + "\n" + attributes))
	return time.Unix(1+int64(binary.BigEndian.Uint64(sum[:8])%latestDate), 0)
}

// setDates gives the files of a worktree their dates. The index is updated too: git would write files again if
// it had other dates.
func (r *Repository) setDates(ctx context.Context, tree *Tree, dir string) error {
	changed := false
	lines := &records{each: func(record string) error {
		about, name, _ := strings.Cut(record, "\t")
		fields := strings.Fields(about)
		if len(fields) != 3 || !strings.HasPrefix(fields[0], "100") {
			return nil
		}
		date, path := r.date(fields[1], tree.attributes), filepath.Join(dir, name)
		info, err := os.Lstat(path)
		if err == nil && (!info.Mode().IsRegular() || info.ModTime().Equal(date)) {
			return nil
		}
		changed = true
		return onDisk(errors.Join(err, os.Chtimes(path, date, date)))
	}}
	environment := []string{"GIT_WORK_TREE=" + dir, "GIT_INDEX_FILE=" + r.path(indexFile)}
	_, err := r.run(ctx, command{args: []string{"ls-files", "--stage", "-z"}, env: environment, stdout: lines})
	if err != nil || !changed {
		return err
	}
	_, err = r.run(ctx, command{args: []string{"update-index", "-q", "--refresh"}, env: environment})
	return err
}
