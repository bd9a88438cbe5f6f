package release

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestLongLinks: a link to a name that no file can have is one that leads nowhere.
func TestLongLinks(t *testing.T) {
	r := newRepository(t)
	s := newStore(t, r)
	long := strings.Repeat("x", 300)
	commit, made := s.publish(t, r, map[string]string{"index.html": "home", "long": "-> " + long, "deep": "-> dir/" + long + "/y", "dir/file": "x"})
	if got := files(t, s.Path(commit)); len(got) != 2 || made.RefusedLinks != 2 {
		t.Errorf("the release has %q, and %d links were refused", got, made.RefusedLinks)
	}
}

// TestLinksOfAnIncompleteWorktree: git-sync can begin to remove a worktree while a release is made of
// it. Without this, the release lacked what links led to, for good.
func TestLinksOfAnIncompleteWorktree(t *testing.T) {
	content := map[string]string{"index.html": "home", "pictures/a": "-> ../kept/a", "sub": "-> kept/sub", "kept/a": "1", "kept/sub/b": "2", "gone": "-> never/was"}
	for name, remove := range map[string]string{"a link": "pictures/a", "the file of a link": "kept/a", "the directory of a link": "kept/sub"} {
		r := newRepository(t)
		s := newStore(t, r)
		commit, worktree := r.commit(content)
		tree := newTree(worktree, filepath.Join(t.TempDir(), "release"))
		path := filepath.Join(worktree, remove)
		if err := os.Rename(path, path+".away"); err != nil {
			t.Fatal(err)
		}
		if err := tree.copy(t.Context()); err != nil {
			t.Fatal(err)
		}
		// As if it had been there while its files were linked.
		if away := filepath.Join(tree.target, remove) + ".away"; exists(away) {
			if err := os.Rename(away, strings.TrimSuffix(away, ".away")); err != nil {
				t.Fatal(err)
			}
		}
		if err := (&Store{}).verify(t.Context(), tree, r.dir, commit); err == nil || !strings.Contains(err.Error(), "the worktree is incomplete") {
			t.Errorf("without %s: %v", name, err)
		}
		if _, err := s.Make(t.Context(), r.dir, worktree, commit); err == nil {
			t.Errorf("without %s there is a release", name)
		}
	}
}

// TestLinksThatTakeTooMuch: what links take is limited in memory and time, and is enough for many links.
func TestLinksThatTakeTooMuch(t *testing.T) {
	// Half as long as a path can be.
	var names []string
	for i := range 8 {
		names = append(names, strings.Repeat(string(rune('a'+i)), 250))
	}
	chain := filepath.Join(names...)
	tests := map[string]struct {
		// dirs are there, and links has what each of them leads to.
		dirs  []string
		links func(add func(name, target string))
		want  string
	}{
		"many that lead to missing files with long paths": {
			dirs: []string{chain},
			links: func(add func(name, target string)) {
				add("through", chain)
				for i := range 8500 {
					add(fmt.Sprintf("link-%d", i), fmt.Sprintf("through/missing-%d", i))
				}
			},
			want: "the paths of its symbolic links, and of the missing files that they lead to, exceed 16 MiB",
		},
		"many in a directory with a long path": {
			dirs: []string{chain},
			links: func(add func(name, target string)) {
				add("directory", chain)
				for i := range 8500 {
					add(fmt.Sprintf("directory/%d", i), "/etc/passwd")
				}
			},
			want: "the paths of its symbolic links, and of the missing files that they lead to, exceed 16 MiB",
		},
		"many that lead to one missing file": {
			dirs: []string{chain},
			links: func(add func(name, target string)) {
				add("through", chain)
				for i := range 8500 {
					add(fmt.Sprintf("link-%d", i), "through/missing")
				}
			},
		},
		"links that lead through links, up and down": {
			dirs: []string{"a"},
			links: func(add func(name, target string)) {
				upAndDown := strings.Repeat("a/../", 800)
				for i := range 39 {
					add(fmt.Sprintf("step-%d", i), upAndDown+fmt.Sprintf("step-%d", i+1))
				}
				for i := range 200 {
					add(fmt.Sprintf("link-%d", i), "step-0")
				}
			},
			want: "its symbolic links lead through too many directories and other links",
		},
		"links whose targets are long, and nowhere": {
			links: func(add func(name, target string)) {
				behind := strings.Repeat("/x", 2000)
				for i := range 39 {
					add(fmt.Sprintf("step-%d", i), fmt.Sprintf("step-%d", i+1)+behind)
				}
				for i := range 200 {
					add(fmt.Sprintf("link-%d", i), "step-0")
				}
			},
			want: "its symbolic links lead through too many directories and other links",
		},
		"20,000 of a site": {
			dirs: []string{"releases/v1.2.3/docs/reference/pages"},
			links: func(add func(name, target string)) {
				for i := range 20_000 {
					add(fmt.Sprintf("releases/v1.2.3/docs/reference/pages/page-of-a-site-%d.html", i),
						fmt.Sprintf("../../../../v1.2.3/docs/reference/pages/other-pages-of-the-site-%d.html", i))
				}
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			source, target := t.TempDir(), filepath.Join(t.TempDir(), "release")
			for _, dir := range test.dirs {
				if err := os.MkdirAll(filepath.Join(source, dir), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			test.links(func(name, target string) {
				if err := os.Symlink(target, filepath.Join(source, name)); err != nil {
					t.Fatal(err)
				}
			})
			begin := time.Now()
			err := newTree(source, target).copy(t.Context())
			t.Logf("after %v: %v", time.Since(begin), err)
			switch {
			case test.want == "" && err != nil:
				t.Errorf("it was not made: %v", err)
			case test.want != "" && (!errors.Is(err, ErrTooLarge) || !strings.Contains(err.Error(), test.want)):
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

// TestLongMessage: anyone who may push can write a message of any length.
func TestLongMessage(t *testing.T) {
	r := newRepository(t)
	s := newStore(t, r)
	r.commit(map[string]string{"index.html": "home"})
	message := filepath.Join(t.TempDir(), "message")
	if err := os.WriteFile(message, []byte(strings.Repeat("word ", 1<<20)), 0o600); err != nil {
		t.Fatal(err)
	}
	r.git(r.dir, "commit", "--quiet", "--allow-empty", "--file="+message)
	commit := r.git(r.dir, "rev-parse", "HEAD")
	if err := s.keepAbout(t.Context(), r.dir, commit); err != nil {
		t.Fatal(err)
	}
	about := s.aboutFile(commit)
	data, err := os.ReadFile(about)
	if err != nil {
		t.Fatal(err)
	}
	if want := `"author":"t"`; len(data) > maxSubject+maxAuthor+100 || !strings.Contains(string(data), want) || !strings.Contains(string(data), "word word") {
		t.Errorf("kept is %s, want %s in it", data, want)
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
