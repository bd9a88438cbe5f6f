package git

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMessage: author and subject of a commit are read without a server, at any length.
func TestMessage(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	server := o.serve()
	r := newRepository(t, server.url(o), ofPath("p"))
	for name, want := range map[string]string{"short": "An author\x00A subject",
		"long": "An author\x00" + strings.Repeat("x", 1<<20)} {
		_, subject, _ := strings.Cut(want, "\x00")
		o.git(strings.NewReader("commit refs/heads/main\nauthor An author <a@example.com> 1700000000 +0000\n"+
			"committer c <c@example.com> 1700000000 +0000\ndata <<END\n"+subject+"\n\nbody\nEND\nM 644 inline p/a\ndata 1\nx\n"),
			"fast-import", "--quiet", "--force")
		tree, _ := r.sync(t, "HEAD")
		author, subject, err := r.Message(t.Context(), tree)
		if got := strings.TrimSpace(author) + "\x00" + strings.TrimSpace(subject); err != nil ||
			got[:min(len(got), 100)] != want[:min(len(want), 100)] || len(got) > 1100 {
			t.Errorf("%s: %.100q, %v", name, got, err)
		}
	}
}

// TestCheck: the missing requirement is named.
func TestCheck(t *testing.T) {
	script := func(dir, name, content string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+content+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, test := range map[string]struct {
		programs map[string]string
		url      string
		want     string
	}{
		"all": {map[string]string{"sh": "", "git": "echo git version 2.47.1", "ssh": ""},
			"ssh://git@example.com/a", ""},
		"no ssh":       {map[string]string{"sh": "", "git": "echo git version 2.47.1"}, "git@example.com:a", "no ssh"},
		"none needed":  {map[string]string{"sh": "", "git": "echo git version 3.0.rc1"}, "https://example.com/a", ""},
		"no git":       {map[string]string{"sh": "", "ssh": ""}, "https://example.com/a", "no git"},
		"an older git": {map[string]string{"sh": "", "git": "echo git version 2.30.2"}, "https://example.com/a", "git 2.30"},
		"no shell":     {map[string]string{"git": ""}, "https://example.com/a", "no sh"},
		"another git":  {map[string]string{"sh": "", "git": "echo hello"}, "https://example.com/a", `"hello"`},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for program, content := range test.programs {
				script(dir, program, content)
			}
			t.Setenv("PATH", dir)
			err := newRepository(t, test.url).Check(t.Context())
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}
