package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
)

// runner runs suites of the checkout in root.
type runner struct {
	root string
	// race is set on machines with a C compiler.
	race bool
	// coverage is the directory for coverage data. Default: none is written.
	coverage   string
	unreliable map[testKey]string
}

// logFile has the full output of a suite.
func logFile(suite string) string { return filepath.Join("_artifacts", "test", suite+".log") }

// run runs a suite. Every error is a failure in the results.
func (r *runner) run(ctx context.Context, p plan, show *progress) (all results) {
	fail := func(err error) {
		if err != nil {
			all.failures = append(all.failures, failure{title: "suite " + p.name, output: err.Error() + "\n"})
		}
	}
	file := filepath.Join(r.root, logFile(p.name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		fail(fmt.Errorf("creating the directory of the log: %w", err))
		return all
	}
	log, err := os.Create(file)
	if err != nil {
		fail(fmt.Errorf("creating the log: %w", err))
		return all
	}
	defer log.Close()
	var args []string
	if len(p.cluster) > 0 {
		dir, err := r.startCluster(ctx, p, log)
		defer func() { fail(r.stopCluster(ctx, p.name, dir, len(all.failures) > 0, log)) }()
		if err != nil {
			fail(err)
			return all
		}
		args = []string{"-cluster=" + dir}
	}
	for _, st := range p.steps {
		if ctx.Err() == nil {
			all.add(r.step(ctx, st, args, log, show))
		}
	}
	if ctx.Err() != nil {
		fail(context.Cause(ctx))
	}
	return all
}

// step runs a command, or go test and the failed unreliable tests once more, each alone.
func (r *runner) step(ctx context.Context, st stepPlan, args []string, log io.Writer, show *progress) results {
	if len(st.command) > 0 {
		return r.commandStep(ctx, st.command, log, show)
	}
	found := r.goTest(ctx, st.step, args, log, show)
	failures := found.failures
	found.failures = nil
	for _, f := range failures {
		dir := st.dirOf(f.importPath)
		f.alone = r.alone(st.step, dir, f)
		reason, listed := r.unreliable[testKey{path.Join(st.module, dir), f.test}]
		if listed && ctx.Err() == nil {
			again := st.step
			again.packages, again.tests, again.cached = []string{dir}, []string{f.test}, false
			second := r.goTest(ctx, again, args, log, &progress{})
			if second.passed == 1 && len(second.failures) == 0 {
				found.passed++
				found.unreliable = append(found.unreliable, unreliable{f.test, reason, f.output})
				continue
			}
			f.title += ", twice"
		}
		found.failures = append(found.failures, f)
	}
	return found
}

// commandStep runs a command.
func (r *runner) commandStep(ctx context.Context, command []string, log io.Writer, show *progress) results {
	var output strings.Builder
	cmd := r.command(ctx, ".", command[0], command[1:]...)
	cmd.Stdout = io.MultiWriter(&output, log)
	cmd.Stderr = cmd.Stdout
	line := strings.Join(command, " ")
	if err := cmd.Run(); err != nil {
		show.ended(line, "fail")
		said := fmt.Sprintf("%s%v\n", output.String(), err)
		return results{failures: []failure{{title: line, output: said, alone: []string{line}}}}
	}
	show.ended(line, "pass")
	return results{passed: 1}
}

// goTest runs go test.
func (r *runner) goTest(ctx context.Context, st step, args []string, log io.Writer, show *progress) results {
	events, stderr := newCollector(log, show), &strings.Builder{}
	cmd := r.command(ctx, st.module, "go", r.arguments(st, args)...)
	cmd.Env = append(cmd.Env, r.environment(st)...)
	cmd.Stdout, cmd.Stderr = events, io.MultiWriter(stderr, log)
	err := cmd.Run()
	found := events.close()
	if err == nil && found.passed+found.skipped+len(found.failures) == 0 {
		err = errors.New("no test ran")
	}
	if err != nil && len(found.failures) == 0 {
		found.failures = append(found.failures, failure{
			title:  fmt.Sprintf("go test %s in %s", strings.Join(st.packages, " "), st.module),
			output: fmt.Sprintf("%s%s%v\n", events.other.String(), stderr.String(), err),
		})
	}
	return found
}

// command returns a command in a process group of its own. An interrupt of the runner interrupts
// the whole group: go test waits for the tests then, which it does not at SIGTERM.
func (r *runner) command(ctx context.Context, dir, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	// Compilers, linkers, tests and their clusters collect garbage less often, which takes more memory, and less CPU time.
	cmd.Dir, cmd.Env = filepath.Join(r.root, dir), append(os.Environ(), "GOGC=400")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
	return cmd
}

// arguments returns the arguments of go.
func (r *runner) arguments(st step, args []string) []string {
	// make verify runs go vet. The subset of go test would analyze all dependencies once more, and again for -race.
	// The linker leaves out debugging information, which no test reads.
	line := []string{"test", "-json", "-vet=off", "-ldflags=-s -w"}
	if !st.cached || r.coverage != "" {
		line = append(line, "-count=1", "-shuffle=on")
	}
	if r.coverage != "" {
		// go test makes the tests, and the programs that they start, write to a temporary directory.
		line = append(line, "-exec=env 'GOCOVERDIR="+r.coverage+"'")
		args = append(slices.Clone(args), "-test.gocoverdir="+r.coverage)
	}
	line = append(line, r.flags(st)...)
	if len(st.tests) > 0 {
		line = append(line, "-run=^("+strings.Join(st.tests, "|")+")$")
	}
	line = append(line, st.packages...)
	if args = slices.Concat(st.args, args); len(args) > 0 {
		line = append(append(line, "-args"), args...)
	}
	return line
}

func (r *runner) flags(st step) []string {
	if st.race && r.race {
		return append([]string{"-race"}, st.flags...)
	}
	return st.flags
}

func (r *runner) environment(st step) []string {
	if st.race && r.race {
		return append([]string{"CGO_ENABLED=1"}, st.env...)
	}
	return st.env
}

// alone returns the commands for a shell that run the failed tests of a package alone, or the package.
func (r *runner) alone(st step, dir string, f failure) []string {
	if dir == "" {
		dir = strings.Join(st.packages, " ")
	}
	line := slices.Concat(r.environment(st), []string{"go test -count=1 -v"}, r.flags(st))
	command := func(words ...string) string {
		if len(st.args) > 0 {
			words = append(append(words, "-args"), st.args...)
		}
		text := strings.Join(slices.Concat(line, words), " ")
		if st.module != "." {
			return fmt.Sprintf("(cd %s && %s)", st.module, text)
		}
		return text
	}
	if len(f.leaves) == 0 {
		return []string{command(dir)}
	}
	var commands []string
	for _, test := range f.leaves {
		commands = append(commands, command("-run="+pattern(test), dir))
	}
	return commands
}

// pattern matches one test or subtest, quoted for a shell.
func pattern(test string) string {
	elements := strings.Split(test, "/")
	for i, element := range elements {
		elements[i] = "^" + regexp.QuoteMeta(element) + "$"
	}
	return "'" + strings.ReplaceAll(strings.Join(elements, "/"), "'", `'\''`) + "'"
}

// dirOf returns the directory of a package, relative to its module, or "" for an unknown package.
func (st stepPlan) dirOf(importPath string) string {
	for _, p := range st.packages {
		if p.importPath == importPath {
			return p.dir
		}
	}
	return ""
}
