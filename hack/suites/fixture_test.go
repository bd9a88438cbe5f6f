package main

import (
	"os"
	"path/filepath"
	"testing"
)

// module is the name of the main module of a checkout, and of this one.
const module = "github.com/kubesites/website-apiserver"

// checkout writes a checkout for a test, and returns its root.
func checkout(t *testing.T, files map[string]string) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	files["go.mod"] = "module " + module + "\n\ngo 1.26\n"
	for name, content := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	// These are the flags of the Makefile, with which the standard library is compiled already.
	for name, value := range map[string]string{
		"GOFLAGS": "-trimpath", "CGO_ENABLED": "0", "GOWORK": "off", "GOCOVERDIR": "",
	} {
		t.Setenv(name, value)
	}
	return root
}

// testFile is the source of a test file of package p.
func testFile(imports, tests string) string {
	return "package p\n\nimport (\n\t\"testing\"\n" + imports + ")\n\n" + tests
}

// plansOf makes the plans of suites, whose steps are in the main module.
func plansOf(t *testing.T, root string, suites ...suite) []plan {
	t.Helper()
	plans, err := makePlans(t.Context(), root, suites)
	if err != nil {
		t.Fatal(err)
	}
	return plans
}
