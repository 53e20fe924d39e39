package cli

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
)

func TestExitCode(t *testing.T) {
	final := func(class core.OutcomeClass, deleted core.ConditionStatus, reason core.Reason) core.Record {
		r := core.Record{Status: core.Status{Phase: core.PhaseFailed, OutcomeClass: class, WorkspaceID: uuid.New()}}
		if class == core.OutcomePassed {
			r.Status.Phase = core.PhaseSucceeded
		}
		return withDeleted(r, deleted, reason)
	}
	running := func(status core.Status) core.Record {
		status.Phase = core.PhaseRunning
		return core.Record{Status: status}
	}
	const yes, no, unknown = core.ConditionTrue, core.ConditionFalse, core.ConditionUnknown
	for _, row := range []struct {
		name   string
		record core.Record
		signal os.Signal
		want   int
		reason string
	}{
		{"passed", final(core.OutcomePassed, yes, core.ReasonDeleted), nil, 0, "a pass"},
		{"failed", final(core.OutcomeTemplateFailed, yes, core.ReasonDeleted), nil, 1, "the template is at fault"},
		{"inconclusive", final(core.OutcomeInconclusive, yes, core.ReasonNotCreated), nil, 3, "the environment is at fault"},
		{"class of the future", final("Surprising", yes, core.ReasonDeleted), nil, 3, "a class that is not known judges nothing"},
		{"failed, cleanup pending", final(core.OutcomeTemplateFailed, no, core.ReasonCleanupPending), nil, 4, "a leak wins over the class"},
		{"failed, delete builds fail", final(core.OutcomeTemplateFailed, no, core.ReasonDeleteRetrying), nil, 4, "the workspace exists"},
		{"failed, retained", final(core.OutcomeTemplateFailed, no, core.ReasonRetained), nil, 1, "somebody asked to keep it"},
		{"inconclusive, retained", final(core.OutcomeInconclusive, no, core.ReasonRetained), nil, 3, "somebody asked to keep it"},
		{"ownership unknown", func() core.Record {
			r := final(core.OutcomeInconclusive, unknown, core.ReasonOwnershipUnknown)
			r.Status.WorkspaceID = uuid.Nil
			return r
		}(), nil, 4, "the workspace of our name may be ours"},
		{"control plane gone", final(core.OutcomeInconclusive, unknown, core.ReasonControlPlaneGone), nil, 4, "nobody can clean up"},
		{"create outcome unknown", func() core.Record {
			r := running(core.Status{CreateAttemptID: uuid.New()})
			r.Status.Phase, r.Status.OutcomeClass = core.PhaseFailed, core.OutcomeInconclusive
			return withDeleted(r, unknown, core.ReasonCreateOutcomeUnknown)
		}(), nil, 4, "a create request may have taken effect"},
		{"SIGINT before anything", core.Record{}, syscall.SIGINT, 130, "nothing was sent"},
		{"SIGTERM before anything", core.Record{}, syscall.SIGTERM, 143, "nothing was sent"},
		{"SIGINT, cleaned up", withDeleted(running(core.Status{WorkspaceID: uuid.New()}), yes, core.ReasonDeleted), syscall.SIGINT, 130, "the workspace is gone"},
		{"SIGINT, not cleaned up", withDeleted(running(core.Status{WorkspaceID: uuid.New()}), no, core.ReasonDeleting), syscall.SIGINT, 4, "the workspace may exist"},
		{"SIGINT, create in flight", running(core.Status{CreateAttemptID: uuid.New()}), syscall.SIGINT, 4, "the marker stands"},
		{"SIGINT after a pass", final(core.OutcomePassed, yes, core.ReasonDeleted), syscall.SIGINT, 0, "a final test keeps its verdict"},
		{"SIGTERM after a failure", final(core.OutcomeTemplateFailed, yes, core.ReasonDeleted), syscall.SIGTERM, 1, "a final test keeps its verdict"},
		{"SIGINT, retained", withDeleted(running(core.Status{WorkspaceID: uuid.New()}), no, core.ReasonRetained), syscall.SIGINT, 130, "it was asked to be kept"},
		{"deleted by somebody else", withDeleted(running(core.Status{WorkspaceID: uuid.New()}), yes, core.ReasonDeleted), nil, 3, "nothing was judged"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := exitCode(&row.record, row.signal); got != row.want {
				t.Errorf("exit code %d, want %d: %s", got, row.want, row.reason)
			}
		})
	}
}

func withDeleted(r core.Record, status core.ConditionStatus, reason core.Reason) core.Record {
	r.Status.SetCondition(time.Unix(0, 0), core.Condition{Type: core.ConditionWorkspaceDeleted, Status: status, Reason: reason})
	return r
}

func TestWorstExit(t *testing.T) {
	for _, row := range []struct {
		codes  []int
		want   int
		reason string
	}{
		{[]int{0, 2, 3, 1, 143, 130, 4}, 4, "a leak needs somebody"},
		{[]int{1, 143, 0}, 143, "an interrupted run judged too little"},
		{[]int{3, 1}, 1, "a template failed for sure"},
		{[]int{2, 3}, 3, "something was tried"},
		{[]int{0, 2}, 2, "not everything passed"},
		{[]int{0, 0}, 0, "everything passed"},
	} {
		if got := worstExit(row.codes...); got != row.want {
			t.Errorf("worst of %v is %d, want %d: %s", row.codes, got, row.want, row.reason)
		}
	}
}

func TestEveryExitCodeIsInTheHelp(t *testing.T) {
	for _, code := range exitOrder {
		if !strings.Contains(exitHelp, "\n  "+strconv.Itoa(code)+" ") {
			t.Errorf("exit code %d is not explained in the help", code)
		}
	}
}
