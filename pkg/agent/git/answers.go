package git

import (
	"regexp"
	"strings"
)

// errorOutput keeps the end of git's output, without its trace of the headers of HTTP responses, and records whether
// the last response was a web page: git itself reports a missing reference then, or that something is not valid.
type errorOutput struct {
	records
	printed  tail
	ok, page bool
}

// traced begins each line of a trace.
var traced = regexp.MustCompile(`^\d\d:\d\d:\d\d\.\d+ \S+:\d+ +`)

func newErrorOutput() *errorOutput {
	o := &errorOutput{}
	o.records = records{separator: '\n', each: func(line string) error {
		at := traced.FindStringIndex(line)
		if at == nil {
			_, _ = o.printed.Write([]byte(line + "\n"))
		} else if header, found := strings.CutPrefix(line[at[1]:], "<= Recv header: "); found {
			o.header(header)
		}
		return nil
	}}
	return o
}

func (o *errorOutput) header(line string) {
	if strings.HasPrefix(line, "HTTP/") {
		_, status, _ := strings.Cut(line, " ")
		o.ok = strings.HasPrefix(status, "200")
		return
	}
	name, value, _ := strings.Cut(strings.ToLower(line), ":")
	if o.ok && name == "content-type" {
		value = strings.TrimSpace(value)
		o.page = strings.HasPrefix(value, "text/html") || strings.HasPrefix(value, "application/xhtml")
	}
}

// String returns the end of the output.
func (o *errorOutput) String() string { return o.printed.String() + string(o.rest) }
