package scenario

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/ports"
)

// trail writes down what happened, in order.
type trail struct {
	start time.Time
	now   func() time.Time
	stage *stage
	lines []string
}

func (t *trail) add(mark, text string) {
	line := fmt.Sprintf("%s %s %s", formatTime(t.now().Sub(t.start)), mark, text)
	t.lines = append(t.lines, strings.TrimRight(line, " "))
}

// Transition is the ports.StatusSink of the engine.
func (t *trail) Transition(tr core.StoredTransition) {
	for _, line := range Lines(tr) {
		t.add(" ", line)
	}
}

// tellBoth is the trail and somebody else who wants to hear.
type tellBoth struct {
	*trail
	other ports.StatusSink
}

// Transition implements ports.StatusSink.
func (t *tellBoth) Transition(tr core.StoredTransition) {
	t.trail.Transition(tr)
	if t.other != nil {
		t.other.Transition(tr)
	}
}

// Lines is what a trail says about a stored transition.
func Lines(tr core.StoredTransition) []string {
	var lines []string
	before, after := &tr.Before, &tr.After
	if before.Held != after.Held {
		lines = append(lines, map[bool]string{true: "hold taken", false: "hold released"}[after.Held])
	}
	b, a := &before.Status, &after.Status
	notes := notes(b, a)
	moved := b.Phase != a.Phase || b.Reason != a.Reason
	switch {
	case moved:
		lines = append(lines, fmt.Sprintf("%-10s %-26s %s", a.Phase, a.Reason, strings.Join(notes, ", ")))
	case len(notes) > 0:
		lines = append(lines, fmt.Sprintf("%-10s %-26s %s", "", "", strings.Join(notes, ", ")))
	case b.Message != a.Message:
		lines = append(lines, fmt.Sprintf("%-10s %-26s %s", "", "", "message"))
	}
	if a.Phase.Final() && !b.Phase.Final() {
		lines = append(lines, fmt.Sprintf("%-10s %q", "", a.Message))
	}
	return lines
}

// notes says what changed besides phase, reason and message.
func notes(b, a *core.Status) []string {
	var notes []string
	note := func(changed bool, text string) {
		if changed {
			notes = append(notes, text)
		}
	}
	note(b.TemplateVersionID != a.TemplateVersionID, "version "+a.TemplateVersionName)
	note(!b.HasMarker() && a.HasMarker(), "marker")
	note(b.HasMarker() && !a.HasMarker(), "marker cleared")
	if a.CreateAnswer != nil && b.CreateAnswer == nil {
		note(true, fmt.Sprintf("answer %d noted", a.CreateAnswer.Status))
	}
	note(b.WorkspaceID != a.WorkspaceID, "workspace")
	note(b.DeleteBuildID != a.DeleteBuildID && a.DeleteBuildID != uuid.Nil, "delete build")
	note(b.DeleteAttempts != a.DeleteAttempts, fmt.Sprintf("delete attempts %d", a.DeleteAttempts))
	note(b.ErrorCode != a.ErrorCode, "code "+a.ErrorCode)
	note(b.OutcomeClass != a.OutcomeClass, "class "+string(a.OutcomeClass))
	bc, ac := b.Condition(core.ConditionWorkspaceDeleted), a.Condition(core.ConditionWorkspaceDeleted)
	note(bc.Status != ac.Status || bc.Reason != ac.Reason,
		fmt.Sprintf("WorkspaceDeleted %s/%s", ac.Status, ac.Reason))
	return notes
}

// requestAt writes down a changing request and what came of it, above the lines that
// followed while it was on its way.
func (t *trail) requestAt(line int, what, about string, err error) {
	text := fmt.Sprintf("%-10s %s", what, about)
	if err != nil {
		text = strings.TrimRight(text, " ") + ": " + outcome(err)
	}
	t.add(">", text)
	last := len(t.lines) - 1
	t.lines = slices.Insert(t.lines[:last], line, t.lines[last])
}

// outcome is a failure in the words of the domain.
func outcome(err error) string {
	var f *core.Failure
	if !errors.As(err, &f) {
		return err.Error()
	}
	if f.Status != 0 {
		return fmt.Sprintf("%s %d", f.Class, f.Status)
	}
	return f.Class.String()
}

// people writes down what people did.
func (t *trail) people(what string) { t.add("*", what) }
