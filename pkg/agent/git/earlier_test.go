package git

import (
	"bytes"
	"maps"
	"strings"
	"testing"
)

// TestEarlier: files of the commits before one that it lacks are checked out, and the followed repository is left as it
// is.
func TestEarlier(t *testing.T) {
	t.Parallel()
	commits := []files{
		{"p/a-0.js": "too early", "p/index.html": "0"},
		{"p/a-1.js": "1\n", "p/x/b-1.js": "1", "p/index.html": "1", "q/c-1.js": "1", "p/l-1.js": "-> a-1.js"},
		{"p/a-2.js": "2", "p/b-1.js": "former", "p/x/b-1.js": "1", "p/index.html": "2"},
		{"p/a-3.js": "3", "p/b-1.js": "latter", "p/index.html": "3", ".gitattributes": "*.js eol=crlf"},
	}
	for name, test := range map[string]struct {
		how   []func(*server)
		tweak []func(*Options)
		want  files
	}{
		"all": {want: files{"p/a-1.js": "1\r\n", "p/x/b-1.js": "1", "p/a-2.js": "2", "q/c-1.js": "1",
			".gitattributes": "*.js eol=crlf"}},
		"of a path": {tweak: []func(*Options){ofPath("p")}, want: files{"p/a-1.js": "1\r\n", "p/x/b-1.js": "1",
			"p/a-2.js": "2", ".gitattributes": "*.js eol=crlf"}},
		"without shallow fetches": {how: []func(*server){with(without("shallow"))}},
		"without filters": {how: []func(*server){with(without("filter"))}, want: files{"p/a-1.js": "1\r\n",
			"p/x/b-1.js": "1", "p/a-2.js": "2", "q/c-1.js": "1", ".gitattributes": "*.js eol=crlf"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOrigin(t)
			o.history(commits...)
			r := newRepository(t, o.serve(test.how...).url(o), test.tweak...)
			tree, before := r.sync(t, "HEAD")
			var got files
			err := r.Earlier(t.Context(), tree, 2, func(name string) bool { return strings.Contains(name, "-") },
				func(dir string) error { got = readFiles(t, dir); return nil })
			if err != nil || !maps.Equal(got, test.want) {
				t.Errorf("%q, %v, want %q", got, err, test.want)
			}
			o.commit(commits[1])
			if _, after := r.sync(t, "HEAD"); after["p/index.html"] != "1" {
				t.Errorf("the next commit is checked out as %q, after %q", after, before)
			}
			if err := r.Compact(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// history replaces the branch by commits that follow each other.
func (o *origin) history(commits ...files) {
	o.t.Helper()
	var stream bytes.Buffer
	for _, content := range commits {
		o.writeCommit(&stream, "main", true, content)
	}
	o.git(&stream, "fast-import", "--quiet", "--force")
}

// TestEarlierFits: files of earlier commits take a part of the free space only.
func TestEarlierFits(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	o.history(files{"a-1": strings.Repeat("1", 1<<20)}, files{"a-2": "2"})
	for room, want := range map[int64]bool{8 << 20: false, 64 << 20: true} {
		r := newRepository(t, o.serve().url(o), withRoom(room))
		tree, _ := r.sync(t, "HEAD")
		used := false
		err := r.Earlier(t.Context(), tree, 4, func(string) bool { return true },
			func(string) error { used = true; return nil })
		if used != want || isReason(err, ReasonTooLarge) == want {
			t.Errorf("with %d MiB: used %t, %v", room>>20, used, err)
		}
	}
}
