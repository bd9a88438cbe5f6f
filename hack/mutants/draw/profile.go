package main

import (
	"bufio"
	"cmp"
	"fmt"
	"go/token"
	"os"
	"regexp"
	"strings"
)

const module = "github.com/kubesites/website-apiserver/"

// generated matches the files that are not mutated.
var generated = regexp.MustCompile(`^pkg/generated/|/zz_generated[^/]*$|\.pb\.go$|/main\.go$`)

// block is a part of a file.
type block struct{ startLine, startColumn, endLine, endColumn int }

// contains reports whether a position is in the block.
func (b block) contains(p token.Position) bool {
	start := cmp.Or(cmp.Compare(b.startLine, p.Line), cmp.Compare(b.startColumn, p.Column))
	end := cmp.Or(cmp.Compare(p.Line, b.endLine), cmp.Compare(p.Column, b.endColumn))
	return start <= 0 && end < 0
}

// readProfile returns the executed blocks in a coverage profile, by file.
func readProfile(name string) (map[string][]block, error) {
	profile, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer profile.Close()
	executed := map[string][]block{}
	lines := bufio.NewScanner(profile)
	for lines.Scan() {
		file, rest, _ := strings.Cut(lines.Text(), ":")
		var b block
		var statements, times int
		_, err := fmt.Sscanf(rest, "%d.%d,%d.%d %d %d",
			&b.startLine, &b.startColumn, &b.endLine, &b.endColumn, &statements, &times)
		file, ours := strings.CutPrefix(file, module+"pkg/")
		if file = "pkg/" + file; err == nil && ours && times > 0 && !generated.MatchString(file) {
			executed[file] = append(executed[file], b)
		}
	}
	return executed, lines.Err()
}
