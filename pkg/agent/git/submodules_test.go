package git

import (
	"encoding/hex"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestSubmodules are the same as in a fresh clone, whatever changes between two commits.
func TestSubmodules(t *testing.T) {
	t.Parallel()
	site := newOrigin(t)
	s := site.serve()
	module := func(name string) *origin { return newOriginAt(t, filepath.Join(s.dir, name+".git"), "sha1") }
	a, b, inner := module("a"), module("b"), module("inner")
	innerCommit := inner.commit(files{"i": "inner"})
	a1 := a.commit(files{"x": "a1"})
	a2 := a.commit(files{"x": "a2", "deep": "@" + innerCommit, ".gitmodules": declare("deep", "../inner.git")})
	b1 := b.commit(files{"x": "b1"})
	r := newRepository(t, s.url(site), withModules(SubmodulesRecursive))
	for _, test := range []struct {
		name string
		site files
		want files
	}{
		{"one", files{"m": "@" + a1, ".gitmodules": declare("m", "../a.git")}, files{"m/x": "a1"}},
		{"pushed, with one of its own", files{"m": "@" + a2, ".gitmodules": declare("m", "../a.git")},
			files{"m/x": "a2", "m/deep/i": "inner"}},
		{"another address", files{"m": "@" + b1, ".gitmodules": declare("m", "../b.git")}, files{"m/x": "b1"}},
		{"an absolute address", files{"m": "@" + a1, ".gitmodules": declare("m", s.URL+"/a.git")}, files{"m/x": "a1"}},
		{"moved", files{"n/m": "@" + a1, ".gitmodules": declare("n/m", "./../a.git")}, files{"n/m/x": "a1"}},
		{"becomes a file", files{"n": "file", "m": "@" + b1, ".gitmodules": declare("m", "../b.git")},
			files{"n": "file", "m/x": "b1"}},
		{"becomes a directory", files{"m/x": "own"}, files{"m/x": "own"}},
		{"twice, at two commits", files{"m": "@" + a1, "n": "@" + a2,
			".gitmodules": declare("m", "../a.git") + declare("n", "../a.git")},
			files{"m/x": "a1", "n/x": "a2", "n/deep/i": "inner"}},
		{"not wanted", files{"m": "@" + a1, "1": "1", ".gitmodules": declare("m", "../a.git") + "update = none\n"},
			files{"1": "1"}},
		{"removed", files{"1": "1"}, files{"1": "1"}},
	} {
		site.commit(test.site)
		_, got := r.sync(t, "HEAD")
		_, fresh := newRepository(t, s.url(site), withModules(SubmodulesRecursive)).sync(t, "HEAD")
		for _, found := range []files{got, fresh} {
			maps.DeleteFunc(found, func(name, _ string) bool { return filepath.Base(name) == modulesFile })
			if !maps.Equal(found, test.want) {
				t.Errorf("%s: checked out %q, want %q", test.name, found, test.want)
			}
		}
		wantEmpty := ""
		if test.name == "not wanted" {
			wantEmpty = "m"
		}
		if got := emptyDirectories(t, r); got != wantEmpty {
			t.Errorf("%s: empty directories %q, want %q", test.name, got, wantEmpty)
		}
		if err := r.Compact(t.Context()); err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
	}
	site.commit(files{"m": "@" + a2, ".gitmodules": declare("m", "../a.git")})
	for policy, want := range map[SubmodulePolicy]files{SubmodulesNone: {}, SubmodulesShallow: {"m/x": "a2"}} {
		r := newRepository(t, s.url(site), withModules(policy))
		_, got := r.sync(t, "HEAD")
		wantEmpty := map[SubmodulePolicy]string{SubmodulesNone: "m", SubmodulesShallow: "m/deep"}[policy]
		if got := emptyDirectories(t, r); got != wantEmpty {
			t.Errorf("%s: empty directories %q, want %q", policy, got, wantEmpty)
		}
		maps.DeleteFunc(got, func(name, _ string) bool { return filepath.Base(name) == modulesFile })
		if !maps.Equal(got, want) {
			t.Errorf("%s: checked out %q, want %q", policy, got, want)
		}
	}
}

// emptyDirectories returns the empty directories of the worktree: submodules that are not fetched, and nothing else.
func emptyDirectories(t *testing.T, r *Repository) string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(r.Worktree(), func(path string, entry os.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		entries, err := os.ReadDir(path)
		if name, _ := filepath.Rel(r.Worktree(), path); len(entries) == 0 {
			found = append(found, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(found, " ")
}

func declare(path, url string) string {
	return "[submodule \"" + path + "\"]\npath = " + path + "\nurl = " + url + "\n"
}

// TestSubmodulesOfPath are those in the path, and those that links lead into.
func TestSubmodulesOfPath(t *testing.T) {
	t.Parallel()
	site := newOrigin(t)
	s := site.serve()
	module := newOriginAt(t, filepath.Join(s.dir, "m.git"), "sha1")
	plain := module.commit(files{"d/x": "x"})
	leaving := module.commit(files{"d/x": "x", "l": "-> ../../out/1"})
	for name, test := range map[string]struct {
		path, commit string
		content      files
		want         []string
	}{
		"in it":             {"p", plain, files{"p/m": "@", "out/1": "1"}, []string{"p/m/d/x"}},
		"elsewhere":         {"p", plain, files{"p/1": "1", "q/m": "@", "out/1": "1"}, []string{"p/1"}},
		"behind a link":     {"p", plain, files{"p/l": "-> ../q/m/d", "q/m": "@", "out/1": "1"}, []string{"p/l", "q/m/d/x"}},
		"the path is in it": {"q/m/d", plain, files{"q/m": "@", "out/1": "1"}, []string{"q/m/d/x"}},
		"it leads out":      {"p", leaving, files{"p/m": "@", "out/1": "1"}, []string{"out/1", "p/m/d/x", "p/m/l"}},
	} {
		content := maps.Clone(test.content)
		for at, text := range content {
			if text == "@" {
				content[at], content[modulesFile] = "@"+test.commit, declare(at, "../m.git")
			}
		}
		site.commit(content)
		_, got := newRepository(t, s.url(site), ofPath(test.path), withModules(SubmodulesShallow)).sync(t, "HEAD")
		delete(got, modulesFile)
		if names := slices.Sorted(maps.Keys(got)); !slices.Equal(names, test.want) {
			t.Errorf("%s: checked out %q, want %q", name, names, test.want)
		}
	}
}

// TestHostileSubmodules fail with the path of the submodule.
func TestHostileSubmodules(t *testing.T) {
	t.Parallel()
	site := newOrigin(t)
	s := site.serve()
	commit := site.commit(files{"x": "x"})
	missing := "0123456789012345678901234567890123456789"
	for name, test := range map[string]struct {
		modules string
		commit  string
		cause   Reason
	}{
		"file":             {declare("m", "file://"+site.dir), commit, ReasonDowngrade},
		"path":             {declare("m", site.dir), commit, ReasonDowngrade},
		"ext":              {declare("m", "ext::sh -c touch% /tmp/evil"), commit, ReasonDowngrade},
		"option":           {declare("m", "--upload-pack=touch"), commit, ReasonDowngrade},
		"ssh option":       {declare("m", "ssh://-oProxyCommand=touch/x"), commit, ReasonKnownHosts},
		"above the host":   {declare("m", "../../../../x.git"), commit, ReasonUnknown},
		"no url":           {"[submodule \"m\"]\npath = m\n", commit, ReasonUnknown},
		"no declaration":   {"", commit, ReasonUnknown},
		"not a list":       {"[submodule \"m\"\n", commit, ReasonUnknown},
		"includes":         {"[include]\npath = /etc/passwd\n" + declare("m", "../x.git"), commit, ReasonNotFound},
		"no repository":    {declare("m", "../x.git"), commit, ReasonNotFound},
		"no such commit":   {declare("m", "../site.git"), missing, ReasonCommitRefused},
		"refused":          {declare("m", "http://127.0.0.1:9/x.git"), commit, ReasonUnreachable},
		"another protocol": {declare("m", "git://127.0.0.1/x.git"), commit, ReasonDowngrade},
	} {
		content := files{"m": "@" + test.commit, ".gitmodules": test.modules}
		site.commitTo("hostile", content)
		_, err := newRepository(t, s.url(site), withModules(SubmodulesRecursive)).Fetch(t.Context(), "refs/heads/hostile")
		typed := asError(err)
		if typed.Reason != ReasonSubmodule || typed.Cause != test.cause || typed.Submodule == "" {
			t.Errorf("%s: %v (%q because of %q)", name, err, typed.Reason, typed.Cause)
		}
	}
}

// TestSubmoduleBehindLink is not written where a link of the repository leads to.
func TestSubmoduleBehindLink(t *testing.T) {
	t.Parallel()
	site := newOrigin(t)
	s := site.serve()
	outside := t.TempDir()
	if err := os.Mkdir(filepath.Join(outside, "m"), 0o755); err != nil {
		t.Fatal(err)
	}
	commit := site.commit(files{"x": "x"})
	blob := func(text string) string { return site.git(strings.NewReader(text), "hash-object", "-w", "--stdin") }
	inner := site.git(strings.NewReader("160000 commit "+commit+"\tm\n"), "mktree", "--missing")
	// The name is there twice. git takes the last one.
	lines := []string{entryOf(t, "120000", "a", blob(outside)), entryOf(t, "40000", "a", inner)}
	for range lines {
		slices.Reverse(lines)
		content := entryOf(t, "100644", modulesFile, blob(declare("a/m", "../site.git"))) + strings.Join(lines, "")
		root := site.git(strings.NewReader(content), "hash-object", "-t", "tree", "-w", "--stdin", "--literally")
		site.git(nil, "update-ref", "refs/heads/main", site.git(nil, "commit-tree", "-m", "x", root))
		r := newRepository(t, s.url(site), withModules(SubmodulesRecursive))
		tree, err := r.Fetch(t.Context(), "HEAD")
		if err == nil {
			err = r.Checkout(t.Context(), tree)
		}
		if found := readFiles(t, outside); len(found) > 0 {
			t.Errorf("written outside of the worktree: %q", found)
		}
		t.Logf("%v", err)
	}
}

// entryOf is an entry of a tree as git stores it.
func entryOf(t *testing.T, mode, name, hash string) string {
	t.Helper()
	raw, err := hex.DecodeString(hash)
	if err != nil {
		t.Fatal(err)
	}
	return mode + " " + name + "\x00" + string(raw)
}

// TestSubmoduleTwice: one repository is a submodule at two commits, and only one of them has a submodule itself.
func TestSubmoduleTwice(t *testing.T) {
	t.Parallel()
	site := newOrigin(t)
	s := site.serve()
	a := newOriginAt(t, filepath.Join(s.dir, "a.git"), "sha1")
	inner := newOriginAt(t, filepath.Join(s.dir, "inner.git"), "sha1")
	one := a.commit(files{"x": "one"})
	two := a.commit(files{
		"x": "two", "deep": "@" + inner.commit(files{"i": "inner"}), ".gitmodules": declare("deep", "../inner.git"),
	})
	for _, commits := range [][2]string{{one, two}, {two, one}} {
		site.commit(files{
			"m": "@" + commits[0], "n": "@" + commits[1], ".gitmodules": declare("m", "../a.git") + declare("n", "../a.git"),
		})
		r := newRepository(t, s.url(site), withModules(SubmodulesRecursive))
		for range 2 {
			_, got := r.sync(t, "HEAD")
			if err := r.compact(t.Context(), true); err != nil {
				t.Error(err)
			}
			deep := "m/deep/i"
			if commits[1] == two {
				deep = "n/deep/i"
			}
			if got["m/x"] == got["n/x"] || got[deep] != "inner" {
				t.Errorf("there are %q", got)
			}
		}
	}
}
