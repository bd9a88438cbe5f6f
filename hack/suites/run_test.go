package main

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestArguments(t *testing.T) {
	race := step{module: ".", packages: []string{"./..."}, race: true, cached: true}
	etcd := step{
		module: "test", packages: []string{"./a", "./b"}, tests: []string{"TestA", "TestB"},
		flags: []string{"-timeout=40m"}, args: []string{"-external-etcd"}, env: []string{"A=B"},
	}
	tests := map[string]struct {
		runner runner
		step   step
		args   []string
		want   string
	}{
		"cached": {runner: runner{race: true}, step: race,
			want: "CGO_ENABLED=1 test -json -vet=off -ldflags=-s -w -race ./..."},
		"without a compiler": {step: race, want: "test -json -vet=off -ldflags=-s -w ./..."},
		"with coverage": {
			runner: runner{coverage: "/tmp/c"}, step: race,
			want: "test -json -vet=off -ldflags=-s -w -count=1 -shuffle=on -exec=env 'GOCOVERDIR=/tmp/c' ./... -args " +
				"-test.gocoverdir=/tmp/c",
		},
		"all options": {
			runner: runner{race: true}, step: etcd, args: []string{"-cluster=/tmp/x"},
			want: "A=B test -json -vet=off -ldflags=-s -w -count=1 -shuffle=on -timeout=40m -run=^(TestA|TestB)$ ./a ./b " +
				"-args -external-etcd -cluster=/tmp/x",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			words := slices.Concat(test.runner.environment(test.step), test.runner.arguments(test.step, test.args))
			if got := strings.Join(words, " "); got != test.want {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}

func TestCommandThatRunsOneTest(t *testing.T) {
	tests := map[string]struct {
		runner runner
		step   step
		dir    string
		leaves []string
		want   []string
	}{
		"subtests": {
			step: step{module: "test", packages: []string{"./..."}}, dir: "./e2e", leaves: []string{"TestX/a.b", "TestX/it's"},
			want: []string{
				`(cd test && go test -count=1 -v -run='^TestX$/^a\.b$' ./e2e)`,
				`(cd test && go test -count=1 -v -run='^TestX$/^it'\''s$' ./e2e)`,
			},
		},
		"flags": {
			runner: runner{race: true},
			step:   step{module: ".", race: true, flags: []string{"-timeout=1h"}, args: []string{"-ha"}},
			dir:    "./pkg/x", leaves: []string{"TestX"},
			want: []string{`CGO_ENABLED=1 go test -count=1 -v -race -timeout=1h -run='^TestX$' ./pkg/x -args -ha`},
		},
		"a package": {step: step{module: "."}, dir: "./pkg/x", want: []string{"go test -count=1 -v ./pkg/x"}},
		"an unknown package": {
			step: step{module: ".", packages: []string{"./a", "./b"}}, want: []string{"go test -count=1 -v ./a ./b"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := test.runner.alone(test.step, test.dir, failure{leaves: test.leaves}); !slices.Equal(got, test.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(test.want, "\n"))
			}
		})
	}
}

// TestRun runs go test in a checkout with tests of every result.
func TestRun(t *testing.T) {
	flaky := filepath.Join(t.TempDir(), "failed")
	root := checkout(t, map[string]string{
		"good/p_test.go": testFile("", `func TestGood(t *testing.T)    {}
func TestSkipped(t *testing.T) { t.Skip("no browser") }
`),
		"bad/p_test.go": testFile("\t\"os\"\n", `func TestBad(t *testing.T) {
	t.Run("a b", func(t *testing.T) { t.Error("bad") })
}
func TestUnreliable(t *testing.T) {
	if _, err := os.Stat("`+flaky+`"); err != nil {
		if err := os.WriteFile("`+flaky+`", nil, 0o600); err != nil {
			t.Fatal(err)
		}
		t.Error("late")
	}
}
func TestListedAndBad(t *testing.T) { t.Error("always") }
`),
		"broken/p_test.go": testFile("", "func TestBroken(t *testing.T) { undefined() }\n"),
		"none/p_test.go":   testFile("", "func TestNone(t *testing.T) {}\n"),
	})
	tests := map[string]struct {
		steps              []step
		want               string
		titles, unreliable []string
		// output is a part of the output of the first failure.
		output string
	}{
		"passes": {steps: []step{{packages: []string{"./good"}}}, want: "1 passed, 0 failed, 1 skipped"},
		"does not compile": {
			steps: []step{{packages: []string{"./broken"}}}, want: "0 passed, 1 failed, 0 skipped",
			titles: []string{"package " + module + "/broken"}, output: "undefined: undefined",
		},
		"runs no test": {
			steps:  []step{{packages: []string{"./none"}, flags: []string{"-skip=TestNone"}}},
			want:   "0 passed, 1 failed, 0 skipped",
			titles: []string{"go test ./none in ."}, output: "no test ran",
		},
		"wrong flag": {
			steps: []step{{packages: []string{"./none"}, flags: []string{"-p=x"}}}, want: "0 passed, 1 failed, 0 skipped",
			titles: []string{"go test ./none in ."}, output: `invalid value "x" for flag -p`,
		},
		"the second step runs after a failure": {
			steps: []step{{packages: []string{"./bad"}}, {packages: []string{"./good"}}}, want: "2 passed, 2 failed, 1 skipped",
			titles:     []string{"TestBad in " + module + "/bad", "TestListedAndBad in " + module + "/bad, twice"},
			output:     "p_test.go",
			unreliable: []string{"TestUnreliable: slow disk"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			for i := range test.steps {
				test.steps[i].module = "."
			}
			r := &runner{root: root, unreliable: map[testKey]string{
				{"bad", "TestUnreliable"}: "slow disk", {"bad", "TestListedAndBad"}: "unknown", {"good", "TestGood"}: "passes",
			}}
			got := r.run(t.Context(), plansOf(t, root, suite{name: "s", steps: test.steps})[0], &progress{})
			var titles []string
			for _, f := range got.failures {
				titles = append(titles, f.title)
				if !strings.Contains(got.failures[0].output, test.output) || f.importPath != "" && len(f.alone) == 0 {
					t.Errorf("%s: want an output with %q and a command, got %+v", f.title, test.output, f)
				}
			}
			slices.Sort(titles)
			if got.counts() != test.want || !slices.Equal(titles, test.titles) {
				t.Errorf("got %s, %q, want %s, %q", got.counts(), titles, test.want, test.titles)
			}
			var unreliable []string
			for _, u := range got.unreliable {
				unreliable = append(unreliable, u.test+": "+u.reason)
			}
			if !slices.Equal(unreliable, test.unreliable) {
				t.Errorf("unreliable: %q, want %q", unreliable, test.unreliable)
			}
			if log, err := os.ReadFile(filepath.Join(root, logFile("s"))); err != nil || len(log) == 0 {
				t.Errorf("the log is %q, %v", log, err)
			}
		})
	}
}

// TestInterrupt interrupts a test that never ends.
func TestInterrupt(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	root := checkout(t, map[string]string{"p_test.go": testFile("\t\"net\"\n", `func TestForever(t *testing.T) {
	connection, err := net.Dial("tcp", "`+listener.Addr().String()+`")
	if err != nil {
		t.Fatal(err)
	}
	_, _ = connection.Read(make([]byte, 1))
}
`)})
	ctx, interrupt := context.WithCancelCause(t.Context())
	connected := make(chan net.Conn, 1)
	go func() {
		defer close(connected)
		connection, err := listener.Accept()
		interrupt(errors.New("interrupted"))
		if err == nil {
			connected <- connection
		}
	}()
	r := &runner{root: root}
	s := suite{name: "s", steps: []step{{module: ".", packages: []string{"."}}, {module: ".", packages: []string{"."}}}}
	got := r.run(ctx, plansOf(t, root, s)[0], &progress{})
	if got.counts() != "0 passed, 2 failed, 0 skipped" || got.failures[1].output != "interrupted\n" {
		t.Errorf("got %s: %+v", got.counts(), got.failures)
	}
	connection := <-connected
	if connection == nil {
		t.Fatal("the test did not run")
	}
	defer connection.Close()
	if _, err := connection.Read(make([]byte, 1)); err == nil {
		t.Error("the test still runs")
	}
}

// TestCommandStep: a command is one test, which passes or fails.
func TestCommandStep(t *testing.T) {
	root := checkout(t, map[string]string{
		"passes.sh": "#!/bin/sh\necho fine\n",
		"fails.sh":  "#!/bin/sh\necho broken\nexit 3\n",
	})
	plans := plansOf(
		t, root, suite{name: "commands", steps: []step{{command: []string{"./passes.sh", "10m"}},
			{command: []string{"./fails.sh"}}}},
	)
	if plans[0].tests != 2 {
		t.Errorf("the plan has %d tests, want 2", plans[0].tests)
	}
	found := (&runner{root: root}).run(t.Context(), plans[0], &progress{})
	if found.passed != 1 || len(found.failures) != 1 {
		t.Fatalf("got %s", found.counts())
	}
	f := found.failures[0]
	if f.title != "./fails.sh" || !strings.Contains(f.output, "broken\nexit status 3") ||
		!slices.Equal(f.alone, []string{"./fails.sh"}) {
		t.Errorf("the failure is %+v", f)
	}
}
