package agent

import (
	"os"
	"path/filepath"
	"testing"
)

// TestMemoryLimit: git gets less than the container, so that the kernel does not end the agent with it.
func TestMemoryLimit(t *testing.T) {
	for name, test := range map[string]struct {
		content string
		want    int64
		fails   bool
	}{
		"a limit": {"268435456\n", 192 << 20, false}, "none": {"max\n", 0, false},
		"cgroups v1": {"", 0, false}, "nonsense": {"much", 0, true},
	} {
		file := filepath.Join(t.TempDir(), "memory.max")
		if test.content != "" {
			if err := os.WriteFile(file, []byte(test.content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := MemoryLimit(file); got != test.want || (err != nil) != test.fails {
			t.Errorf("%s: %d, %v, want %d", name, got, err, test.want)
		}
	}
}
