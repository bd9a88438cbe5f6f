package git

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// TestPath fetches the published path with the files that it needs, and nothing else.
func TestPath(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		path    string
		content files
		want    []string
	}{
		"no links": {"p", files{"p/a/1": "1", "q/2": "2"}, []string{"p/a/1"}},
		"attributes above": {"p/q", files{"p/q/1": "1", ".gitattributes": "*", "p/.gitattributes": "*",
			"r/.gitattributes": "*"}, []string{"p/q/1", ".gitattributes", "p/.gitattributes"}},
		"file behind a link": {"p", files{"p/l": "-> ../q/2", "q/2": "2", "q/3": "3", "q/.gitattributes": "*"},
			[]string{"p/l", "q/2", "q/.gitattributes"}},
		"directory": {"p", files{"p/l": "-> ../q/d", "q/d/2": "2", "q/d/e/4": "4", "q/3": "3"},
			[]string{"p/l", "q/d/2", "q/d/e/4"}},
		"link to a link": {"p", files{"p/l": "-> ../q/l", "q/l": "-> d/m", "q/d/m": "-> ../../r/5", "r/5": "5",
			"r/6": "6"}, []string{"p/l", "q/l", "q/d/m", "r/5"}},
		"link on the way": {"p", files{"p/l": "-> ../q/l/x", "q/l": "-> ../r", "r/x": "5", "r/6": "6"},
			[]string{"p/l", "q/l", "r/x"}},
		"links in directories": {"p", files{"p/l": "-> ../q", "q/l": "-> ../r/7", "r/7": "7", "r/6": "6"},
			[]string{"p/l", "q/l", "r/7"}},
		"out of it": {"p", files{"p/l": "-> ../../etc/passwd", "p/m": "-> /etc/passwd", "p/n": "-> ../missing",
			"q/1": "1"}, []string{"p/l", "p/m", "p/n"}},
		"loops":       {"p", files{"p/l": "-> ../q/l", "q/l": "-> ../p/l", "q/1": "1"}, []string{"p/l", "q/l"}},
		"to the root": {"p", files{"p/l": "-> ..", "q/1": "1"}, []string{"p/l", "q/1"}},
		"a link is the path": {"p", files{"p": "-> build/site", "build/site/1": "1", "build/2": "2"},
			[]string{"p", "build/site/1"}},
		"a link is above it": {"p/q", files{"p": "-> build", "build/q/1": "1", "build/2": "2"}, []string{"p", "build/q/1"}},
		"strange names": {"p *?[a]\"'", files{"p *?[a]\"'/é\n\t\\": "1", "p b/1": "1"},
			[]string{"p *?[a]\"'/é\n\t\\"}},
		"letters and spaces": {
			"my site/日本 docs", files{"my site/日本 docs/ü 1": "1", "my site/日本 docs/l": "-> ../other ö/a b",
				"my site/other ö/a b": "2", "my site/x": "3"},
			[]string{"my site/日本 docs/ü 1", "my site/日本 docs/l", "my site/other ö/a b"},
		},
		"file in the way": {"p", files{"p/l": "-> ../q/1/x", "q/1": "1"}, []string{"p/l"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOrigin(t)
			o.commit(test.content)
			servers := []func(*server){func(*server) {}}
			if strings.HasPrefix(name, "link") {
				servers = append(servers, with(without("filter")))
			}
			for _, how := range servers {
				r := newRepository(t, o.serve(how).url(o), ofPath(test.path))
				_, got := r.sync(t, "HEAD")
				slices.Sort(test.want)
				if names := slices.Sorted(maps.Keys(got)); !slices.Equal(names, test.want) {
					t.Errorf("checked out %q, want %q", names, test.want)
				}
				for name, text := range got {
					if text != test.content[name] {
						t.Errorf("%q has %q", name, text)
					}
				}
			}
		})
	}
}

