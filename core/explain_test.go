package core_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assay-dev/assay/core"
)

// TestTheReasonsPageSaysTheSameWords holds docs/reference/reasons.md against the words
// that every front end shows. That the page has a row for every constant is shown in
// apps/operator.
func TestTheReasonsPageSaysTheSameWords(t *testing.T) {
	page, err := os.ReadFile("../docs/reference/reasons.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		section string
		// columns stand between the reason and the meaning.
		columns int
		rows    int
		explain func(core.Reason) core.Explanation
	}{
		{"A test that waits", 0, 19, core.Reason.Explain},
		{"A test with a result", 1, 22, core.Reason.Explain},
		{"WorkspaceDeleted", 1, 12, core.Reason.ExplainDeletion},
	} {
		_, text, found := strings.Cut(string(page), "\n## "+row.section+"\n")
		if !found {
			t.Fatalf("there is no section %q", row.section)
		}
		text, _, _ = strings.Cut(text, "\n## ")
		rows := regexp.MustCompile("(?m)^\\| `([A-Za-z]+)` \\| (.*) \\|$").FindAllStringSubmatch(text, -1)
		if len(rows) != row.rows {
			t.Errorf("section %q has %d rows, want %d", row.section, len(rows), row.rows)
		}
		for _, found := range rows {
			cells := strings.Split(found[2], " | ")[row.columns:]
			if len(cells) != 2 {
				t.Fatalf("%s: the row has %d cells for the words, want 2", found[1], len(cells))
			}
			got := core.Explanation{Meaning: plain(cells[0]), WhatToDo: plain(cells[1])}
			if diff := cmp.Diff(row.explain(core.Reason(found[1])), got); diff != "" {
				t.Errorf("%s: the page says other words than the code (-code +page):\n%s", found[1], diff)
			}
		}
	}
}

func TestUnknownReasonsAreNotExplained(t *testing.T) {
	if got := core.Reason("OfTheFuture").Explain(); got != (core.Explanation{}) {
		t.Errorf("got %+v", got)
	}
	if got := core.ReasonBuildFailed.ExplainDeletion(); got != (core.Explanation{}) {
		t.Errorf("a reason of a result is explained as one of the workspace's end: %+v", got)
	}
}

var markdownLink = regexp.MustCompile(`\[([^]]*)\]\([^)]*\)`)

// plain is a cell without its links and code marks.
func plain(cell string) string {
	return strings.ReplaceAll(markdownLink.ReplaceAllString(cell, "$1"), "`", "")
}
