package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestCoverage merges the coverage of steps in two modules.
func TestCoverage(t *testing.T) {
	const imports = "\t\"github.com/kubesites/website-apiserver/pkg/a\"\n"
	root := checkout(t, map[string]string{
		"pkg/a/a.go":    "package a\n\nfunc One() int { return 1 }\n\nfunc Two() int { return 2 }\n",
		"one/p_test.go": testFile(imports, "func TestOne(t *testing.T) { a.One() }\n"),
		"test/go.mod": `module github.com/kubesites/website-apiserver/test

go 1.26

require github.com/kubesites/website-apiserver v0.0.0

replace github.com/kubesites/website-apiserver => ../
`,
		"test/two/p_test.go":  testFile(imports, "func TestTwo(t *testing.T) { a.Two() }\n"),
		"test/none/p_test.go": testFile("", "func TestNone(t *testing.T) {}\n"),
	})
	one := step{module: ".", packages: []string{"./one"}, cached: true}
	two := step{module: "test", packages: []string{"./two"}}
	none := step{module: "test", packages: []string{"./none"}}
	tests := map[string]struct {
		steps []step
		want  string
	}{
		"one module":  {steps: []step{one, none}, want: "50.0%"},
		"two modules": {steps: []step{one, two}, want: "100.0%"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := &runner{root: root, coverage: filepath.Join(t.TempDir(), "coverage")}
			// measureCoverage sets them, t.Setenv restores them.
			t.Setenv("GOFLAGS", "-trimpath")
			t.Setenv("GOCOVERDIR", "")
			if err := measureCoverage(r.coverage); err != nil {
				t.Fatal(err)
			}
			p := plansOf(t, root, suite{name: "s", steps: test.steps})[0]
			if got := r.run(t.Context(), p, &progress{}); len(got.failures) > 0 {
				t.Fatalf("%+v", got.failures)
			}
			file, total, err := r.mergeCoverage(t.Context())
			if err != nil || total != "total: (statements) "+test.want {
				t.Errorf("got %q, %v, want %s", total, err, test.want)
			}
			if _, err := os.Stat(file); err != nil {
				t.Error(err)
			}
		})
	}
}
