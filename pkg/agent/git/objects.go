package git

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// kinds of entries of a directory.
const modeTree, modeLink, modeModule = "40000", "120000", "160000"

// entry is one of a directory of a commit.
type entry struct{ mode, hash string }

func (e entry) isFile() bool { return strings.HasPrefix(e.mode, "100") }

// objects reads objects that are on the disk, by one git.
type objects struct {
	in  *os.File
	out *bufio.Reader
	end func()
}

func (r *Repository) openObjects(ctx context.Context) (*objects, error) {
	// A pipe of the system: nothing of this process waits for its other end when git is killed.
	input, in, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("reading objects: %w", err)
	}
	out, output := io.Pipe()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, err := r.run(ctx, command{args: []string{"cat-file", "--batch"}, stdin: input, stdout: output})
		_ = input.Close()
		_ = output.CloseWithError(cmp.Or(err, io.ErrUnexpectedEOF))
	}()
	return &objects{in: in, out: bufio.NewReader(out), end: func() {
		_, _ = in.Close(), out.Close()
		<-ended
	}}, nil
}

// errNoObject is an object that is not on the disk.
var errNoObject = errors.New("the object is not on the disk")

// read returns the hash and content of an object, and no content if there is more than a limit.
func (o *objects) read(name string, most int64) (hash string, content []byte, err error) {
	// If git has ended, reading says why.
	_, _ = fmt.Fprintln(o.in, name)
	line, err := o.out.ReadString('\n')
	if err != nil {
		return "", nil, err
	}
	hash, about, _ := strings.Cut(line, " ")
	var kind string
	var size int64
	if n, err := fmt.Sscanf(about, "%s %d", &kind, &size); n != 2 || err != nil {
		return "", nil, errNoObject
	}
	if size > most {
		_, err = io.CopyN(io.Discard, o.out, size)
	} else {
		content = make([]byte, size)
		_, err = io.ReadFull(o.out, content)
	}
	if err == nil {
		_, err = o.out.Discard(1)
	}
	return hash, content, err
}

// parseTree returns the entries of a directory by their names.
func parseTree(content []byte, hashSize int) map[string]entry {
	entries := map[string]entry{}
	for len(content) > 0 {
		head, rest, found := bytes.Cut(content, []byte{0})
		mode, name, _ := strings.Cut(string(head), " ")
		if !found || len(rest) < hashSize {
			break
		}
		entries[name] = entry{mode, fmt.Sprintf("%x", rest[:hashSize])}
		content = rest[hashSize:]
	}
	return entries
}
