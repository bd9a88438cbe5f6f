// Command suites runs the tests of this repository: "make test" and "make test-long" run it at the
// root of the checkout. Its table of suites is in suites.go.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// options are the flags of the command.
type options struct {
	suites   string
	long     bool
	list     bool
	parallel int
	coverage string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// After the first signal, the second one ends the program at once.
	context.AfterFunc(ctx, stop)
	var o options
	flag.StringVar(&o.suites, "suite", "", "Run these suites only, separated by commas")
	flag.BoolVar(&o.long, "long", false, "Run the long suites only, which are left out otherwise")
	flag.BoolVar(&o.list, "list", false, "Print the suites and exit")
	flag.IntVar(&o.parallel, "parallel", 2, "The maximum number of suites that run at once")
	flag.StringVar(&o.coverage, "coverage", "", "Add coverage data of pkg/ to this directory, and a profile")
	flag.Parse()
	passed, err := run(ctx, os.Stdout, o, flag.Args())
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "suites:", err)
	}
	if err != nil || !passed {
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, o options, args []string) (passed bool, err error) {
	root, err := os.Getwd()
	if err != nil {
		return false, fmt.Errorf("finding the working directory: %w", err)
	}
	if _, err := os.Stat(filepath.Join(root, "hack", "suites")); err != nil {
		return false, fmt.Errorf("run it at the root of the checkout: %w", err)
	}
	if len(args) > 0 || o.parallel < 1 || o.long && o.suites != "" {
		return false, errors.New("want no arguments, --parallel of at least 1, and --suite or --long, but not both")
	}
	plans, err := makePlans(ctx, root, suites)
	if err != nil {
		return false, err
	}
	unreliable, err := readUnreliable(filepath.Join(root, "test", "unreliable.txt"), plans)
	if err != nil {
		return false, err
	}
	last, err := userDurations()
	if err != nil {
		return false, err
	}
	for i := range plans {
		plans[i].last = last.of(plans[i].name)
	}
	if o.list {
		printPlans(out, plans)
		return true, nil
	}
	if plans, err = selected(plans, o); err != nil {
		return false, err
	}
	r := &runner{root: root, unreliable: unreliable}
	if o.coverage != "" {
		if r.coverage, err = filepath.Abs(o.coverage); err != nil {
			return false, fmt.Errorf("resolving --coverage: %w", err)
		}
	}
	if err := r.prepare(ctx, out, plans); err != nil {
		return false, err
	}
	return r.runAll(ctx, out, plans, o.parallel, last)
}

// selected returns the suites that the flags select, in the order of the table.
func selected(plans []plan, o options) ([]plan, error) {
	if o.suites == "" {
		return slices.DeleteFunc(slices.Clone(plans), func(p plan) bool { return p.long != o.long }), nil
	}
	names := strings.Split(o.suites, ",")
	for _, name := range names {
		if !slices.ContainsFunc(plans, func(p plan) bool { return p.name == name }) {
			return nil, fmt.Errorf("there is no suite %q: --list prints all", name)
		}
	}
	return slices.DeleteFunc(slices.Clone(plans), func(p plan) bool { return !slices.Contains(names, p.name) }), nil
}

// prepare sets the environment of the tests, and installs the tools that they need.
func (r *runner) prepare(ctx context.Context, out io.Writer, plans []plan) error {
	// git sets them for hooks and for "git rebase --exec": the tests' git commands would use
	// this repository.
	names, err := exec.CommandContext(ctx, "git", "rev-parse", "--local-env-vars").Output()
	if err != nil {
		return fmt.Errorf("asking git for its variables: %w", err)
	}
	for name := range strings.FieldsSeq(string(names)) {
		if err := os.Unsetenv(name); err != nil {
			return fmt.Errorf("removing %s: %w", name, err)
		}
	}
	// No variable contains the path of the checkout: go test's cache compares the values of all variables that a
	// test reads, so that new checkouts use its results as well.
	if err := os.Setenv("PWD", ""); err != nil {
		return fmt.Errorf("setting PWD: %w", err)
	}
	unpacked, err := userCache("tools")
	if err != nil {
		return err
	}
	path := os.Getenv("PATH")
	for _, dir := range []string{"nginx/usr/sbin", "prometheus/usr/bin"} {
		path += string(os.PathListSeparator) + filepath.Join(unpacked, dir)
	}
	if err := os.Setenv("PATH", path); err != nil {
		return fmt.Errorf("setting PATH: %w", err)
	}
	var tools []string
	race := false
	for _, p := range plans {
		tools = append(tools, p.tools...)
		race = race || slices.ContainsFunc(p.steps, func(st stepPlan) bool { return st.race })
	}
	slices.Sort(tools)
	if tools = slices.Compact(tools); len(tools) > 0 {
		install := r.command(ctx, ".", "hack/test-tools.sh", tools...)
		install.Stdout, install.Stderr = out, out
		if err := install.Run(); err != nil {
			return fmt.Errorf("running hack/test-tools.sh: %w", err)
		}
	}
	if race {
		compiler, err := exec.CommandContext(ctx, "go", "env", "CC").Output()
		if err != nil {
			return fmt.Errorf("asking go for the C compiler: %w", err)
		}
		name := strings.TrimSpace(string(compiler))
		if _, err := exec.LookPath(name); err == nil {
			r.race = true
		} else {
			fmt.Fprintf(out, "no C compiler (%s): the unit tests run without the race detector\n", name)
		}
	}
	if r.coverage != "" {
		return measureCoverage(r.coverage)
	}
	return nil
}

// runAll runs the suites and prints the report.
func (r *runner) runAll(ctx context.Context, out io.Writer, plans []plan, parallel int, last durations) (bool, error) {
	fmt.Fprintf(out, "at most %d suites run at once; their output is in %s\n\n", parallel, logFile("SUITE"))
	printPlans(out, plans)
	fmt.Fprintln(out)
	ended := func(o outcome) {
		printEnded(out, o)
		// Coverage makes a suite slower, and the cache of go test faster.
		if len(o.failures) == 0 && r.coverage == "" && !o.cached {
			if err := last.write(o.name, o.took); err != nil {
				fmt.Fprintln(out, err)
			}
		}
	}
	report := func(now []running) { printRunning(out, now) }
	outcomes := schedule(ctx, plans, parallel, r.run, ended, report)
	printOutcomes(out, outcomes)
	var coverageErr error
	if r.coverage != "" && ctx.Err() == nil {
		var file, total string
		if file, total, coverageErr = r.mergeCoverage(ctx); coverageErr == nil {
			fmt.Fprintf(out, "\ncoverage of %s in %s: %s\n", covered, file, total)
		}
	}
	passed := ctx.Err() == nil
	var sum results
	for _, o := range outcomes {
		sum.add(o.results)
		passed = passed && len(o.failures) == 0
	}
	fmt.Fprintf(out, "\n%s\n", sum.counts())
	return passed, coverageErr
}
