package lifecycle

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/assay-dev/assay/core"
)

func TestClip(t *testing.T) {
	a := strings.Repeat
	for _, row := range []struct{ why, message, want string }{
		{"what fits stays", a("a", 256), a("a", 256)},
		{"what does not is cut", a("a", 257), a("a", 256)},
		{"at the boundary of a character", a("a", 255) + "ü", a("a", 255)},
		{"of any width", a("a", 253) + "🐢", a("a", 253)},
		{"one that just fits stays", a("a", 254) + "ü", a("a", 254) + "ü"},
		{"invalid bytes are replaced: stores and encoders refuse them", "a\xffb", "a\uFFFDb"},
		{"also where they would be cut", a("\x80", 300), "\uFFFD"},
		{"nothing is nothing", "", ""},
		{"a name cannot begin a line of its own", "unknown a\n::error::b", "unknown a ::error::b"},
		{"or speak to a terminal", "unknown \x1b[2Ja\r\tb", "unknown a b"},
		{"spaces stay where nothing does", "a  b ", "a  b "},
	} {
		got := clip(row.message)
		if got != row.want || len(got) > core.MaxMessageBytes || !utf8.ValidString(got) {
			t.Errorf("%s: %q (%d bytes), want %q", row.why, got, len(got), row.want)
		}
	}
}

func TestDescribe(t *testing.T) {
	for _, row := range []struct {
		why     string
		failure core.Failure
		want    string
	}{
		{"Coder's word", core.Failure{Class: core.FailureConflict, Op: "create workspace", Status: 409, Message: "taken"}, "create workspace: Coder answered HTTP 409: taken"},
		{"a proxy's page", core.Failure{Class: core.FailureUnavailable, Op: "read workspace", Status: 502}, "read workspace: HTTP 502"},
		{"Coder's word, whose number nobody noted", core.Failure{Class: core.FailureRejected, Op: "change", Message: "bad"}, "change: bad"},
		{"the network's word", core.Failure{Class: core.FailureNoEffect, Op: "create workspace", Message: "refused"}, "create workspace: refused"},
		{"nobody's word", core.Failure{Class: core.FailureUncertain, Op: "create workspace"}, "create workspace: uncertain"},
	} {
		if got := describe(&row.failure); got != row.want {
			t.Errorf("%s: %q, want %q", row.why, got, row.want)
		}
	}
}

// What to do comes first: it is what is left when a message is cut.
func TestDeadlineMessageSurvivesTheCut(t *testing.T) {
	in := pending()
	in.Record.Status.Message = strings.Repeat("ü", 128)
	now(900 * time.Second)(&in)
	message := Decide(in).Record.Status.Message
	if !strings.HasPrefix(message, "no result within 15m0s; the last wait was Initializing: ü") || !utf8.ValidString(message) {
		t.Errorf("message %q", message)
	}
}

func TestEveryWorkspaceReasonIsExplained(t *testing.T) {
	for _, reason := range []core.Reason{
		core.ReasonDeleted, core.ReasonDeletedExternally, core.ReasonNotCreated, core.ReasonCleanupPending, core.ReasonDeleting,
		core.ReasonDeleteRetrying, core.ReasonControlPlaneUnavailable, core.ReasonCoderAnswerMismatch, core.ReasonRetained,
		core.ReasonCreateOutcomeUnknown, core.ReasonOwnershipUnknown, core.ReasonControlPlaneGone,
	} {
		if text := deletedMessages[reason]; text == "" || len(text) > core.MaxMessageBytes {
			t.Errorf("%s is explained by %q", reason, text)
		}
	}
}
