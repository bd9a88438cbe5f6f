package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

// nounClause matches the beginning of a clause in place of a noun, and a pronoun in place of the noun before "of".
var nounClause = regexp.MustCompile(`(?i)` + strings.Join([]string{
	`\b(?:what(?:ever)?|who(?:m|ever|mever)?)\s+` +
		`(?:is|are|was|were|has|have|had|do|does|did|can|cannot|may|might|must|will|would|to|no|it|they|he|an?|the)\b`,
	`\b(?:what(?:ever)?|who(?:m|ever|mever)?)\s+(?:[a-z-]+\s+)?` +
		`(?:clients|git|nginx|others|pods|servers|users|visitors)\b`,
	`\b(?:that|those)\s+of\b`,
	`\bof\s+(?:wh(?:at|ich|om)|whose)\b`,
}, "|"))

// clause is a noun clause in a comment.
type clause struct {
	file string
	line int
	text string
}

// area is a part of the repository, such as pkg/apiserver or test/framework, with all packages in it.
type area struct {
	lines   int
	clauses []clause
}

// rate returns the number of noun clauses per 1,000 comment lines, rounded down.
func (a *area) rate() int {
	if a.lines == 0 {
		return 0
	}
	return 1000 * len(a.clauses) / a.lines
}

// areaOf returns the first two directories of a file. The commands of cmd are small and count as one area, and so do
// the files of any other directory at the top.
func areaOf(file string) string {
	parts := strings.Split(path.Dir(file), "/")
	if parts[0] == "cmd" {
		return parts[0]
	}
	return path.Join(parts[:min(2, len(parts))]...)
}

// count reads the comments of files, except generated ones.
func count(files []string) (map[string]*area, error) {
	areas := map[string]*area{}
	for _, name := range files {
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, fmt.Errorf("reading comments: %w", err)
		}
		if ast.IsGenerated(file) {
			continue
		}
		a := areas[areaOf(name)]
		if a == nil {
			a = &area{}
			areas[areaOf(name)] = a
		}
		for _, group := range file.Comments {
			lines := proseOf(fset, group)
			a.lines += len(lines)
			a.clauses = append(a.clauses, clausesOf(name, lines)...)
		}
	}
	return areas, nil
}

// proseLine is a line of a comment, without the marker.
type proseLine struct {
	number int
	text   string
}

// proseOf returns the lines of a comment, except those that programs read.
func proseOf(fset *token.FileSet, group *ast.CommentGroup) (lines []proseLine) {
	for _, comment := range group.List {
		first := fset.Position(comment.Pos()).Line
		for i, line := range strings.Split(comment.Text, "\n") {
			switch text, directive := strings.CutPrefix(line, "//"); {
			case directive && (strings.HasPrefix(text, "go:") || strings.HasPrefix(text, "nolint") ||
				strings.HasPrefix(strings.TrimSpace(text), "+")):
			default:
				lines = append(lines, proseLine{first + i, strings.TrimSpace(strings.Trim(text, "/*"))})
			}
		}
	}
	return lines
}

// clausesOf returns the noun clauses of a comment, also those that a line break divides, at the lines in which they
// begin.
func clausesOf(file string, lines []proseLine) (clauses []clause) {
	var text strings.Builder
	var starts []int
	for _, line := range lines {
		starts = append(starts, text.Len())
		text.WriteString(line.text + "\n")
	}
	for _, match := range nounClause.FindAllStringIndex(text.String(), -1) {
		i, found := slices.BinarySearch(starts, match[0])
		if !found {
			i--
		}
		clauses = append(clauses, clause{file, lines[i].number, lines[i].text})
	}
	return clauses
}

// names returns the names of areas in order.
func names[A any](areas map[string]A) []string {
	return slices.SortedFunc(maps.Keys(areas), cmp.Compare[string])
}
