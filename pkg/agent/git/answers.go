package git

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"time"
)

// answers reads git's trace of the headers of HTTP responses, and keeps whether the last one was a web page: git itself
// reports a missing reference then, or that something is not valid.
type answers struct {
	read, write *os.File
	done        chan struct{}
	ok, page    bool
}

// observe gives a command the trace as its file 3, if it may reach a server.
func observe(cmd *exec.Cmd, remote bool) (*answers, error) {
	a := &answers{done: make(chan struct{})}
	if !remote {
		close(a.done)
		return a, nil
	}
	var err error
	if a.read, a.write, err = os.Pipe(); err != nil {
		close(a.done)
		return a, err
	}
	cmd.ExtraFiles = []*os.File{a.write}
	go func() {
		defer close(a.done)
		lines := bufio.NewReaderSize(a.read, 4<<10)
		for {
			line, isPrefix, err := lines.ReadLine()
			for more := isPrefix; more && err == nil; {
				_, more, err = lines.ReadLine()
			}
			if err != nil {
				return
			}
			if _, header, found := strings.Cut(string(line), "<= Recv header: "); found {
				a.header(header)
			}
		}
	}()
	return a, nil
}

func (a *answers) header(line string) {
	if strings.HasPrefix(line, "HTTP/") {
		_, status, _ := strings.Cut(line, " ")
		a.ok = strings.HasPrefix(status, "200")
		return
	}
	name, value, _ := strings.Cut(strings.ToLower(line), ":")
	if a.ok && name == "content-type" {
		value = strings.TrimSpace(value)
		a.page = strings.HasPrefix(value, "text/html") || strings.HasPrefix(value, "application/xhtml")
	}
}

// started closes the end of the trace that the command has.
func (a *answers) started() {
	if a.write != nil {
		_ = a.write.Close()
	}
}

// end reports whether the last response was a page.
func (a *answers) end() bool {
	if a.read == nil {
		return false
	}
	// A process that escaped its end must not delay this one.
	_ = a.read.SetReadDeadline(time.Now().Add(endGrace))
	<-a.done
	_ = a.read.Close()
	return a.page
}
