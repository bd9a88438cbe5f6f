package git

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/kubesites/website-apiserver/pkg/agent/disk"
)

// TestTooLarge: a commit that is too large is refused before the checkout and removed. The worktree stays.
func TestTooLarge(t *testing.T) {
	t.Parallel()
	small := files{"p/index.html": "one"}
	many := maps.Clone(small)
	for i := range 300 {
		many[fmt.Sprintf("p/%d", i)] = ""
	}
	o, after := newOrigin(t, "pack.packSizeLimit=1m", "core.compression=1"), files{"p/index.html": "three"}
	o.commit(small)
	o.commitTo("after", after)
	large := map[string]files{
		"pack":       {"p/index.html": "two", "p/random": random(3 << 20)},
		"compressed": {"p/index.html": "two", "p/zero": strings.Repeat("0", 8<<20)},
		"parts": {"p/1": random(600 << 10), "p/2": random(600 << 10), "p/3": random(600 << 10),
			"p/4": random(600 << 10)},
		"many": many,
	}
	for name, content := range large {
		o.commitTo(name, content)
	}
	o.git(nil, "update-server-info")
	for _, test := range []struct {
		how  func(*server)
		path string
		dumb bool
	}{{how: func(*server) {}}, {how: func(*server) {}, path: "p"}, {how: dumb, dumb: true}} {
		synced := newRepository(t, o.serve(test.how).url(o), withRoom(2<<20), ofPath(test.path),
			func(options *Options) { options.MaxFiles = 100 })
		synced.sync(t, "HEAD")
		for name := range large {
			if test.dumb && name == "compressed" {
				continue
			}
			t.Run(fmt.Sprintf("%s, path %q, dumb %t", name, test.path, test.dumb), func(t *testing.T) {
				t.Parallel()
				r := synced.fork(t, synced.URL)
				for range 2 {
					if _, err := r.Fetch(t.Context(), "refs/heads/"+name); !isReason(err, ReasonTooLarge) {
						t.Errorf("%v: %s", err, errText(err))
					}
					if used, err := disk.UsageOf(r.Dir); err != nil || used.Size > 100<<10 {
						t.Errorf("%d bytes are left, %v", used.Size, err)
					}
				}
				if test.dumb {
					return
				}
				if got := readFiles(t, r.Worktree()); !maps.Equal(got, small) {
					t.Errorf("the worktree has %d files", len(got))
				}
				if _, got := r.sync(t, "refs/heads/after"); !maps.Equal(got, after) {
					t.Errorf("then checked out %q", got)
				}
			})
		}
	}
}

// TestRoomIsForChanges: a push to a site that takes most of the disk is no second site.
func TestRoomIsForChanges(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	content := files{"a": random(1 << 20), "b": random(1 << 20)}
	o.commit(content)
	r := newRepository(t, o.serve().url(o))
	r.sync(t, "HEAD")
	r.Room = func() (int64, error) { return 500 << 10, nil }
	content["c"] = random(100 << 10)
	o.commit(content)
	if _, got := r.sync(t, "HEAD"); !maps.Equal(got, content) {
		t.Error("another content")
	}
	r.Room = func() (int64, error) { return 0, nil }
	if _, err := r.Fetch(t.Context(), "HEAD"); !isReason(err, ReasonStorageFull) {
		t.Errorf("without room: %v", err)
	}
}

// TestRoomOfFailedFetches: what fetches that failed have left gives way to a commit that fits.
func TestRoomOfFailedFetches(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	first := o.commit(files{"x": "x"})
	s := o.serve()
	r := newRepository(t, s.url(o), withModules(SubmodulesRecursive))
	r.Room = func() (int64, error) {
		used, err := disk.UsageOf(r.Dir)
		return 2<<20 - used.Size, err
	}
	r.sync(t, "HEAD")
	for range 5 {
		modules := "[submodule \"m\"]\npath = m\nurl = " + s.url(o) + "/none.git\n"
		o.commit(files{"random": random(500 << 10), ".gitmodules": modules, "m": "@" + first})
		if _, err := r.Fetch(t.Context(), "HEAD"); !isReason(err, ReasonSubmodule) {
			t.Errorf("%v: %s", err, errText(err))
		}
	}
	content := files{"random": random(500 << 10)}
	o.commit(content)
	if _, got := r.sync(t, "HEAD"); !maps.Equal(got, content) {
		t.Errorf("then checked out %d files", len(got))
	}
}

