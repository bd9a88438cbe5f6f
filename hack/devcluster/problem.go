package devcluster

import (
	"bytes"
	"fmt"
	"os"
	"strings"
)

// These bound the part of a log in an error message.
const tailLines, tailLineLength = 12, 400

// ComponentError reports a problem of a component, and its log.
type ComponentError struct {
	// Component is the name of the component, such as "kube-apiserver".
	Component string
	// Problem continues a sentence that begins with the component's name.
	Problem string
	// LogFile is the path of the component's log.
	LogFile string
	// LogTail are the last lines of the log since the last start.
	LogTail []string
}

// Error names the component and its log file, followed by the end of the log.
func (e *ComponentError) Error() string {
	var b strings.Builder
	_, _ = fmt.Fprintf(&b, "%s %s; its log is %s", e.Component, e.Problem, e.LogFile)
	if len(e.LogTail) == 0 {
		b.WriteString(" (empty since its start)")
		return b.String()
	}
	b.WriteString(" and ends with:")
	for _, line := range e.LogTail {
		b.WriteString("\n    " + line)
	}
	return b.String()
}

func (p *Process) problem(format string, args ...any) error {
	var offset int64
	if r := p.current(); r != nil {
		offset = r.record.LogOffset
	}
	return &ComponentError{
		Component: p.spec.name,
		Problem:   fmt.Sprintf(format, args...),
		LogFile:   p.LogFile(),
		LogTail:   logTail(p.LogFile(), offset),
	}
}

// logTail returns the last lines of a log after offset. It returns no error, as it
// is used for messages about other errors.
func logTail(path string, offset int64) []string {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	data = bytes.TrimSpace(data[min(offset, int64(len(data))):])
	if len(data) == 0 {
		return nil
	}
	lines := strings.Split(string(data), "\n")
	lines = lines[max(0, len(lines)-tailLines):]
	for i, line := range lines {
		if len(line) > tailLineLength {
			lines[i] = line[:tailLineLength] + "..."
		}
	}
	return lines
}
