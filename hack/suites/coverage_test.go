package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestCoverage merges the coverage of steps in two modules, and of a program that a test starts.
func TestCoverage(t *testing.T) {
	const imports = "\t\"" + module + "/pkg/a\"\n"
	root := checkout(t, map[string]string{
		"pkg/a/a.go": `package a

func One() int { return 1 }

func Two() int { return 2 }

func Three() int { return 3 }

func Four() int { return 4 }
`,
		"cmd/program/main.go": "package main\n\nimport \"" + module + "/pkg/a\"\n\nfunc main() { a.Three() }\n",
		"one/p_test.go":       testFile(imports, "func TestOne(t *testing.T) { a.One() }\n"),
		"test/go.mod": `module github.com/kubesites/website-apiserver/test

go 1.26

require github.com/kubesites/website-apiserver v0.0.0

replace github.com/kubesites/website-apiserver => ../
`,
		"test/two/p_test.go": testFile(imports, "func TestTwo(t *testing.T) { a.Two() }\n"),
		"test/program/p_test.go": testFile("\t\"os/exec\"\n", `func TestProgram(t *testing.T) {
	program := t.TempDir() + "/program"
	build := exec.Command("go", "build", "-o", program, "./cmd/program")
	build.Dir = "../.."
	for _, cmd := range []*exec.Cmd{build, exec.Command(program)} {
		if output, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, output)
		}
	}
}
`),
	})
	one := step{module: ".", packages: []string{"./one"}, cached: true}
	two := step{module: "test", packages: []string{"./two"}}
	program := step{module: "test", packages: []string{"./program"}}
	tests := map[string]struct {
		steps []step
		want  string
	}{
		"one module":  {steps: []step{one}, want: "25.0%"},
		"two modules": {steps: []step{one, two}, want: "50.0%"},
		"a program":   {steps: []step{one, two, program}, want: "75.0%"},
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
