package gitsync

import (
	"bytes"
	"cmp"
	"errors"
	"slices"
	"strings"
)

const (
	headPrefix = "refs/heads/"
	// maxBranches is how many branches are reported.
	maxBranches = 100
	// maxListed and maxLine are how much is read of what a server says, and of one line.
	maxListed = 256 << 20
	maxLine   = 4 << 10
)

// errListTooLong ends a git whose server does not stop to send references.
var errListTooLong = errors.New("the list of references is too long")

// listedBranches reads what git ls-remote prints, and keeps the branches that match.
type listedBranches struct {
	match    func(branch string) bool
	branches Branches
	// any is true if there are branches at all.
	any bool

	read int
	line []byte
}

// Write reads the next part. It keeps no more than one line and the branches.
func (l *listedBranches) Write(data []byte) (int, error) {
	size := len(data)
	if l.read += size; l.read > maxListed {
		return 0, errListTooLong
	}
	for {
		line, rest, ended := bytes.Cut(data, []byte("\n"))
		if len(l.line) <= maxLine {
			l.line = append(l.line, line[:min(len(line), maxLine+1)]...)
		}
		if !ended {
			return size, nil
		}
		if len(l.line) <= maxLine {
			l.take(string(l.line))
		}
		l.line, data = l.line[:0], rest
	}
}

// take reads a line: a hash and a reference, or the reference that HEAD is.
func (l *listedBranches) take(line string) {
	value, ref, _ := strings.Cut(line, "\t")
	if target, isSymbolic := strings.CutPrefix(value, "ref: "); isSymbolic {
		if branch, ok := strings.CutPrefix(target, headPrefix); ok && ref == "HEAD" {
			l.branches.Head = branch
		}
		return
	}
	branch, isBranch := strings.CutPrefix(ref, headPrefix)
	if !isBranch {
		return
	}
	l.any = true
	if !l.match(branch) {
		return
	}
	list := l.branches.List
	at, present := slices.BinarySearchFunc(list, branch, func(known Branch, name string) int { return cmp.Compare(known.Name, name) })
	if present {
		return
	}
	list = slices.Insert(list, at, Branch{Name: branch, Commit: value})
	if len(list) > maxBranches {
		list, l.branches.More = list[:maxBranches], true
	}
	l.branches.List = list
}
