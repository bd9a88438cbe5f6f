package git

import (
	"os"
	"path/filepath"
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
