package main

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPlans(t *testing.T) {
	root := checkout(t, map[string]string{
		"a/a_test.go": testFile("", `func TestOne(t *testing.T) {}
func TestTwo(t *testing.T)   { t.Run("Test", func(t *testing.T) {}) }
func FuzzThree(f *testing.F) {}
func TestMain(m *testing.M)  { m.Run() }
func Testing(t *testing.T)   {}
func Test(t *testing.T)      {}
`),
		"a/b/b_test.go":         testFile("", "func TestOne(t *testing.T) {}\n"),
		"a/b/x_test.go":         "package p_test\n\nimport \"testing\"\n\nfunc TestX(t *testing.T) {}\n",
		"a/b/c_plan9_test.go":   testFile("", "func TestElsewhere(t *testing.T) {}\n"),
		"none/none.go":          "package none\n",
		"nested/go.mod":         "module example.test/nested\n\ngo 1.26\n",
		"nested/n/n_test.go":    testFile("", "func TestNested(t *testing.T) {}\n"),
		"a/testdata/td_test.go": testFile("", "func TestData(t *testing.T) {}\n"),
	})
	tests := map[string]struct {
		step      step
		want      int
		wantError string
	}{
		"all":            {step: step{module: ".", packages: []string{"./..."}}, want: 6},
		"one package":    {step: step{module: ".", packages: []string{"./a"}}, want: 4},
		"below":          {step: step{module: ".", packages: []string{"./a/..."}}, want: 6},
		"another module": {step: step{module: "nested", packages: []string{"./..."}}, want: 1},
		"of several packages": {
			step: step{module: ".", packages: []string{"./..."}, tests: []string{"TestOne", "TestTwo"}}, want: 3,
		},
		"a test that is gone": {
			step: step{module: ".", packages: []string{"./a"}, tests: []string{"TestOne", "TestGone"}}, wantError: "TestGone",
		},
		"a package without one": {step: step{module: ".", packages: []string{"./none"}}, wantError: "has no test"},
		"a package that is gone": {
			step: step{module: ".", packages: []string{"./gone"}}, wantError: "gone: directory not found",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			plans, err := makePlans(t.Context(), root, []suite{{name: "s", steps: []step{test.step}}})
			if test.wantError != "" {
				if err == nil || !strings.Contains(err.Error(), test.wantError) {
					t.Fatalf("the error is %v, want one with %q", err, test.wantError)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if plans[0].tests != test.want {
				t.Errorf("%d tests, want %d", plans[0].tests, test.want)
			}
		})
	}
}

func TestReadUnreliable(t *testing.T) {
	plans := []plan{{steps: []stepPlan{
		{step{module: "test"}, []pkg{{dir: "./e2e", tests: []string{"TestA", "TestB"}}}},
		{step{module: "."}, []pkg{{dir: "./pkg/x", tests: []string{"TestC"}}}},
	}}}
	tests := map[string]struct {
		list      string
		want      map[testKey]string
		wantError string
	}{
		"empty": {list: "# a comment\n\n", want: map[testKey]string{}},
		"two": {
			list: "test/e2e TestA slow disk\npkg/x TestC  why\n",
			want: map[testKey]string{{"test/e2e", "TestA"}: "slow disk", {"pkg/x", "TestC"}: "why"},
		},
		"no reason":      {list: "# x\ntest/e2e TestA\n", wantError: ":2: want a package, a test and a reason"},
		"no such test":   {list: "test/e2e TestC why\n", wantError: ":1: package test/e2e has no test TestC"},
		"no such module": {list: "e2e TestA why\n", wantError: "package e2e has no test TestA"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "unreliable.txt")
			if err := os.WriteFile(file, []byte(test.list), 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := readUnreliable(file, plans)
			if test.wantError != "" {
				if err == nil || !strings.Contains(err.Error(), test.wantError) {
					t.Fatalf("the error is %v, want one with %q", err, test.wantError)
				}
				return
			}
			if err != nil || !maps.Equal(got, test.want) {
				t.Errorf("got %v, %v, want %v", got, err, test.want)
			}
		})
	}
}