// TestFilesThatGrow: files that attributes have git write larger than they are in the repository do not fit, one by one
// or all together, and the disk is not full.
func TestFilesThatGrow(t *testing.T) {
	t.Parallel()
	const room, utf32 = 1 << 20, "*.txt working-tree-encoding=UTF-32"
	small := files{"x.txt": "x"}
	for name, test := range map[string]struct {
		attributes string
		count      int
		content    string
		modules    []string
	}{
		"one file":      {utf32, 1, strings.Repeat("a", 600<<10), nil},
		"many files":    {utf32, 100, strings.Repeat("a", 6<<10), nil},
		"CRLF":          {"*.txt text eol=crlf", 100, strings.Repeat("\n", 7<<10), nil},
		"$Id$":          {"*.txt ident", 100, strings.Repeat("$Id$\n", 800), nil},
		"a submodule":   {utf32, 100, strings.Repeat("a", 6<<10), []string{"m"}},
		"2 submodules":  {utf32, 50, strings.Repeat("a", 3<<10), []string{"m", "n"}},
		"no attributes": {"", 100, strings.Repeat("a", 6<<10), nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOrigin(t, "core.compression=1")
			s := o.serve()
			r := newRepository(t, s.url(o), withRoom(room), withModules(SubmodulesRecursive))
			o.commit(small)
			r.sync(t, "HEAD")
			content := files{".gitattributes": test.attributes}
			for i := range test.count {
				content[fmt.Sprintf("%d.txt", i)] = test.content
			}
			if len(test.modules) > 0 {
				commit := newOriginAt(t, filepath.Join(s.dir, "m.git"), "sha1", "core.compression=1").commit(content)
				content = files{}
				for _, path := range test.modules {
					content[path] = "@" + commit
					content[".gitmodules"] += declare(path, "../m.git")
				}
			}
			o.commit(content)
			tree, err := r.Fetch(t.Context(), "HEAD")
			if err != nil {
				t.Fatalf("%v: %s", err, errText(err))
			}
			err = r.Checkout(t.Context(), tree)
			if test.attributes == "" {
				if err != nil {
					t.Errorf("%v: %s", err, errText(err))
				}
				return
			}
			if !isReason(err, ReasonTooLarge) {
				t.Errorf("%v: %s", err, errText(err))
			}
			if used, err := disk.UsageOf(r.Worktree()); err != nil || used.Size > 0 {
				t.Errorf("%d bytes are left, %v", used.Size, err)
			}
			o.commit(small)
			if _, got := r.sync(t, "HEAD"); !maps.Equal(got, small) {
				t.Errorf("then checked out %d files", len(got))
			}
		})
	}
}

// TestFullDisk leaves nothing, and the next fetch succeeds once there is space.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if output, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", dir).CombinedOutput(); err != nil {
		t.Skipf("mounting a small file system: %v: %s", err, output)
	}
	t.Cleanup(func() { _ = exec.Command("umount", "-l", dir).Run() })
	for _, content := range []files{{"random": random(2 << 20)}, {"zero": strings.Repeat("0", 4<<20)}} {
		o := newOrigin(t, "core.compression=1")
		o.commit(content)
		// The budget would bear it.
		r := newRepository(t, o.serve().url(o), withRoom(1<<30),
			func(options *Options) { options.Dir = filepath.Join(dir, "git") })
		tree, err := r.Fetch(t.Context(), "HEAD")
		if err == nil {
			err = r.Checkout(t.Context(), tree)
		}
		if !isReason(err, ReasonStorageFull) {
			t.Errorf("%v: %s", err, errText(err))
		}
		want := files{"x": "x"}
		o.commit(want)
		if _, got := r.sync(t, "HEAD"); !maps.Equal(got, want) {
			t.Errorf("then checked out %q", got)
		}
		if err := os.RemoveAll(r.Dir); err != nil {
			t.Fatal(err)
		}
	}
}

// TestMonths of pushes keep git's directory small.
func TestMonths(t *testing.T) {
	t.Parallel()
	pushes, err := strconv.Atoi(cmp.Or(os.Getenv("GIT_PUSHES"), "25"))
	if err != nil {
		t.Fatal(err)
	}
	const size = 20 << 10
	for _, path := range []string{"", "p"} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			o := newOrigin(t, "gc.auto=0")
			var stream strings.Builder
			for i := range pushes {
				o.writeCommit(&stream, "main", false,
					files{"p/changes": random(size), "p/stays": "x", fmt.Sprintf("p/%d", i%5): random(size)})
				fmt.Fprintf(&stream, "reset refs/heads/n%d\nfrom refs/heads/main\n\n", i)
			}
			o.git(strings.NewReader(stream.String()), "fast-import", "--quiet")
			s := o.serve()
			r := newRepository(t, s.url(o), ofPath(path))
			var most, total int64
			for i := range pushes {
				tree, err := r.Fetch(t.Context(), fmt.Sprintf("refs/heads/n%d", i))
				if err == nil {
					err = r.Checkout(t.Context(), tree)
				}
				if err == nil {
					err = r.Compact(t.Context())
				}
				used, sizeErr := r.Size()
				if err != nil || sizeErr != nil {
					t.Fatal(err, sizeErr)
				}
				if most = max(most, used); i == 10 {
					most = 0
				}
				total += 2 * size
			}
			fresh := newRepository(t, s.url(o), ofPath(path))
			fresh.sync(t, fmt.Sprintf("refs/heads/n%d", pushes-1))
			small, err := fresh.Size()
			t.Logf("%d pushes of %d bytes in all: %d bytes at most, a fresh clone has %d; the server sent %d", pushes, total,
				most, small, s.bytes())
			if err != nil || most > 3*small {
				t.Errorf("more than three times a fresh clone: %v", err)
			}
			if list := r.shallow(); strings.Count(list, "\n") > 20 {
				t.Errorf("%d commits without parents are listed", strings.Count(list, "\n"))
			}
			if got, want := readFiles(t, r.Worktree()), readFiles(t, fresh.Worktree()); !maps.Equal(got, want) {
				t.Error("the content differs from a fresh clone")
			}
		})
	}
}
