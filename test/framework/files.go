package framework

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// Path returns the path of a file of the repository.
func Path(elements ...string) string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(append([]string{file, "..", "..", ".."}, elements...)...)
}

// WriteFile writes a file of a test. The content is complete at once, as it is
// when a Secret or ConfigMap is mounted.
func WriteFile(t *testing.T, path string, content []byte) {
	t.Helper()
	temporary := filepath.Join(filepath.Dir(path), ".new-"+filepath.Base(path))
	if err := os.WriteFile(temporary, content, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(temporary, path); err != nil {
		t.Fatal(err)
	}
}
