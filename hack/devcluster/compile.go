package devcluster

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

// compilation is one run of go build.
type compilation struct {
	dir     string // the module
	pkg     string // the main package
	out     string // the program
	ldflags string
	// stripped is a module whose packages have no debugging information, which the linker leaves out anyway: the
	// compiler takes a fifth less CPU time. Packages that other programs import are compiled once, with the same flags.
	stripped string
}

// run builds the program and reports the progress of go build, after a prefix. Its error ends with the
// last lines of go's output.
func (c compilation) run(ctx context.Context, s *step, prefix string) error {
	args := []string{"build", "-v", "-trimpath", "-buildvcs=false", "-ldflags=" + c.ldflags, "-o", c.out}
	if c.stripped != "" {
		args = append(args, "-gcflags="+c.stripped+"/...=-dwarf=false")
	}
	cmd := exec.CommandContext(ctx, "go", append(args, c.pkg)...)
	cmd.Dir, cmd.Env = c.dir, goEnv()
	interrupt(cmd)
	stderr, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return fmt.Errorf("running go build: %w", err)
	}
	s.set("%schecking for changes", prefix)
	modules, packages := 0, 0
	var tail []string
	lines := bufio.NewScanner(stderr)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		switch {
		case strings.HasPrefix(line, "go: downloading "):
			modules++
			s.set("%sdownloading Go modules, %d so far", prefix, modules)
		case !strings.ContainsAny(line, " \t"): // with -v, the import path of a package
			packages++
			s.compiled(1)
			s.set("%scompiling packages, %d so far", prefix, packages)
		default:
			tail = append(tail, line)
			tail = tail[max(0, len(tail)-2*tailLines):]
		}
	}
	err = errors.Join(lines.Err(), cmd.Wait())
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("building %s: %w", filepath.Base(c.out), context.Cause(ctx))
	default:
		return fmt.Errorf("go build %s in %s: %w\n    %s", c.pkg, c.dir, err, strings.Join(tail, "\n    "))
	}
}
