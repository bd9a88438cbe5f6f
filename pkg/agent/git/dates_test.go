package git

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestDates: the modification time of a file is made of its content and the revision, on each replica and after each
// push.
func TestDates(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	url := o.serve().url(o)
	open := func(revision string) *Repository {
		return newRepository(t, url, ofPath("p"), func(o *Options) { o.Revision = revision })
	}
	one, two, other := open("1"), open("1"), open("2")
	date := func(r *Repository, name string) time.Time {
		t.Helper()
		info, err := os.Stat(filepath.Join(r.Worktree(), "p", name))
		if err != nil {
			t.Fatal(err)
		}
		return info.ModTime()
	}
	o.commit(files{"p/a": "a", "p/b": "b", "p/l": "-> a"})
	one.sync(t, "HEAD")
	a, b, inode := date(one, "a"), date(one, "b"), inodeOf(t, one.Worktree()+"/p/a")
	if a.Equal(b) || a.After(time.Unix(latestDate, 0)) || a.Before(time.Unix(1, 0)) {
		t.Errorf("the dates are %v and %v", a, b)
	}
	o.commit(files{"p/a": "a", "p/b": "c", "p/d/a": "a"})
	for _, r := range []*Repository{one, two, other} {
		r.sync(t, "HEAD")
		r.sync(t, "HEAD")
	}
	if got := date(one, "a"); !got.Equal(a) || inodeOf(t, one.Worktree()+"/p/a") != inode || !date(one, "d/a").Equal(a) {
		t.Errorf("the file that has not changed has the date %v, want %v, and the same inode", got, a)
	}
	for _, name := range []string{"a", "b"} {
		if !date(two, name).Equal(date(one, name)) || date(other, name).Equal(date(one, name)) {
			t.Errorf("%s has the dates %v, %v, and with another revision %v", name, date(one, name), date(two, name),
				date(other, name))
		}
	}
	if date(one, "b").Equal(b) {
		t.Error("a file that has changed has the date of before")
	}
	// The same content is checked out in another way.
	o.commit(files{"p/a": "a", "p/.gitattributes": "* text eol=crlf\n"})
	if one.sync(t, "HEAD"); date(one, "a").Equal(a) {
		t.Error("with other attributes the date is the same")
	}
}

// TestUnchangedFiles keep their inode and date during a push, in submodules too, also if git would not store them as
// they are checked out.
func TestUnchangedFiles(t *testing.T) {
	t.Parallel()
	site := newOrigin(t)
	s := site.serve()
	module := newOriginAt(t, filepath.Join(s.dir, "m.git"), "sha1")
	inModule := files{"x": "x", "crlf": "a\r\n", ".gitattributes": "* text\n"}
	content := files{
		".gitattributes": "* text=auto\n*.txt text\n*.bat text eol=crlf\n*.id ident\n*.utf working-tree-encoding=UTF-16\n",
		"a.html":         "a\r\nb\r\n", "b.txt": "a\r\nb\r\n", "c.bat": "a\r\nb\n", "d.bat": "a\nb\n", "e.id": "$Id: x$\n",
		"f.utf": "f\n", "g": "a\nb\n", "l": "-> g",
		"m": "@" + module.commit(inModule), modulesFile: declare("m", "../m.git"),
	}
	site.commit(content)
	r := newRepository(t, s.url(site), withModules(SubmodulesRecursive))
	_, before := r.sync(t, "HEAD")
	inodes, release := map[string]uint64{}, t.TempDir()
	for name := range before {
		inodes[name] = inodeOf(t, filepath.Join(r.Worktree(), name))
		mustLink(t, filepath.Join(r.Worktree(), name), filepath.Join(release, strings.ReplaceAll(name, "/", "-")))
	}
	for i, change := range []func(){
		func() { content["new"] = "1" },
		func() { content["new"] = "2" },
		func() { inModule["new"] = "3"; content["m"] = "@" + module.commit(inModule) },
	} {
		change()
		site.commit(content)
		_, after := r.sync(t, "HEAD")
		for name, text := range before {
			if inodeOf(t, filepath.Join(r.Worktree(), name)) != inodes[name] || after[name] != text {
				t.Errorf("push %d, which does not change %s, has written it again", i, name)
			}
		}
		_, fresh := newRepository(t, s.url(site), withModules(SubmodulesRecursive)).sync(t, "HEAD")
		if !maps.Equal(after, fresh) {
			t.Errorf("push %d: checked out %q, a fresh clone has %q", i, after, fresh)
		}
	}
}
