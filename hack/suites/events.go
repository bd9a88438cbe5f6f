package main

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

// event is a line of "go test -json".
type event struct {
	Action, Package, Test, Output string
	// ImportPath is the package that is built, FailedBuild the failed dependency of a package.
	ImportPath, FailedBuild string
}

// collector reads the standard output of "go test -json". It writes the output of the tests to log.
type collector struct {
	log     io.Writer
	show    *progress
	results results
	// other is the output without events.
	other    strings.Builder
	partial  []byte
	builds   map[string]string
	packages map[string]*packageLog
}

// packageLog is a package that has not ended. Its output belongs to no test.
type packageLog struct {
	output strings.Builder
	tests  []*testLog
	byName map[string]*testLog
}

// testLog is a test or subtest. Without a result, it has not ended.
type testLog struct {
	name, result string
	output       strings.Builder
}

func newCollector(log io.Writer, show *progress) *collector {
	return &collector{log: log, show: show, builds: map[string]string{}, packages: map[string]*packageLog{}}
}

// Write implements io.Writer. It returns no errors, as these would end go test.
func (c *collector) Write(data []byte) (int, error) {
	c.partial = append(c.partial, data...)
	for {
		end := bytes.IndexByte(c.partial, '\n')
		if end < 0 {
			return len(data), nil
		}
		c.line(c.partial[:end+1])
		c.partial = c.partial[end+1:]
	}
}

// close returns the results. Packages that have not ended, as after an interrupt, have failed.
func (c *collector) close() results {
	for _, name := range slices.Sorted(maps.Keys(c.packages)) {
		c.packageEnded(event{Action: "fail", Package: name})
	}
	return c.results
}

func (c *collector) line(line []byte) {
	var e event
	if err := json.Unmarshal(line, &e); err != nil || e.Action == "" {
		e = event{Output: string(line)}
		c.other.Write(line)
	}
	// An error of the log fails no test.
	_, _ = io.WriteString(c.log, e.Output)
	if e.Action == "build-output" {
		c.builds[e.ImportPath] += e.Output
	}
	if e.Package == "" {
		return
	}
	p := c.packages[e.Package]
	if p == nil {
		p = &packageLog{byName: map[string]*testLog{}}
		c.packages[e.Package] = p
	}
	ended := e.Action == "pass" || e.Action == "fail" || e.Action == "skip"
	if e.Test == "" {
		p.output.WriteString(e.Output)
		c.results.cached = c.results.cached || strings.HasPrefix(e.Output, "ok ") && strings.Contains(e.Output, "(cached)")
		if ended {
			c.packageEnded(e)
		}
		return
	}
	t := p.test(e.Test)
	t.output.WriteString(e.Output)
	if !ended {
		return
	}
	t.result = e.Action
	if e.Action == "pass" {
		t.output.Reset()
	}
	if e.Test == topLevel(e.Test) {
		c.show.ended(e.Test, e.Action)
	}
}

func (p *packageLog) test(name string) *testLog {
	t := p.byName[name]
	if t == nil {
		t = &testLog{name: name}
		p.tests, p.byName[name] = append(p.tests, t), t
	}
	return t
}

func topLevel(test string) string {
	top, _, _ := strings.Cut(test, "/")
	return top
}

// packageEnded adds a package to the results. It is a failure itself if it failed in no test, or
// ended before its tests did: a build that fails, a panic, a timeout, an error of TestMain.
func (c *collector) packageEnded(e event) {
	p := c.packages[e.Package]
	delete(c.packages, e.Package)
	whole := failure{importPath: e.Package, title: "package " + e.Package, output: c.builds[e.FailedBuild]}
	failedTests := false
	var unfinished []string
	for _, t := range p.tests {
		if t.result == "skip" {
			c.results.skips = append(c.results.skips, skip{t.name, reason(t.output.String())})
		}
		if t.name != topLevel(t.name) {
			continue
		}
		switch t.result {
		case "pass":
			c.results.passed++
		case "skip":
			c.results.skipped++
		case "fail":
			failedTests = true
			f := p.failure(t.name)
			f.importPath, f.title = e.Package, t.name+" in "+e.Package
			c.results.failures = append(c.results.failures, f)
		default:
			unfinished = append(unfinished, t.name)
			whole.output += p.failure(t.name).output
		}
	}
	if e.Action != "fail" || failedTests && len(unfinished) == 0 {
		return
	}
	if len(unfinished) > 0 {
		whole.title += " ended before " + strings.Join(unfinished, ", ")
	}
	whole.output += p.output.String()
	c.results.failures = append(c.results.failures, whole)
	c.show.ended(path.Base(e.Package), "")
}

// failure describes a top-level test that failed or did not end, by the outputs of its subtests that did.
func (p *packageLog) failure(test string) failure {
	f := failure{test: test}
	for _, t := range p.tests {
		if topLevel(t.name) != test || t.result == "pass" || t.result == "skip" {
			continue
		}
		f.output += t.output.String()
		f.leaves = slices.DeleteFunc(f.leaves, func(other string) bool { return strings.HasPrefix(t.name, other+"/") })
		f.leaves = append(f.leaves, t.name)
	}
	return f
}

// position is the beginning of a message of a test, framing a line of the testing package.
var (
	position = regexp.MustCompile(`(?m)^\s*\S+\.go:\d+: `)
	framing  = regexp.MustCompile(`(?m)^\s*(===|---) .*$`)
)

// reason returns the message of t.Skip, the last one of a skipped test, as one line.
func reason(output string) string {
	messages := position.Split(framing.ReplaceAllString(output, ""), -1)
	if len(messages) == 1 {
		return "no reason"
	}
	return strings.Join(strings.Fields(messages[len(messages)-1]), " ")
}
