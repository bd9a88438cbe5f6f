package release

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestLongLinks: a link to a name that no file can have is one that leads nowhere.
func TestLongLinks(t *testing.T) {
	r := newRepository(t)
	s := newStore(t, r)
	long := strings.Repeat("x", 300)
	commit := s.publish(t, r, map[string]string{"index.html": "home", "long": "-> " + long,
		"deep": "-> dir/" + long + "/y", "dir/file": "x"})
	if got := files(t, s.Path(commit)); len(got) != 2 || !slices.Equal(s.About(commit).Warnings, []Warning{WarningLinks}) {
		t.Errorf("the release has %q, and warnings %q", got, s.About(commit).Warnings)
	}
}

// TestLinksThatTakeTooMuch: the time that links take is limited, and is enough for many links.
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
			err := (&tree{source: source, target: target, maxFiles: maxFiles}).copy(t.Context())
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

// TestLongMessage: a commit message has any length and any characters.
func TestLongMessage(t *testing.T) {
	r := newRepository(t)
	s := newStore(t, r)
	source := r.commit(map[string]string{"index.html": "home"})
	source.About = About{Author: "t\x1b[31m", Subject: strings.Repeat("word ", 1<<20)}
	if err := s.Make(t.Context(), source); err != nil {
		t.Fatal(err)
	}
	if about := s.About(source.Commit); len(about.Subject) > MaxSubject ||
		!strings.HasPrefix(about.Subject, "word word") || about.Author != "t[31m" {
		t.Errorf("kept is %+v", about)
	}
}
