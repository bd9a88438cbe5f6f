package release

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// repository has worktrees of commits that it invents.
type repository struct {
	t   *testing.T
	dir string
	// commits counts the commits.
	commits int
}

func newRepository(t *testing.T) *repository {
	t.Helper()
	return &repository{t: t, dir: filepath.Join(t.TempDir(), "root")}
}

// commit is a commit of files and symbolic links, whose content begins with "-> ", checked out.
func (r *repository) commit(files map[string]string) Source {
	r.t.Helper()
	r.commits++
	source := Source{
		Commit: fmt.Sprintf("%040x", r.commits), Worktree: filepath.Join(r.dir, fmt.Sprint(r.commits)),
		Files: int64(len(files)), About: About{Author: "t", Subject: "release"},
	}
	for name, content := range files {
		path := filepath.Join(source.Worktree, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			r.t.Fatal(err)
		}
		target, link := strings.CutPrefix(content, "-> ")
		err := error(nil)
		if link {
			err = os.Symlink(target, path)
		} else {
			err = os.WriteFile(path, []byte(content), 0o644)
		}
		if err != nil {
			r.t.Fatal(err)
		}
	}
	return source
}

func newStore(t *testing.T, r *repository) *Store {
	t.Helper()
	s := &Store{Dir: filepath.Join(filepath.Dir(r.dir), "site"), Volume: filepath.Dir(r.dir), Keep: 5}
	if err := s.Open(); err != nil {
		t.Fatal(err)
	}
	return s
}

// publish makes and serves the release of a commit with these files.
func (s *Store) publish(t *testing.T, r *repository, files map[string]string) (commit string) {
	t.Helper()
	source := r.commit(files)
	if err := s.Make(t.Context(), source); err != nil {
		t.Fatal(err)
	}
	s.serve(t, source.Commit)
	return source.Commit
}

// published is the time of the last release.
var published = time.Now().Add(-24 * time.Hour)

func (s *Store) serve(t *testing.T, commit string) {
	t.Helper()
	published = published.Add(time.Second)
	if err := errors.Join(s.Switch(commit, published), s.Collect("")); err != nil {
		t.Fatal(err)
	}
}

// files are the files below a directory, by path. It fails the test for anything else.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		if !entry.Type().IsRegular() {
			t.Errorf("%s is a %v", name, entry.Type())
		}
		data, err := os.ReadFile(path)
		found[name] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestPathNotFound: a commit without the published directory does not become a release.
func TestPathNotFound(t *testing.T) {
	r := newRepository(t)
	s := newStore(t, r)
	s.Published = "public/site"
	first := s.publish(t, r, map[string]string{"public/site/index.html": "one"})
	// Links within the repository are resolved.
	linked := s.publish(t, r, map[string]string{"elsewhere/index.html": "two", "public/site": "-> ../elsewhere"})
	for name, content := range map[string]map[string]string{
		"removed":                    {"public/index.html": "three"},
		"a file":                     {"public/site": "three"},
		"a link out of the worktree": {"public/site": "-> /etc"},
		"a link above the worktree":  {"public/site": "-> ../../.."},
		"a link to a file":           {"public/site": "-> x", "public/x": "x"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := s.Make(t.Context(), r.commit(content)); !errors.Is(err, ErrPathNotFound) {
				t.Errorf("Make returned %v, want ErrPathNotFound", err)
			}
		})
	}
	if releases, err := s.List(); err != nil || !slices.Equal(releases, []string{linked, first}) {
		t.Errorf("there are releases %q, %v, want those with the directory", releases, err)
	}
}

func TestReleaseHasTheFiles(t *testing.T) {
	r := newRepository(t)
	s := newStore(t, r)
	content := map[string]string{"index.html": "one", "docs/page.html": "page",
		".well-known/security.txt": "contact", "a\nb": "odd"}
	commit := s.publish(t, r, content)
	if got := files(t, s.Path(commit)); !maps.Equal(got, content) {
		t.Errorf("the release has %q, want %q", got, content)
	}
	if target, err := os.Readlink(filepath.Join(s.Dir, "current")); err != nil || target != "releases/"+commit ||
		s.Current() != commit {
		t.Errorf("current is %q (%v), the commit %q", target, err, s.Current())
	}
	// A release shares its files with the worktree: only its directories take space.
	if err := os.RemoveAll(r.dir); err != nil {
		t.Fatal(err)
	}
	if got := files(t, s.Path(commit)); !maps.Equal(got, content) {
		t.Errorf("without the worktree the release has %q", got)
	}
}

