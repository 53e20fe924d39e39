package lifecycle

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/assay-dev/assay/core"
)

// row is one rule of docs/reference/lifecycle.md: what is given, and what it must
// lead to.
type row struct {
	why   string
	given []edit
	// want is the decision as summary writes it.
	want string
	// says must be part of the message that explains the decision.
	says string
	// check looks at what summary does not show.
	check func(*testing.T, Decision)
}

// decide runs each row on an input of its own.
func decide(t *testing.T, base func() Input, rows []row) {
	t.Helper()
	for _, row := range rows {
		t.Run(row.why, func(t *testing.T) {
			in := base()
			for _, change := range row.given {
				change(&in)
			}
			before := encode(t, in)
			d := Decide(in)
			if diff := cmp.Diff(before, encode(t, in)); diff != "" {
				t.Errorf("Decide changed its input (-before +after):\n%s", diff)
			}
			if got := summary(d); got != row.want {
				t.Errorf("\n got: %s\nwant: %s\nmessage: %s", got, row.want, explanation(&d))
			}
			if row.says != "" && !strings.Contains(explanation(&d), row.says) {
				t.Errorf("message %q does not say %q", explanation(&d), row.says)
			}
			for _, problem := range problems(&in, &d) {
				t.Error(problem)
			}
			if problem := restless(in, &d); problem != "" {
				t.Error(problem)
			}
			if row.check != nil {
				row.check(t, d)
			}
		})
	}
}

// summary writes a decision in one line: phase, reason, outcome class, the condition
// WorkspaceDeleted, what is known about the create, the hold, when to look again, and
// what is sent.
func summary(d Decision) string {
	if d.Err != nil {
		return "error: " + d.Err.Error()
	}
	if d.Read.Kind != ReadNothing {
		return "read " + readNames[d.Read.Kind]
	}
	st := &d.Record.Status
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	if st.Phase != "" {
		add("%s %s", st.Phase, st.Reason)
	}
	if st.OutcomeClass != "" {
		add("%s", st.OutcomeClass)
	}
	if c := st.Condition(core.ConditionWorkspaceDeleted); c.Status != "" {
		add("%s/%s", c.Status, c.Reason)
	}
	switch {
	case st.WorkspaceID == workspaceID && st.StartBuildID == startBuildID:
		add("workspace")
	case st.WorkspaceID != core.Status{}.WorkspaceID:
		add("WRONG workspace %s, start build %s", st.WorkspaceID, st.StartBuildID)
	case st.CreateAnswer != nil:
		add("marker(%d)", st.CreateAnswer.Status)
	case st.HasMarker():
		add("marker")
	}
	switch d.Hold {
	case HoldTake:
		add("take hold")
	case HoldRelease:
		add("release hold")
	}
	switch {
	case d.Expire:
		add("expire")
	case d.Done:
		add("done")
	case d.Continue:
		add("continue")
	case d.Request == nil:
		add("after %s", d.After)
	}
	if d.Request != nil {
		add("> %s", d.Request.Kind)
	}
	return strings.Join(parts, " ")
}

var readNames = map[ReadKind]string{
	ReadControlPlane: "control plane", ReadDeployment: "deployment", ReadOperator: "operator", ReadOwner: "owner",
	ReadOrganization: "organization", ReadTemplate: "template", ReadVersion: "version", ReadParameters: "parameters",
	ReadExternalAuth: "external auth", ReadAttemptID: "attempt ID", ReadName: "name", ReadWorkspace: "workspace",
	ReadBuilds: "builds", ReadMayRead: "may read", ReadOwned: "owned", ReadClaimed: "claimed", ReadDeploymentAfter: "deployment after",
	ReadMayReadAfter: "may read after",
}

// explanation is the message of the condition that the decision is about.
func explanation(d *Decision) string {
	st := &d.Record.Status
	return st.Message + " | " + st.Condition(core.ConditionWorkspaceDeleted).Message
}

// problems checks what holds for every decision, whatever it is about.
func problems(in *Input, d *Decision) []string {
	var all []string
	complain := func(bad bool, format string, args ...any) {
		if bad {
			all = append(all, fmt.Sprintf(format, args...))
		}
	}
	if d.Err != nil || d.Read.Kind != ReadNothing {
		alone := Decision{Err: d.Err, Read: d.Read}
		complain(d.Err != nil && d.Read.Kind != ReadNothing, "an error and a read at once")
		complain(!cmp.Equal(alone, *d, cmp.Comparer(func(a, b error) bool { return errors.Is(a, b) || errors.Is(b, a) })), "a read or an error comes with something else")
		return all
	}
	before, st := &in.Record.Status, &d.Record.Status
	complain(before.Phase.Final() && (st.Phase != before.Phase || st.Reason != before.Reason || st.Message != before.Message ||
		st.OutcomeClass != before.OutcomeClass || !st.CompletionTime.Equal(before.CompletionTime) || st.ErrorCode != before.ErrorCode),
		"a final result changed from %s %s to %s %s", before.Phase, before.Reason, st.Phase, st.Reason)
	complain(in.Record.DeletionRequested() && (st.Phase != before.Phase || st.Reason != before.Reason), "cleanup changed the phase")
	complain(!sameStatus(before, st) && st.ObservedGeneration != in.Record.Generation, "a write without the observed generation")
	complain(st.WorkspaceID == before.WorkspaceID && before.WorkspaceID != core.Status{}.WorkspaceID && st.CreateAttemptID != before.CreateAttemptID,
		"the marker of a known workspace changed")

	messages := []string{st.Message}
	for _, c := range st.Conditions {
		messages = append(messages, c.Message)
		if c != before.Condition(c.Type) {
			complain(c.Type == core.ConditionWorkspaceDeleted && c.Message == "", "condition %s says nothing", c.Type)
			complain(c.ObservedGeneration != in.Record.Generation, "condition %s without the observed generation", c.Type)
		}
	}
	for _, m := range messages {
		complain(len(m) > core.MaxMessageBytes || !utf8.ValidString(m), "message of %d bytes, valid UTF-8: %t", len(m), utf8.ValidString(m))
		complain(strings.Contains(m, secretValue) || strings.Contains(m, secretAgent), "message with a value or an agent's name: %s", m)
	}
	all = append(all, conditionProblems(before, st)...)
	return append(all, requestProblems(in, d)...)
}

