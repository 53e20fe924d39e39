package operator_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const reasonsPage = "../../docs/reference/reasons.md"

// TestEveryReasonIsExplained holds the page of reasons against the constants: each section
// has a row for every reason that can appear there, and for no other.
func TestEveryReasonIsExplained(t *testing.T) {
	page, err := os.ReadFile(reasonsPage)
	if err != nil {
		t.Fatal(err)
	}
	core := constantBlocks(t, "../../core/phase.go", "Reason")
	if len(core) != 3 {
		t.Fatalf("core/phase.go has %d blocks of reasons, want those of waits, of results and of WorkspaceDeleted", len(core))
	}
	plane := slices.Concat(constantBlocks(t, "planestatus.go", "reason")...)
	for _, row := range []struct {
		section string
		want    []string
	}{
		{"A test that waits", core[0]},
		{"A test with a result", core[1]},
		// As the comment of that block says.
		{"WorkspaceDeleted", append(core[2], "CoderAnswerMismatch", "CreateOutcomeUnknown", "ControlPlaneGone")},
		{"A control plane", plane},
	} {
		got := explained(t, string(page), row.section)
		slices.Sort(got)
		slices.Sort(row.want)
		if diff := cmp.Diff(row.want, got); diff != "" {
			t.Errorf("section %q of %s does not have the reasons of the code (-want +got):\n%s", row.section, reasonsPage, diff)
		}
	}
}

// constantBlocks are the values of the string constants whose names begin with a prefix, by
// the blocks in which they are declared.
func constantBlocks(t *testing.T, file, prefix string) [][]string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var blocks [][]string
	for _, declaration := range parsed.Decls {
		block, ok := declaration.(*ast.GenDecl)
		if !ok || block.Tok != token.CONST {
			continue
		}
		var values []string
		for _, spec := range block.Specs {
			constant := spec.(*ast.ValueSpec)
			if !strings.HasPrefix(constant.Names[0].Name, prefix) {
				continue
			}
			value, err := strconv.Unquote(constant.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			values = append(values, value)
		}
		if len(values) > 0 {
			blocks = append(blocks, values)
		}
	}
	return blocks
}

// explained are the reasons that the rows of a section begin with.
func explained(t *testing.T, page, section string) []string {
	t.Helper()
	_, text, found := strings.Cut(page, "\n## "+section+"\n")
	if !found {
		t.Fatalf("%s has no section %q", reasonsPage, section)
	}
	text, _, _ = strings.Cut(text, "\n## ")
	var reasons []string
	for _, row := range regexp.MustCompile("(?m)^\\| `([A-Za-z]+)` \\|").FindAllStringSubmatch(text, -1) {
		reasons = append(reasons, row[1])
	}
	return reasons
}
