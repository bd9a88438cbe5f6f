package workload

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/kubesites/website-apiserver/pkg/agent/git"
)

// TestFailures: each reason of the package git has an entry in Failures.
func TestFailures(t *testing.T) {
	path := filepath.Join("..", "..", "..", "agent", "git", "reasons.go")
	parsed, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	ast.Inspect(parsed, func(node ast.Node) bool {
		spec, ok := node.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if kind, ok := spec.Type.(*ast.Ident); !ok || kind.Name != "Reason" || !spec.Names[0].IsExported() {
			return true
		}
		reason, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		found++
		if Failures[git.Reason(reason)].Condition == "" {
			t.Errorf("%s is not in Failures", spec.Names[0].Name)
		}
		if KnownReason(git.Reason(reason)) != git.Reason(reason) {
			t.Errorf("%s is not known", reason)
		}
		return true
	})
	if found != len(Failures) {
		t.Errorf("%d reasons of git, and %d in Failures", found, len(Failures))
	}
	if got := KnownReason("Moon"); got != git.ReasonUnknown {
		t.Errorf("another one is %s", got)
	}
}