// restless decides once more on what a decision stored, where that ends the step. As soon
// as nothing changes any more, the test must be at rest: done, or waiting for a while in
// a way that may rest on a stream. Anything else would have it step in vain.
func restless(in Input, d *Decision) string {
	// A step that absorbed an answer is followed by one that knows of none.
	absorbed := in.Seen.OwnMarker != nil || in.Seen.Answer != nil
	in.Seen.OwnMarker, in.Seen.Answer = nil, nil
	for range 3 {
		if d.Err != nil || d.Read.Kind != ReadNothing || d.Request != nil || d.Hold != HoldUnchanged || d.Expire || d.Continue {
			return ""
		}
		waits := d.Done || d.Waits && d.After > 0
		if !absorbed && !waits && sameStatus(&in.Record.Status, &d.Record.Status) {
			return "nothing changes, yet the test does not wait: " + summary(*d)
		}
		in.Record, absorbed = d.Record, false
		again := Decide(in)
		d = &again
	}
	return ""
}

// conditionProblems checks that the conditions say what the phase says.
func conditionProblems(before, st *core.Status) []string {
	if sameStatus(before, st) || len(st.Conditions) == 0 || st.Condition(core.ConditionReady).Status == "" {
		return nil
	}
	var all []string
	for _, c := range []struct {
		conditionType core.ConditionType
		is            bool
	}{
		{core.ConditionReady, st.Phase == core.PhaseSucceeded},
		{core.ConditionReconciling, st.Phase == core.PhasePending || st.Phase == core.PhaseRunning},
		{core.ConditionStalled, st.Phase == core.PhaseFailed},
	} {
		got := st.Condition(c.conditionType)
		if (got.Status == core.ConditionTrue) != c.is || got.Reason != st.Reason || got.Message != st.Message {
			all = append(all, fmt.Sprintf("phase %s, but condition %s is %s %s", st.Phase, c.conditionType, got.Status, got.Reason))
		}
	}
	if running := st.Phase == core.PhaseRunning; running != st.MayHaveWorkspace() && !st.Phase.Final() && before.Phase != st.Phase {
		all = append(all, "the phase does not say whether a create may have been sent: "+string(st.Phase))
	}
	return all
}

// requestProblems checks what must be true before anything in Coder is changed.
func requestProblems(in *Input, d *Decision) []string {
	r := d.Request
	if r == nil {
		return nil
	}
	var all []string
	complain := func(bad bool, what string) {
		if bad {
			all = append(all, "a "+r.Kind.String()+" "+what)
		}
	}
	complain(!in.Record.Held && !in.Record.DeletionRequested(), "without the hold")
	complain(d.Waits, "on a decision that may rest on a stream")
	complain(in.Seen.Answer != nil, "after this step's request was answered")
	complain(in.Seen.ControlPlane.Value.State != core.ControlPlaneUsable, "without a usable control plane")
	complain(in.Seen.Deployment.Value.ID != in.Record.Status.DeploymentID, "to another deployment than the pinned one")
	if r.Kind == RequestCreate {
		own := in.Seen.OwnMarker
		complain(own == nil || own.AttemptID != in.Record.Status.CreateAttemptID, "whose marker this step did not store")
		complain(own != nil && own.Age > in.Options.SendWindow, "after the send window")
		complain(in.Record.Status.WorkspaceID != core.Status{}.WorkspaceID, "although there is a workspace")
		complain(!in.Now.Before(in.Record.Deadline()), "after the deadline")
		complain(in.Record.DeletionRequested() || in.Record.Status.Phase.Final(), "for a test that is over")
		return all
	}
	complain(r.Workspace != in.Record.Status.WorkspaceID, "of a workspace that is not the recorded one")
	complain(r.Evidence != (in.Record.Status.Phase == core.PhaseFailed), "whose evidence is wanted for failed tests only")
	return all
}

// encode writes an input down, to see whether it changed.
func encode(t interface{ Fatal(...any) }, in Input) string {
	text, err := json.MarshalIndent(in, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
