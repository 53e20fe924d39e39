package operator_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// documented are the pages whose commands are run, in the order of a reader who begins with
// the tutorial: it leaves an operator, the namespace coder-tests and the control plane coder,
// which the others start from. The last one removes the operator.
var documented = []string{
	"tutorials/first-test-on-kubernetes.md",
	"how-to/test-in-a-cluster.md",
	"how-to/evidence.md",
	"how-to/gitops.md",
	"how-to/promotion.md",
	"how-to/nightly-tests.md",
	"how-to/cost-limits.md",
	"how-to/tls.md",
	"how-to/external-control-planes.md",
	"how-to/managed-control-planes.md",
	"how-to/watch-the-operator.md",
	"how-to/upgrade-the-operator.md",
	"how-to/install-the-operator.md",
}

// otherTopics are pages that are not about the operator.
var otherTopics = []string{
	"how-to/check-a-set-up.md", "how-to/deploy-the-server.md", "how-to/http-server.md", "how-to/make-a-tester.md", "how-to/pipelines.md", "how-to/push-test-promote.md", "how-to/reports.md",
	"how-to/run-a-test.md", "how-to/run-many-tests.md", "how-to/sweep.md", "how-to/test-bed.md",
}

const docs = "../../docs"

// block is a fenced block of a page.
type block struct {
	language, text string
	// line is that of its first fence.
	line int
}

// blocksOf are the fenced blocks of a page, without the indentation of their fences.
func blocksOf(page string) []block {
	const fence = "```"
	var blocks []block
	var open *block
	var indentation string
	for i, line := range strings.Split(page, "\n") {
		bare := strings.TrimLeft(line, " ")
		switch {
		case open == nil && strings.HasPrefix(bare, fence):
			indentation = line[:len(line)-len(bare)]
			open = &block{language: strings.TrimSpace(bare[len(fence):]), line: i + 1}
		case open != nil && strings.TrimSpace(line) == fence:
			blocks = append(blocks, *open)
			open = nil
		case open != nil:
			open.text += strings.TrimPrefix(line, indentation) + "\n"
		}
	}
	return blocks
}

func TestBlocksOfAPage(t *testing.T) {
	page := "# Title\n\n```sh\none\ntwo\n```\n\n- item\n\n  ```yaml\n  a:\n    b: 1\n  ```\n\ntext with ``` in it\n"
	want := []block{{language: "sh", text: "one\ntwo\n", line: 3}, {language: "yaml", text: "a:\n  b: 1\n", line: 10}}
	if diff := cmp.Diff(want, blocksOf(page), cmp.AllowUnexported(block{})); diff != "" {
		t.Errorf("blocks (-want +got):\n%s", diff)
	}
}

// TestEveryPageIsRun keeps a new page from having commands that nobody runs, and every block
// from having a language that says nothing of whether it is run.
func TestEveryPageIsRun(t *testing.T) {
	var pages []string
	for _, folder := range []string{"tutorials", "how-to"} {
		files, err := filepath.Glob(filepath.Join(docs, folder, "*.md"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			pages = append(pages, folder+"/"+filepath.Base(file))
		}
	}
	want := slices.Concat(documented, otherTopics)
	slices.Sort(want)
	slices.Sort(pages)
	if diff := cmp.Diff(want, pages); diff != "" {
		t.Errorf("pages of docs (-those that the tests know +those that exist):\n%s", diff)
	}
	for _, page := range documented {
		text, err := os.ReadFile(filepath.Join(docs, page))
		if err != nil {
			t.Error(err)
			continue
		}
		commands := 0
		for _, block := range blocksOf(string(text)) {
			switch block.language {
			case "sh":
				commands++
			case "console", "yaml", "text":
			default:
				t.Errorf("%s:%d: a block of %q: sh is run, yaml is checked by the API server, console and text are only read", page, block.line, block.language)
			}
		}
		if commands == 0 {
			t.Errorf("%s: no command of it is run", page)
		}
	}
}