// TestPathNotFound is refused before files are fetched. A link that leads to no directory makes no release.
func TestPathNotFound(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	o.commit(files{"p/file": "1"})
	s := o.serve()
	for _, path := range []string{"q", "p/file", "p/file/x"} {
		r := newRepository(t, s.url(o), ofPath(path))
		if _, err := r.Fetch(t.Context(), "HEAD"); !isReason(err, ReasonPathNotFound) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestSmallPathOfLargeRepository: transfer and disk follow the size of the path, and files come in one request.
func TestSmallPathOfLargeRepository(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	content := files{}
	for i := range 40 {
		content[fmt.Sprintf("media/%d", i)] = random(20_000)
		content[fmt.Sprintf("site/%d.html", i)] = random(1000)
	}
	o.commit(content)
	s := o.serve()
	r := newRepository(t, s.url(o), ofPath("site"))
	r.sync(t, "HEAD")
	size, err := r.Size()
	t.Logf("a path of 40 kB in 800 kB takes %d bytes of transfer and %d of disk, and %d requests",
		s.bytes(), size, s.posts())
	// The references, the commit with its directories, the files.
	if err != nil || s.bytes() > 150_000 || size > 150_000 || s.posts() > 3 {
		t.Errorf("more than expected: %v", err)
	}
	content["site/new.html"] = "new"
	o.commit(content)
	s.set(nil)
	r.sync(t, "HEAD")
	t.Logf("a push to it takes %d bytes and %d requests", s.bytes(), s.posts())
	if s.bytes() > 10_000 || s.posts() > 4 {
		t.Error("more than expected")
	}
	s.set(nil)
	r.sync(t, "HEAD")
	if s.posts() > 2 {
		t.Errorf("no push takes %d requests", s.posts())
	}
}

// TestID is the same for commits that differ elsewhere only.
func TestID(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	base := files{"p/1": "1", "p/l": "-> ../q/2", "q/2": "2", ".gitattributes": "x", "r/3": "3"}
	o.commit(base)
	r := newRepository(t, o.serve().url(o), ofPath("p"))
	before, _ := r.sync(t, "HEAD")
	for name, changes := range map[string]bool{"p/1": true, "q/2": true, ".gitattributes": true, "r/3": false,
		"q/4": false, "p/.gitattributes": true} {
		content := maps.Clone(base)
		content[name] = "changed"
		o.commit(content)
		after, _ := r.sync(t, "HEAD")
		if after.Commit == before.Commit || (after.ID != before.ID) != changes {
			t.Errorf("%s changes the ID: %t", name, after.ID != before.ID)
		}
	}
}

// TestManyLinks has the whole commit fetched rather than look for all that they lead to.
func TestManyLinks(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	content := files{"p/index.html": "1", "other": "2"}
	for i := range 200 {
		content[fmt.Sprintf("p/%d", i)] = fmt.Sprintf("-> ../d%d/x", i)
		content[fmt.Sprintf("d%d/x", i)] = "x"
	}
	// A chain that needs a round for each link.
	long := files{"p/index.html": "1", "c/40": "end", "other": "2"}
	long["p/l"] = "-> ../c/0"
	for i := range 40 {
		long[fmt.Sprintf("c/%d", i)] = fmt.Sprintf("-> %d", i+1)
	}
	for name, content := range map[string]files{"directories": content, "rounds": long} {
		o.commit(content)
		_, got := newRepository(t, o.serve().url(o), ofPath("p")).sync(t, "HEAD")
		if !maps.Equal(got, content) {
			t.Errorf("%s: checked out %d files of %d", name, len(got), len(content))
		}
	}
}

// TestCheckoutReplacesFiles: a release has links to the files of the worktree.
func TestCheckoutReplacesFiles(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	o.commit(files{"a": "one", "b": "same", ".gitattributes": "x"})
	r := newRepository(t, o.serve().url(o))
	r.sync(t, "HEAD")
	kept := t.TempDir()
	inode := map[string]any{}
	for _, name := range []string{"a", "b"} {
		mustLink(t, r.Worktree()+"/"+name, kept+"/"+name)
		inode[name] = inodeOf(t, r.Worktree()+"/"+name)
	}
	o.commit(files{"a": "two", "b": "same", ".gitattributes": "x"})
	r.sync(t, "HEAD")
	if got := readFiles(t, kept); got["a"] != "one" || got["b"] != "same" {
		t.Errorf("the links have %q", got)
	}
	if inodeOf(t, r.Worktree()+"/b") != inode["b"] {
		t.Error("a file that is the same was written again")
	}
	// Attributes decide how files are written.
	o.commit(files{"a": "x\n", "b": "same", ".gitattributes": "a eol=crlf"})
	r.sync(t, "HEAD")
	o.commit(files{"a": "x\n", "b": "same", ".gitattributes": "a -text"})
	if _, got := r.sync(t, "HEAD"); got["a"] != "x\n" {
		t.Errorf("after a change of attributes a file has %q", got["a"])
	}
}

// TestInvalidNames are no names of files.
func TestInvalidNames(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	blob := o.git(strings.NewReader("evil"), "hash-object", "-w", "--stdin")
	hooks := o.git(strings.NewReader("100755 blob "+blob+"\tpost-checkout"), "mktree")
	inner := o.git(strings.NewReader("040000 tree "+hooks+"\thooks"), "mktree")
	tree := o.git(strings.NewReader("040000 tree "+inner+"\t.git\n"), "mktree")
	outer := o.git(strings.NewReader("040000 tree "+tree+"\tp"), "mktree")
	o.git(nil, "update-ref", "refs/heads/main", o.git(nil, "commit-tree", "-m", "x", outer))
	for _, path := range []string{"", "p"} {
		r := newRepository(t, o.serve().url(o), ofPath(path))
		fetched, err := r.Fetch(t.Context(), "HEAD")
		if err == nil {
			err = r.Checkout(t.Context(), fetched)
		}
		if !isReason(err, ReasonCommitInvalid) {
			t.Errorf("checked out: %v: %s", err, errText(err))
		}
	}
}
