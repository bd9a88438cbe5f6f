package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"slices"
	"strings"
)

// mutation replaces a part of a file.
type mutation struct {
	kind, file, source string
	start, end         int
	text               string
}

var (
	swapped = map[token.Token]token.Token{
		token.LAND: token.LOR, token.LOR: token.LAND,
		token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR,
	}
	// isError matches expressions whose text denotes an error.
	isError = regexp.MustCompile(`^(err|fmt\.Errorf\(.*|errors\.\w+\(.*|apierrors\.New.*)$`)
	// isLock matches calls without which a test hangs or races instead of failing.
	isLock = regexp.MustCompile(`\.R?(Lock|Unlock)$`)
)

// mutations returns the possible changes in the executed blocks of a file.
func mutations(name, source string, executed []block) ([]mutation, error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var found []mutation
	add := func(kind string, start, end token.Pos, text string) {
		from := files.Position(start)
		if slices.ContainsFunc(executed, func(b block) bool { return b.contains(from) }) {
			found = append(found, mutation{kind, name, source, from.Offset, files.Position(end).Offset, text})
		}
	}
	textOf := func(node ast.Node) string {
		return source[files.Position(node.Pos()).Offset:files.Position(node.End()).Offset]
	}
	ast.Inspect(file, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.IfStmt:
			add("negated condition", node.Cond.Pos(), node.Cond.End(), "!("+textOf(node.Cond)+")")
		case *ast.AssignStmt:
			if node.Tok != token.DEFINE {
				add("deleted assignment", node.Pos(), node.End(), "")
			}
		case *ast.ExprStmt:
			if call, ok := node.X.(*ast.CallExpr); ok && !isLock.MatchString(textOf(call.Fun)) {
				add("deleted call", node.Pos(), node.End(), "")
			}
		case *ast.BinaryExpr:
			if other, ok := swapped[node.Op]; ok {
				kind := fmt.Sprintf("%s in place of %s", other, node.Op)
				add(kind, node.OpPos, node.OpPos+token.Pos(len(node.Op.String())), other.String())
			}
		case *ast.ReturnStmt:
			if results := node.Results; len(results) > 0 && isError.MatchString(textOf(results[len(results)-1])) {
				last := results[len(results)-1]
				add("nil in place of an error", last.Pos(), last.End(), "nil")
			}
		}
		return true
	})
	return found, nil
}

// context is the number of unchanged lines around a change.
const context = 3

// patch returns the mutation as a unified diff.
func (m mutation) patch() string {
	before := strings.Split(m.source, "\n")
	first := strings.Count(m.source[:m.start], "\n")
	last := strings.Count(m.source[:m.end], "\n")
	removed := before[first : last+1]
	start := m.start - strings.LastIndex(m.source[:m.start], "\n") - 1
	end := m.end - strings.LastIndex(m.source[:m.end], "\n") - 1
	var added []string
	// An emptied line is removed as well.
	if line := removed[0][:start] + m.text + removed[len(removed)-1][end:]; strings.TrimSpace(line) != "" {
		added = strings.Split(line, "\n")
	}
	from, to := max(0, first-context), min(len(before)-1, last+1+context)
	var diff strings.Builder
	size := to - from
	fmt.Fprintf(&diff, "--- a/%s\n+++ b/%s\n", m.file, m.file)
	fmt.Fprintf(&diff, "@@ -%d,%d +%d,%d @@\n", from+1, size, from+1, size-len(removed)+len(added))
	write := func(prefix string, lines []string) {
		for _, line := range lines {
			diff.WriteString(prefix + line + "\n")
		}
	}
	write(" ", before[from:first])
	write("-", removed)
	write("+", added)
	write(" ", before[last+1:to])
	return diff.String()
}
