package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSelected(t *testing.T) {
	plans := []plan{
		{suite: suite{name: "unit"}}, {suite: suite{name: "api"}}, {suite: suite{name: "scale", long: true}},
	}
	tests := map[string]struct {
		options   options
		want      string
		wantError string
	}{
		"default":         {want: "unit api"},
		"long":            {options: options{long: true}, want: "scale"},
		"one":             {options: options{suites: "api"}, want: "api"},
		"a long one":      {options: options{suites: "scale,unit"}, want: "unit scale"},
		"an unknown one":  {options: options{suites: "unit,x"}, wantError: `no suite "x"`},
		"an empty name":   {options: options{suites: "unit,"}, wantError: `no suite ""`},
		"a part of a one": {options: options{suites: "uni"}, wantError: `no suite "uni"`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := selected(plans, test.options)
			if test.wantError != "" {
				if err == nil || !strings.Contains(err.Error(), test.wantError) {
					t.Fatalf("the error is %v, want one with %q", err, test.wantError)
				}
				return
			}
			var names []string
			for _, p := range got {
				names = append(names, p.name)
			}
			if err != nil || strings.Join(names, " ") != test.want {
				t.Errorf("got %q, %v, want %q", names, err, test.want)
			}
		})
	}
}

// TestRunAll compares the end of the output, and the recorded durations.
func TestRunAll(t *testing.T) {
	root := checkout(t, map[string]string{
		"good/p_test.go": testFile("", "func TestGood(t *testing.T) {}\n"),
		"bad/p_test.go":  testFile("", "func TestBad(t *testing.T) { t.Error(\"wrong\") }\n"),
	})
	good := suite{name: "good", steps: []step{{module: ".", packages: []string{"./good"}}}}
	cached := suite{name: "cached", steps: []step{{module: ".", packages: []string{"./good"}, cached: true}}}
	// The cache has its results then.
	if got := (&runner{root: root}).run(t.Context(), plansOf(t, root, cached)[0], &progress{}); len(got.failures) > 0 {
		t.Fatal(got.failures)
	}
	bad := suite{name: "bad", steps: []step{{module: ".", packages: []string{"./bad"}}}}
	tests := map[string]struct {
		suites     []suite
		wantPassed bool
		wantEnd    string
	}{
		"passes": {suites: []suite{good, cached}, wantPassed: true, wantEnd: "\n\n2 passed, 0 failed, 0 skipped\n"},
		"fails": {
			suites:  []suite{good, bad},
			wantEnd: "go test -count=1 -v -run='^TestBad$' ./bad\n\n1 passed, 1 failed, 0 skipped\n",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			last := durations(filepath.Join(t.TempDir(), "suites.json"))
			passed, err := (&runner{root: root}).runAll(t.Context(), &out, plansOf(t, root, test.suites...), 2, last)
			if err != nil || passed != test.wantPassed || !strings.HasSuffix(out.String(), test.wantEnd) {
				t.Errorf("got %v, %v, want %v and the end %q, got:\n%s", passed, err, test.wantPassed, test.wantEnd, out.String())
			}
			if last.of("good") == 0 || last.of("bad")+last.of("cached") != 0 {
				t.Errorf("durations: %v", last.read())
			}
		})
	}
}

func TestPrepare(t *testing.T) {
	root := checkout(t, map[string]string{
		"hack/test-tools.sh": "#!/bin/sh\necho \"tools: $*\"\n",
		"good/p_test.go":     testFile("", "func TestGood(t *testing.T) {}\n"),
	})
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	t.Setenv("PWD", root)
	steps := []step{{module: ".", packages: []string{"./good"}, race: true}}
	tests := map[string]struct {
		compiler, wantOut string
		wantRace          bool
	}{
		"C compiler": {compiler: filepath.Join(root, "hack", "test-tools.sh"), wantRace: true, wantOut: "tools: nginx ssh\n"},
		"no C compiler": {
			compiler: "/no/cc",
			wantOut:  "tools: nginx ssh\nno C compiler (/no/cc): the unit tests run without the race detector\n",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Setenv("CC", test.compiler)
			t.Setenv("GIT_DIR", "/no/git")
			t.Setenv("PATH", os.Getenv("PATH"))
			plans := plansOf(t, root, suite{name: "a", tools: []string{"ssh", "nginx"}, steps: steps},
				suite{name: "b", tools: []string{"ssh"}, steps: steps})
			r := &runner{root: root}
			var out strings.Builder
			if err := r.prepare(t.Context(), &out, plans); err != nil {
				t.Fatal(err)
			}
			if out.String() != test.wantOut || r.race != test.wantRace {
				t.Errorf("got %q, race detector %v, want %q, %v", out.String(), r.race, test.wantOut, test.wantRace)
			}
			if dir, found := os.LookupEnv("GIT_DIR"); found {
				t.Errorf("GIT_DIR is still set to %q", dir)
			}
			if path := os.Getenv("PATH"); !strings.HasSuffix(path,
				filepath.Join(cache, "website-apiserver/tools/prometheus/usr/bin")) {
				t.Errorf("PATH is %s", path)
			}
			for _, variable := range os.Environ() {
				if strings.Contains(variable, root) && !strings.HasPrefix(variable, "CC=") {
					t.Errorf("%s has the path of the checkout", variable)
				}
			}
		})
	}
}
