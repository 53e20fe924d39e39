package core_test

import (
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/assay-dev/assay/core"
)

// TestFailureReasons holds the list against the constants that are declared as reasons of
// a final test.
func TestFailureReasons(t *testing.T) {
	file, err := parser.ParseFile(gotoken.NewFileSet(), "phase.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	var declared []core.Reason
	for _, declaration := range file.Decls {
		group, ok := declaration.(*ast.GenDecl)
		if !ok || !strings.HasPrefix(group.Doc.Text(), "Reasons of a final test.") {
			continue
		}
		for _, spec := range group.Specs {
			value, err := strconv.Unquote(spec.(*ast.ValueSpec).Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			declared = append(declared, core.Reason(value))
		}
	}
	declared = slices.DeleteFunc(declared, func(r core.Reason) bool { return r == core.ReasonSucceeded })
	if len(declared) == 0 || !slices.Equal(declared, core.FailureReasons) {
		t.Errorf("the list is\n%v, declared are\n%v", core.FailureReasons, declared)
	}
}
