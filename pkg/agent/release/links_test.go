package release

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
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
		tree := &tree{source: worktree, target: filepath.Join(t.TempDir(), "release")}
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
