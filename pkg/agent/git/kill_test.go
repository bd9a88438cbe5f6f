package git

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// TestKill kills git with all that it has started, at each of its commands and some time later. The next sync succeeds.
func TestKill(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	content := func(i int) files {
		return files{"p/a": fmt.Sprint(i) + random(200_000), "p/l": "-> ../q", "q": fmt.Sprint(i), "p/b": "same"}
	}
	r := newRepository(t, o.serve().url(o), ofPath("p"))
	o.commit(content(0))
	r.sync(t, "HEAD")
	for step, ended := 1, false; !ended; step++ {
		want := content(step)
		o.commit(want)
		var count atomic.Int64
		r.onStart = func(group int) {
			if count.Add(1) == int64(step) {
				// Others get some way.
				time.Sleep(time.Duration(step%2) * 10 * time.Millisecond)
				killGroup(group)
			}
		}
		tree, err := r.Fetch(t.Context(), "HEAD")
		if err == nil {
			err = r.Checkout(t.Context(), tree)
		}
		if err == nil {
			err = r.compact(t.Context(), true)
		}
		r.onStart = nil
		ended = count.Load() < int64(step)
		if _, got := r.sync(t, "HEAD"); !maps.Equal(got, want) {
			t.Errorf("command %d was killed (%v): then it is not whole", step, err)
		}
	}
}

// TestDamage: the next sync succeeds after any damage to the disk.
func TestDamage(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	o.commit(files{"p/a": "1", "p/b": "same", "q": "q"})
	synced := newRepository(t, o.serve().url(o), ofPath("p"))
	synced.sync(t, "HEAD")
	content := files{"p/a": "2", "p/b": "same"}
	o.commit(content)
	remove := func(pattern string) func(t *testing.T, root string) {
		return func(t *testing.T, root string) {
			found, _ := filepath.Glob(filepath.Join(root, pattern))
			for _, path := range found {
				if err := os.RemoveAll(path); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	write := func(pattern, content string) func(t *testing.T, root string) {
		return func(t *testing.T, root string) {
			found, _ := filepath.Glob(filepath.Join(root, pattern))
			if len(found) == 0 {
				found = []string{filepath.Join(root, pattern)}
			}
			for _, path := range found {
				_ = os.Chmod(path, 0o600)
				if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	for name, damage := range map[string]func(t *testing.T, root string){
		"all":         remove("*"),
		"HEAD":        remove("repository/HEAD"),
		"empty HEAD":  write("repository/HEAD", ""),
		"config":      write("repository/config", "[core\n"),
		"shallow":     remove("repository/shallow"),
		"objects":     remove("repository/objects"),
		"packs":       remove("repository/objects/pack/*"),
		"empty packs": write("repository/objects/pack/*.pack", ""),
		"empty ref":   write("repository/refs/website/head", ""),
		"another ref": write("repository/refs/website/head", strings.Repeat("01234567", 5)+"\n"),
		"worktree":    remove("worktree"),
		"a file":      write("worktree/p/a", "another"),
		"index":       write("index", "DIRC"),
		"locks": func(t *testing.T, root string) {
			for _, name := range []string{"repository/shallow.lock", "index.lock", "repository/refs/website/head.lock",
				"repository/packed-refs.lock", "repository/objects/pack/tmp_pack_x"} {
				write(name, "x")(t, root)
			}
		},
		"no index": remove("index"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := synced.fork(t, synced.URL)
			damage(t, r.Dir)
			tree, err := r.Fetch(t.Context(), "HEAD")
			if err == nil {
				err = r.Checkout(t.Context(), tree)
			}
			if err != nil {
				// A checkout has no server to ask.
				t.Logf("at first: %v", errText(err))
			}
			if _, got := r.sync(t, "HEAD"); !maps.Equal(got, content) {
				t.Errorf("then checked out %q", got)
			}
			if left, _ := filepath.Glob(r.path(repositoryDir, "objects/pack/tmp_*")); len(left) > 0 {
				t.Errorf("left: %q", left)
			}
		})
	}
}
