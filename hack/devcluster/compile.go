package devcluster

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"
)

// compilation is one run of go build.
type compilation struct {
	dir     string // the module
	pkg     string // the main package
	out     string // the program
	ldflags string
}

// notStale is what go list says of a package whose compiled form is in Go's build cache.
const notStale = "not installed but available in build cache"

// run builds the program. say is called with what is going on, often.
func (c compilation) run(ctx context.Context, say func(string)) error {
	say("looking what has to be compiled")
	missing, err := c.missing(ctx, say)
	if err != nil {
		return err
	}
	say("linking")
	if missing > 0 {
		say(fmt.Sprintf("compiling %d packages", missing))
	}
	compiled := 0
	args := []string{"build", "-v", "-trimpath", "-buildvcs=false"}
	if c.ldflags != "" {
		args = append(args, "-ldflags", c.ldflags)
	}
	return goTool(ctx, c.dir, append(args, "-o", c.out, c.pkg), nil, func(line string) {
		// With -v, go build prints the import path of each package it compiles.
		if strings.ContainsAny(line, " \t") {
			return
		}
		compiled++
		if compiled < missing {
			say(fmt.Sprintf("%d of %d packages compiled", compiled, missing))
		} else {
			say(fmt.Sprintf("%d packages compiled, linking", compiled))
		}
	})
}

// missing counts the packages that have to be compiled. It downloads modules.
func (c compilation) missing(ctx context.Context, say func(string)) (int, error) {
	const format = `{{if .Stale}}{{if ne .StaleReason "` + notStale + `"}}{{.ImportPath}}{{end}}{{end}}`
	count, modules := 0, 0
	err := goTool(ctx, c.dir, []string{"list", "-deps", "-trimpath", "-f", format, c.pkg},
		func(line string) {
			if line != "" {
				count++
			}
		},
		func(line string) {
			if name, ok := strings.CutPrefix(line, "go: downloading "); ok {
				modules++
				say(fmt.Sprintf("downloading Go modules, %d so far, now %s", modules, name))
			}
		})
	return count, err
}

// goTool runs go and hands over what it prints line by line. Its error ends with the
// last lines of standard error that are not mere progress.
func goTool(ctx context.Context, dir string, args []string, onStdout, onStderr func(line string)) error {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = goEnv()
	// Interrupted compilers need a moment; whatever holds the pipes longer is given up on.
	cmd.WaitDelay = 5 * time.Second
	var tail []string
	stdout, stderr := newLines(onStdout), newLines(func(line string) {
		if strings.ContainsAny(line, " \t") && !strings.HasPrefix(line, "go: downloading ") {
			tail = append(tail, line)
			tail = tail[max(0, len(tail)-2*tailLines):]
		}
		onStderr(line)
	})
	cmd.Stdout, cmd.Stderr = stdout.w, stderr.w
	err := cmd.Run()
	stdout.close()
	stderr.close()
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("go %s in %s: %w", args[0], dir, context.Cause(ctx))
	default:
		return fmt.Errorf("go %s %s in %s: %w\n    %s", args[0], args[len(args)-1], dir, err, strings.Join(tail, "\n    "))
	}
}

// lines splits a stream into lines.
type lines struct {
	w    *io.PipeWriter
	over chan struct{}
}

func newLines(each func(string)) *lines {
	r, w := io.Pipe()
	l := &lines{w: w, over: make(chan struct{})}
	go func() {
		defer close(l.over)
		scanner := bufio.NewScanner(r)
		scanner.Buffer(nil, 1<<20)
		for scanner.Scan() {
			if each != nil {
				each(scanner.Text())
			}
		}
		// A line too long for the scanner must not block the writer.
		_, _ = io.Copy(io.Discard, r)
	}()
	return l
}

// close returns when the last line has been handed over.
func (l *lines) close() {
	_ = l.w.Close()
	<-l.over
}
