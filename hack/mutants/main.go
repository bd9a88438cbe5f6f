// Command mutants breaks a copy of the checkout by each patch of test/mutants and runs the test that
// the patch names, which must fail. Its arguments are numbers of patches; by default it runs all. It
// is run at the root of the repository.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

func main() {
	r := runner{sound: map[test]bool{}}
	flag.BoolVar(&r.all, "all", false, "run each test that a patch names, and not the first one only")
	flag.BoolVar(&r.baseline, "baseline", false, "run each test without a patch before: it has to pass")
	flag.DurationVar(&r.timeout, "timeout", 20*time.Minute, "the maximum duration of one test")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	failures, err := r.tryAll(ctx, flag.Args())
	if err != nil {
		fmt.Fprintf(os.Stderr, "mutants: %v\n", err)
	}
	if failures > 0 || err != nil {
		os.Exit(1)
	}
}

// tryAll tries the mutants with these numbers, reports on each, and returns the number of
// uncaught ones.
func (r *runner) tryAll(ctx context.Context, numbers []string) (failures int, err error) {
	root, err := os.Getwd()
	if err != nil {
		return 0, err
	}
	paths, err := patches(root, numbers)
	if err != nil {
		return 0, err
	}
	if err := prepareEnvironment(root); err != nil {
		return 0, err
	}
	temporary, err := os.MkdirTemp("", "website-mutants-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(temporary)
	if r.checkout, err = newCheckout(root, filepath.Join(temporary, "checkout")); err != nil {
		return 0, err
	}
	r.logs = filepath.Join(root, "_artifacts", "mutants")
	if err := os.MkdirAll(r.logs, 0o755); err != nil {
		return 0, err
	}
	for _, path := range paths {
		start := time.Now()
		caught, err := r.try(ctx, path)
		if ctx.Err() != nil || errors.Is(err, errNotReverted) {
			return failures, errors.Join(ctx.Err(), err)
		}
		name, seconds := filepath.Base(path), time.Since(start).Seconds()
		if err != nil {
			failures++
			fmt.Printf("%s: FAILED: %v\n", name, err)
		} else {
			fmt.Printf("%s: caught by %s in %.0f s\n", name, strings.Join(caught, ", "), seconds)
		}
	}
	fmt.Printf("%d passed, %d failed\n", len(paths)-failures, failures)
	return failures, nil
}

// patches returns the patches with these numbers.
func patches(root string, numbers []string) ([]string, error) {
	if len(numbers) == 0 {
		numbers = []string{""}
	}
	var paths []string
	for _, number := range numbers {
		found, err := filepath.Glob(filepath.Join(root, "test", "mutants", number+"*.patch"))
		if err != nil || len(found) == 0 {
			return nil, cmp.Or(err, fmt.Errorf("no patch of test/mutants begins with %q", number))
		}
		paths = append(paths, found...)
	}
	return paths, nil
}

// prepareEnvironment makes the programs that hack/test-tools.sh unpacks available to the tests. In a
// git hook, the tests' git commands would otherwise change the repository of the hook.
func prepareEnvironment(root string) error {
	cache, err := os.UserCacheDir()
	if err != nil {
		return fmt.Errorf("finding the user's cache directory (set HOME or XDG_CACHE_HOME): %w", err)
	}
	names, err := run(root, "git", "rev-parse", "--local-env-vars")
	if err != nil {
		return err
	}
	for _, name := range strings.Fields(names) {
		if err := os.Unsetenv(name); err != nil {
			return err
		}
	}
	path := os.Getenv("PATH")
	for _, dir := range []string{"nginx/usr/sbin", "prometheus/usr/bin"} {
		path += string(os.PathListSeparator) + filepath.Join(cache, "website-apiserver", "tools", dir)
	}
	return os.Setenv("PATH", path)
}
