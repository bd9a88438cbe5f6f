package gitsync

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/utils/clock"
)

func TestMemoryLimit(t *testing.T) {
	tests := map[string]struct {
		content string
		want    uint64
		wantErr bool
	}{
		"as by default":           {content: "268435456\n", want: 192 << 20},
		"less than git-sync maps": {content: "67108864\n", want: minMemory},
		"unlimited":               {content: "max\n"},
		"no number":               {content: "much\n", wantErr: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "memory.max")
			if err := os.WriteFile(file, []byte(test.content), 0o600); err != nil {
				t.Fatal(err)
			}
			if got, err := MemoryLimit(file); got != test.want || (err != nil) != test.wantErr {
				t.Errorf("got %d, %v, want %d, an error: %t", got, err, test.want, test.wantErr)
			}
		})
	}
	if got, err := MemoryLimit(filepath.Join(t.TempDir(), "none")); got != 0 || err != nil {
		t.Errorf("without cgroups v2: %d, %v", got, err)
	}
}

// TestOutOfMemory: what a command starts has the limit, and fails by it; git converts a file with attributes as a
// whole.
func TestOutOfMemory(t *testing.T) {
	repository := t.TempDir()
	git := func(args ...string) {
		t.Helper()
		if output, err := exec.Command("git", append([]string{"-C", repository}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v: %s", strings.Join(args, " "), err, output)
		}
	}
	git("init", "--quiet")
	for name, content := range map[string]string{".gitattributes": "* text=auto\n", "large.txt": strings.Repeat("a line\r\n", 20<<20)} {
		if err := os.WriteFile(filepath.Join(repository, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, test := range map[string]struct {
		limit uint64
		// wait is until the shell has the limit, which it gets after its start.
		wait  string
		fails bool
	}{"limited": {limit: minMemory, wait: `until [ "$(ulimit -d)" != unlimited ]; do :; done; `, fails: true}, "unlimited": {}} {
		t.Run(name, func(t *testing.T) {
			var output strings.Builder
			// A shell, so that git is started by what is limited.
			command := exec.Command("sh", "-c", test.wait+"git -C "+repository+" hash-object --path=large.txt large.txt")
			command.Stdout, command.Stderr = &output, &output
			s := &Supervisor{MemoryLimit: test.limit, Timeout: time.Minute, Clock: clock.RealClock{}}
			err := s.runBeside(t.Context(), command)
			if (err != nil) != test.fails {
				t.Fatalf("it has ended with %v: %s", err, output.String())
			}
			if test.fails && Classify(output.String()) != ReasonMemory {
				t.Errorf("the reason of %q is %s", output.String(), Classify(output.String()))
			}
		})
	}
}