// TestLinks: what leads into the repository is served in the place of the link.
func TestLinks(t *testing.T) {
	r := newRepository(t)
	s := newStore(t, r)
	outside := filepath.Join(filepath.Dir(r.dir), "outside")
	if err := os.WriteFile(outside, []byte("secret"), 0o644); err != nil {
		t.Fatal(err)
	}
	regular := map[string]string{"real/file": "inside", "real/deep/page": "page", ".hidden": "secret",
		"sub/.git-not/x": "secret", "index.html": "home"}
	served := map[string]string{
		"file": "-> real/file", "folder": "-> real", "real/up": "-> ../index.html", "chain": "-> folder/deep/../file",
		"slash": "-> ./real//deep/",
	}
	refused := map[string]string{
		"absolute": "-> " + outside, "passwd": "-> /etc/passwd", "environ": "-> /proc/self/environ",
		"above": "-> ../../../../outside",
		"up":    "-> ..", "dots": "-> real/../../x", "self": "-> self", "ping": "-> pong", "pong": "-> ping",
		"nowhere": "-> gone",
		"git":     "-> .git", "hidden": "-> .hidden", "throughfile": "-> index.html/x", "root": "-> .",
		"real/loop":      "-> ../real",
		"real/deep/loop": "-> ../..",
		"via":            "-> absolute", "hiddendir": "-> sub/.git-not",
	}
	all := maps.Clone(regular)
	maps.Copy(all, served)
	maps.Copy(all, refused)
	commit := s.publish(t, r, all)
	want := maps.Clone(regular)
	maps.Copy(want, map[string]string{
		"file": "inside", "real/up": "home", "chain": "inside", "slash/page": "page",
		"folder/file": "inside", "folder/deep/page": "page", "folder/up": "home",
	})
	if got := files(t, s.Path(commit)); !maps.Equal(got, want) {
		t.Errorf("the release has\n%q, want\n%q", got, want)
	}
}

// TestLinksThatGrow: each of these directories has all of the one before, twice. What links lead to is there as a
// whole,
// or there is no release.
func TestLinksThatGrow(t *testing.T) {
	r := newRepository(t)
	s := newStore(t, r)
	content := map[string]string{"d0/file": "x", "index.html": "home"}
	add := func(i int) {
		dir, before := fmt.Sprint("d", i), fmt.Sprint("../d", i-1)
		content[dir+"/one"], content[dir+"/two"] = "-> "+before, "-> "+before
	}
	for i := 1; i <= 6; i++ {
		add(i)
	}
	// Each has its two links, and twice the files of the one before.
	if commit := s.publish(t, r, content); len(files(t, s.Path(commit))) != 1<<7 || len(s.About(commit).Warnings) > 0 {
		t.Errorf("warnings %q, want none, and all files", s.About(commit).Warnings)
	}
	for i := 7; i <= 40; i++ {
		add(i)
	}
	s.Budget = 20_000 * bytesPerFile
	if err := s.Make(t.Context(), r.commit(content)); !errors.Is(err, ErrTooLarge) {
		t.Errorf("Make returned %v, want ErrTooLarge", err)
	}
}

// TestIncompleteWorktree: a process with access to the volume can remove a part of a worktree.
func TestIncompleteWorktree(t *testing.T) {
	r := newRepository(t)
	s := newStore(t, r)
	first := s.publish(t, r, map[string]string{"index.html": "one", "docs/page.html": "page"})
	for name, damage := range map[string]func(worktree string) error{
		"a link is gone":      func(worktree string) error { return os.Remove(filepath.Join(worktree, "link")) },
		"a file is gone":      func(worktree string) error { return os.Remove(filepath.Join(worktree, "docs/page.html")) },
		"a directory is gone": func(worktree string) error { return os.RemoveAll(filepath.Join(worktree, "docs")) },
		"it is empty": func(worktree string) error {
			return errors.Join(os.RemoveAll(worktree), os.Mkdir(worktree, 0o755))
		},
		"it is gone": os.RemoveAll,
		"it is a link": func(worktree string) error {
			return errors.Join(os.RemoveAll(worktree), os.Symlink("/etc", worktree))
		},
	} {
		t.Run(name, func(t *testing.T) {
			source := r.commit(map[string]string{"index.html": "two " + name, "docs/page.html": "page", "link": "-> index.html"})
			if err := damage(source.Worktree); err != nil {
				t.Fatal(err)
			}
			if err := s.Make(t.Context(), source); err == nil {
				t.Error("a release was made")
			}
			if releases, err := s.List(); err != nil || !slices.Equal(releases, []string{first}) {
				t.Errorf("there are releases %q, %v", releases, err)
			}
			if left, _ := filepath.Glob(s.path(releasesDir, unfinished+"*")); len(left) > 0 {
				t.Errorf("%q is left", left)
			}
		})
	}
	if err := s.Make(t.Context(), Source{Worktree: r.dir, Commit: "../../etc"}); err == nil {
		t.Error("a path was taken for a commit")
	}
	if err := s.Switch(strings.Repeat("0", 40), time.Now()); err == nil || s.Current() != first {
		t.Errorf("current is %q after a switch to no release: %v", s.Current(), err)
	}
}

