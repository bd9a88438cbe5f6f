package framework

import (
	"os"
	"path/filepath"
	"testing"
)

// root is the directory of the repository. It is looked up before a test changes the working
// directory. The compiler does not record it: programs are built without the paths of this machine.
var root = findRoot()

func findRoot() string {
	working, _ := os.Getwd()
	for dir := working; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "hack", "devcluster", "go.mod")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			return working // Later errors name the missing files.
		}
	}
}

// Path returns the path of a file of the repository. Tests run in the directory of their
// package, which is in it.
func Path(elements ...string) string { return filepath.Join(append([]string{root}, elements...)...) }

// WriteFile writes a file of a test. The content is replaced atomically, as in the volume of a
// Secret or ConfigMap.
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
