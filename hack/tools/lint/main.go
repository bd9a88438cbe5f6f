// Command lint has the checks of go vet and of two linters, dupword and unparam. "go vet -vettool=bin/lint" runs it,
// and keeps the results of unchanged packages.
package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"os"
	"slices"

	"github.com/Abirdcfly/dupword"
	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/buildssa"
	"golang.org/x/tools/go/analysis/suite/vet"
	"golang.org/x/tools/go/analysis/unitchecker"
	"golang.org/x/tools/go/packages"
	"mvdan.cc/unparam/check"
)

// unparam has no analyzer of its own.
var unparam = &analysis.Analyzer{
	Name:     "unparam",
	Doc:      "report parameters and results that are not used, or always have the same value",
	Requires: []*analysis.Analyzer{buildssa.Analyzer},
	Run:      findUnusedParameters,
}

func main() {
	words := dupword.NewAnalyzer()
	// Strings repeat words for a reason, such as the conditions of a table.
	if err := words.Flags.Set("comments-only", "true"); err != nil {
		fmt.Fprintln(os.Stderr, "configuring dupword:", err)
		os.Exit(1)
	}
	unitchecker.Main(slices.Concat(vet.Suite, []*analysis.Analyzer{words, unparam})...)
}

func findUnusedParameters(pass *analysis.Pass) (any, error) {
	checker := &check.Checker{}
	checker.Packages([]*packages.Package{{
		Fset: pass.Fset, Syntax: pass.Files, Types: pass.Pkg, TypesInfo: pass.TypesInfo,
	}})
	checker.ProgramSSA(pass.ResultOf[buildssa.Analyzer].(*buildssa.SSA).Pkg.Prog)
	issues, err := checker.Check()
	if err != nil {
		return nil, fmt.Errorf("checking for unused parameters: %w", err)
	}
	generated := map[*token.File]bool{}
	for _, file := range pass.Files {
		generated[pass.Fset.File(file.Pos())] = ast.IsGenerated(file)
	}
	for _, issue := range issues {
		if generated[pass.Fset.File(issue.Pos())] {
			continue
		}
		pass.Reportf(issue.Pos(), "%s", issue.Message())
	}
	return nil, nil
}