func TestAssetsAreKept(t *testing.T) {
	r := newRepository(t)
	s := newStore(t, r)
	first := s.publish(t, r, map[string]string{"index.html": "one", "assets/app.3f2a91bc.js": "1",
		"assets/app.css": "1", "gone.html": "1", ".cache/x.3f2a91bc.js": "1"})
	second := s.publish(t, r, map[string]string{"index.html": "two", "assets/app.4f2a91bc.js": "2",
		"assets/app.css": "2"})
	third := s.publish(t, r, map[string]string{"index.html": "three", "assets/app.5f2a91bc.js": "3"})
	assets := func(commit string) map[string]string { return files(t, s.path(assetsDir, commit)) }
	if got, want := assets(third), map[string]string{"assets/app.3f2a91bc.js": "1",
		"assets/app.4f2a91bc.js": "2"}; !maps.Equal(got, want) {
		t.Errorf("with the third release %q are kept, want %q", got, want)
	}
	if got := assets(first); len(got) > 0 {
		t.Errorf("with the first release %q are kept", got)
	}
	// Back to an earlier release: the assets of the later ones stay.
	s.serve(t, first)
	if got, want := assets(first), map[string]string{"assets/app.4f2a91bc.js": "2",
		"assets/app.5f2a91bc.js": "3"}; !maps.Equal(got, want) {
		t.Errorf("back at the first release %q are kept, want %q", got, want)
	}
	if releases, err := s.List(); err != nil || !slices.Equal(releases, []string{first, third, second}) {
		t.Errorf("releases %q, %v", releases, err)
	}
}

// TestAssetsOfAHiddenDirectory: generators write sites to directories such as this.
func TestAssetsOfAHiddenDirectory(t *testing.T) {
	r := newRepository(t)
	s := newStore(t, r)
	s.Published = ".vitepress/dist"
	for i, name := range []string{"app.3f2a91bc.js", "app.4f2a91bc.js"} {
		commit := s.publish(t, r, map[string]string{".vitepress/dist/" + name: "1", ".vitepress/cache/" + name: "1",
			".vitepress/dist/.cache/" + name: "1"})
		want := map[string]string{}
		if i == 1 {
			want[".vitepress/dist/app.3f2a91bc.js"] = "1"
		}
		if got := files(t, s.path(assetsDir, commit)); !maps.Equal(got, want) {
			t.Errorf("with %s %q are kept, want %q", name, got, want)
		}
	}
}

