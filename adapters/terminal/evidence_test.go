package terminal_test

import (
	"bytes"
	"testing"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/adapters/terminal"
	"github.com/assay-dev/assay/core"
)

func TestEvidence(t *testing.T) {
	ready, broken := uuid.New(), uuid.New()
	workspace := core.Workspace{Latest: core.Build{Agents: []core.Agent{
		{ID: ready, Name: "good", Status: core.AgentConnected, Lifecycle: core.AgentReady},
		{ID: broken, Name: "bad", Status: core.AgentConnected, Lifecycle: core.AgentStartError},
	}}}
	for _, row := range []struct {
		name   string
		logs   []core.Log
		want   string
		reason string
	}{
		{"nothing", nil, "", "no log, no heading"},
		{"empty log", []core.Log{{Source: "build", Text: " \n\n"}}, "", "a heading over nothing helps nobody"},
		{"build log", []core.Log{{Source: "build", Text: "one\ntwo\n"}}, "\n--- build log ---\none\ntwo\n\n", "whole when it is short"},
		{"long log", []core.Log{{Source: "build", Text: "1\n2\n3\n4\n5\n"}}, "\n--- build log, the last 3 lines ---\n3\n4\n5\n\n", "its end when it is long"},
		{
			"truncated log",
			[]core.Log{{Source: "build", Text: "ret\none\n", Truncated: true}},
			"\n--- build log, the last 1 lines ---\none\n\n", "its first line can be the end of a secret",
		},
		{
			"agents",
			[]core.Log{{Source: "install", AgentID: ready, Text: "fine"}, {Source: "install", AgentID: broken, Text: "oh no"}},
			"\n--- script \"install\" of agent \"bad\" ---\noh no\n\n", "only the agents that are not ready explain anything",
		},
		{"secret", []core.Log{{Source: "build", Text: "\x1b[31msec\x1b[0mret\n"}}, "\n--- build log ---\n***\n\n", "colors within a secret do not hide it"},
		{
			"terminal commands",
			[]core.Log{{Source: "build", Text: "a\x1b]0;title\x07b\x1b[2Jc\bd\r\n50%\r100%"}},
			"\n--- build log ---\nabcd\n50%\n100%\n\n", "a log must not drive the terminal",
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			evidence := terminal.NewEvidence(core.NewMask("secret"), 3)
			test := uuid.New()
			if err := evidence.Evidence(t.Context(), core.Evidence{TestID: test, Logs: row.logs, Workspace: workspace}); err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			terminal.WriteExcerpts(&out, evidence.Excerpts(test))
			if out.String() != row.want {
				t.Errorf("got %q, want %q: %s", out.String(), row.want, row.reason)
			}
			out.Reset()
			terminal.WriteExcerpts(&out, evidence.Excerpts(uuid.New()))
			if out.Len() != 0 {
				t.Errorf("another test has %q", out.String())
			}
		})
	}
}
