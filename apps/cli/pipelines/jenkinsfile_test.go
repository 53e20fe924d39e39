package pipelines_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// jenkinsBlock is a block of a declarative pipeline, such as "steps" or "stage('Test')".
type jenkinsBlock struct {
	// head is what stands before the brace.
	head   string
	lines  []string
	blocks []jenkinsBlock
}

var (
	jenkinsLiteral = regexp.MustCompile(`(?s)'''.*?'''|'[^'\n]*'|"[^"\n]*"`)
	jenkinsComment = regexp.MustCompile(`(?m)^\s*//.*$`)
	jenkinsHeld    = regexp.MustCompile("\x00(\\d+)\x00")
)

// parseJenkinsfile reads the subset that the example uses: blocks whose braces end lines,
// a statement a line, and literals, which alone may have several lines.
func parseJenkinsfile(t *testing.T, text string) jenkinsBlock {
	t.Helper()
	// What literals hold is put aside, so that braces and line ends count as such.
	var literals []string
	text = jenkinsComment.ReplaceAllString(text, "")
	text = jenkinsLiteral.ReplaceAllStringFunc(text, func(literal string) string {
		literals = append(literals, literal)
		return "\x00" + itoa(len(literals)-1) + "\x00"
	})
	restore := func(line string) string {
		return jenkinsHeld.ReplaceAllStringFunc(line, func(held string) string { return literals[atoi(t, strings.Trim(held, "\x00"))] })
	}
	open := []*jenkinsBlock{{}}
	for line := range strings.SplitSeq(text, "\n") {
		line, top := strings.TrimSpace(line), open[len(open)-1]
		// A block on one line is one with a statement.
		head, statement, oneLine := strings.Cut(strings.TrimSuffix(line, " }"), " { ")
		switch {
		case line == "":
		case line == "}":
			if len(open) == 1 {
				t.Fatal("a brace closes nothing")
			}
			open = open[:len(open)-1]
			parent := open[len(open)-1]
			parent.blocks = append(parent.blocks, *top)
		case strings.HasSuffix(line, "{"):
			open = append(open, &jenkinsBlock{head: restore(strings.TrimSpace(strings.TrimSuffix(line, "{")))})
		case oneLine && strings.HasSuffix(line, " }"):
			top.blocks = append(top.blocks, jenkinsBlock{head: restore(head), lines: []string{restore(statement)}})
		default:
			top.lines = append(top.lines, restore(line))
		}
	}
	if len(open) != 1 {
		t.Fatalf("the block %q is not closed", open[len(open)-1].head)
	}
	return *open[0]
}

// at is the block that the heads lead to.
func (b jenkinsBlock) at(t *testing.T, heads ...string) jenkinsBlock {
	t.Helper()
	for _, head := range heads {
		found := false
		for _, inner := range b.blocks {
			if inner.head == head {
				b, found = inner, true
				break
			}
		}
		if !found {
			t.Fatalf("%q has no block %q", b.head, head)
		}
	}
	return b
}

// shell is the text of an sh step, without which ok is false.
func shell(line string) (text string, ok bool) {
	literal, ok := strings.CutPrefix(line, "sh ")
	if !ok {
		return "", false
	}
	if text, found := strings.CutPrefix(literal, "'''"); found {
		// Groovy takes a backslash at the end of a line away with the line end, as sh does.
		return strings.ReplaceAll(strings.TrimSuffix(text, "'''"), "\\\n", ""), true
	}
	return strings.Trim(literal, "'"), true
}

func TestParseJenkinsfile(t *testing.T) {
	text := "// a comment {\npipeline {\n  agent { label 'x' }\n  stages {\n    stage('A') {\n      sh '''\n        one {\n        two\n      '''\n    }\n  }\n  a = \"${b}/c\"\n}\n"
	want := jenkinsBlock{blocks: []jenkinsBlock{{
		head: "pipeline", lines: []string{`a = "${b}/c"`},
		blocks: []jenkinsBlock{
			{head: "agent", lines: []string{"label 'x'"}},
			{head: "stages", blocks: []jenkinsBlock{{head: "stage('A')", lines: []string{"sh '''\n        one {\n        two\n      '''"}}}},
		},
	}}}
	if diff := cmp.Diff(want, parseJenkinsfile(t, text), cmp.AllowUnexported(jenkinsBlock{})); diff != "" {
		t.Errorf("blocks (-want +got):\n%s", diff)
	}
}