// TestReleaseWarnings: problems of the published directory are in the description of a commit, once each.
func TestReleaseWarnings(t *testing.T) {
	pointer := lfsPointer + "oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n"
	for name, test := range map[string]struct {
		files map[string]string
		// empty are directories without files, as git checks out submodules that are not fetched.
		empty []string
		want  []Warning
	}{
		"none": {
			files: map[string]string{"public/index.html": "<p>" + pointer, "public/short": lfsPointer[:20],
				"public/docs.txt":         lfsPointer + strings.Repeat("x", maxLFSPointer),
				"public/.cache/photo.jpg": pointer, "public/.photo.jpg": pointer, "elsewhere/photo.jpg": pointer,
				"_headers": "/*", "public/deep/_headers": "/*", "public/_headers.txt": "/*"},
			empty: []string{"themes/one", "public/.themes/one"},
		},
		"LFS": {
			files: map[string]string{"public/index.html": "", "public/photo.jpg": pointer, "public/deep/film.mp4": pointer},
			want:  []Warning{WarningLFSPointers},
		},
		"LFS behind a link": {
			files: map[string]string{"public/index.html": "", "photo.jpg": pointer, "public/photo.jpg": "-> ../photo.jpg"},
			want:  []Warning{WarningLFSPointers},
		},
		"no index":       {files: map[string]string{"public/README.md": ""}, want: []Warning{WarningIndexMissing}},
		"an index below": {files: map[string]string{"public/a/index.html": ""}, want: []Warning{WarningIndexMissing}},
		"an index directory": {
			files: map[string]string{"public/index.html/a": ""}, want: []Warning{WarningIndexMissing},
		},
		"submodules": {
			files: map[string]string{"public/index.html": ""}, empty: []string{"public/one", "public/deep/two"},
			want: []Warning{WarningSubmodules},
		},
		"a submodule behind a link": {
			files: map[string]string{"public/index.html": "", "public/one": "-> ../one"}, empty: []string{"one"},
			want: []Warning{WarningSubmodules},
		},
		"links": {
			files: map[string]string{"public/index.html": "", "public/one": "-> /etc/passwd", "public/two": "-> missing"},
			want:  []Warning{WarningLinks},
		},
		"links that are not published": {
			files: map[string]string{"public/index.html": "", "one": "-> /etc/passwd", "public/.two": "-> missing"},
		},
		"headers and redirects": {
			files: map[string]string{"public/index.html": "", "public/_headers": "/*", "public/_redirects": "/ /a"},
			want:  []Warning{WarningOtherHosts},
		},
		"all": {
			files: map[string]string{"public/wrangler.jsonc": "", "public/photo.jpg": pointer}, empty: []string{"public/one"},
			want: []Warning{WarningSubmodules, WarningLFSPointers, WarningIndexMissing, WarningOtherHosts},
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRepository(t)
			s := newStore(t, r)
			s.Published, s.Index = "public", "index.html"
			source := r.commit(test.files)
			for _, dir := range test.empty {
				if err := os.MkdirAll(filepath.Join(source.Worktree, dir), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			if err := s.Make(t.Context(), source); err != nil {
				t.Fatal(err)
			}
			got := s.About(source.Commit).Warnings
			if slices.Sort(got); !slices.Equal(got, slices.Sorted(slices.Values(test.want))) {
				t.Errorf("warnings %q, want %q", got, test.want)
			}
		})
	}
}

func TestIsHashed(t *testing.T) {
	for name, want := range map[string]bool{
		"app.3f2a91bc.js": true, "index-BvX3kQ9d.js": true, "index-DiwrgTda.css": true, "main.8f3a2b1c.chunk.js": true,
		"chunk-VENDOR01ab.mjs":                      true,
		"logo.5d5d9eefa31e5e13a6610d9fa7a283bb.svg": true, "inter-latin-400-normal.BOOGhInR.woff2": true,
		"app.3f2a91bc.js.map": true, "app.3f2a91bc.css.gz": true,
		"settings-panel-3f2a91bc.js": true, "a_b1c2d3e4f5.png": true,
		"app.js": false, "settings.js": false, "page-settings.js": false, "index.html": false, "report-20240101.json": false,
		"jquery-3.7.1.min.js": false,
		"app.3f2a91bc.html":   false, "report-3f2a91bc.pdf": false, "some-component.js": false, "app.3f2a91bc": false,
		"README.md": false, "team-JohnSmith.jpg": false, "export.CustomerList.json": false, "bootstrap.bundle.min.js": false,
	} {
		if got := IsHashed(name); got != want {
			t.Errorf("IsHashed(%q) = %t", name, got)
		}
	}
}

// TestOpenAfterKill: the unfinished directory of a killed agent is no release.
func TestOpenAfterKill(t *testing.T) {
	r := newRepository(t)
	s := newStore(t, r)
	first := s.publish(t, r, map[string]string{"index.html": "one"})
	other := strings.Repeat("a", 40)
	for _, dir := range []string{"releases/" + unfinished + other, "assets/" + unfinished + other,
		"releases/" + unfinished + "removed-" + other} {
		if err := os.MkdirAll(filepath.Join(s.Dir, dir, "docs"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("releases/"+other, filepath.Join(s.Dir, unfinished+"current")); err != nil {
		t.Fatal(err)
	}
	if err := s.Open(); err != nil {
		t.Fatal(err)
	}
	if releases, err := s.List(); err != nil || !slices.Equal(releases, []string{first}) || s.Current() != first {
		t.Errorf("releases %q, %v, current %q", releases, err, s.Current())
	}
	for _, dir := range []string{".", "releases", "assets"} {
		if left, _ := filepath.Glob(filepath.Join(s.Dir, dir, unfinished+"*")); len(left) > 0 {
			t.Errorf("%q is left", left)
		}
	}
}
