package lifecycle

import (
	"testing"

	"github.com/assay-dev/assay/core"
)

// The table of lifecycle section 8, every verdict of it.
func TestOutcomeClass(t *testing.T) {
	const passed, template, inconclusive = core.OutcomePassed, core.OutcomeTemplateFailed, core.OutcomeInconclusive
	refused := func(status int) core.Status {
		return core.Status{Reason: core.ReasonCreateRejected, CreateAnswer: &core.CreateAnswer{Status: status}}
	}
	deadline := func(last core.Reason, ran bool) core.Status {
		return core.Status{Reason: core.ReasonDeadlineExceeded, LastWaitReason: last, StartBuildRan: ran}
	}
	for _, row := range []struct {
		why    string
		status core.Status
		want   core.OutcomeClass
	}{
		{"a pass", core.Status{Reason: core.ReasonSucceeded}, passed},
		{"the build failed", core.Status{Reason: core.ReasonBuildFailed}, template},
		{"for the variables that it wants", core.Status{Reason: core.ReasonBuildFailed, ErrorCode: "REQUIRED_TEMPLATE_VARIABLES"}, template},
		{"for the owner's quota", core.Status{Reason: core.ReasonBuildFailed, ErrorCode: "INSUFFICIENT_QUOTA"}, inconclusive},
		{"for nobody took it", core.Status{Reason: core.ReasonBuildFailed, ErrorCode: "REAPED"}, inconclusive},
		{"no agents", core.Status{Reason: core.ReasonNoAgents}, template},
		{"a script failed", core.Status{Reason: core.ReasonAgentStartError}, template},
		{"a script took too long", core.Status{Reason: core.ReasonAgentStartTimeout}, template},
		{"an agent stopped", core.Status{Reason: core.ReasonAgentStopped}, template},
		{"an agent never connected", core.Status{Reason: core.ReasonAgentConnectionTimeout}, template},
		{"an external agent", core.Status{Reason: core.ReasonExternalAgentUnsupported}, template},
		{"the import failed", core.Status{Reason: core.ReasonVersionImportFailed}, template},
		{"archived", core.Status{Reason: core.ReasonVersionArchived}, template},
		{"of another template", core.Status{Reason: core.ReasonVersionMismatch}, template},
		{"deprecated", core.Status{Reason: core.ReasonTemplateDeprecated}, template},
		{"its parameters", core.Status{Reason: core.ReasonParametersInvalid}, template},
		{"Coder calls the request bad", refused(400), template},
		{"Coder forbids it", refused(403), inconclusive},
		{"Coder does not find something", refused(404), inconclusive},
		{"a refusal that nobody remembers", core.Status{Reason: core.ReasonCreateRejected}, inconclusive},
		{"out of time while agents were awaited", deadline(core.ReasonWaitingForAgents, true), template},
		{"out of time while the build ran", deadline(core.ReasonWaitingForBuild, true), template},
		{"out of time while the build was pending", deadline(core.ReasonWaitingForBuild, false), inconclusive},
		{"out of time while nobody could take it", deadline(core.ReasonNoMatchingProvisioner, false), inconclusive},
		{"out of time while Coder was away", deadline(core.ReasonCoderUnavailable, true), inconclusive},
		{"out of time while the workspace went", deadline(core.ReasonDeletingWorkspace, true), inconclusive},
		{"somebody canceled", core.Status{Reason: core.ReasonBuildCanceled}, inconclusive},
		{"somebody deleted", core.Status{Reason: core.ReasonWorkspaceDeletedExternally}, inconclusive},
		{"somebody changed", core.Status{Reason: core.ReasonWorkspaceChangedExternally}, inconclusive},
		{"somebody has the name", core.Status{Reason: core.ReasonWorkspaceNameConflict}, inconclusive},
		{"nobody knows", core.Status{Reason: core.ReasonCreateOutcomeUnknown}, inconclusive},
		{"the control plane went", core.Status{Reason: core.ReasonControlPlaneGone}, inconclusive},
		{"the delete build failed", core.Status{Reason: core.ReasonDeleteBuildFailed}, inconclusive},
	} {
		if got := outcomeClass(&row.status); got != row.want {
			t.Errorf("%s (%s): %s, want %s", row.why, row.status.Reason, got, row.want)
		}
	}
}

// The last wait is stored with every verdict.
func TestLastWaitReason(t *testing.T) {
	in := awaiting()
	seeWorkspace(latest(build(core.TransitionStart, core.JobFailed)))(&in)
	if got := Decide(in).Record.Status.LastWaitReason; got != core.ReasonWaitingForBuild {
		t.Errorf("last wait %q", got)
	}
}

// TestProblemClass judges by the class that a test has which ends because of the problem.
func TestProblemClass(t *testing.T) {
	for _, row := range []struct {
		why     string
		problem Problem
		want    core.OutcomeClass
	}{
		{"the version is at fault", Problem{Reason: core.ReasonVersionArchived, Fails: true}, core.OutcomeTemplateFailed},
		{"somebody else's workspace is in the way", Problem{Reason: core.ReasonWorkspaceNameConflict, Fails: true}, core.OutcomeInconclusive},
		{"a wait says nothing about the version", Problem{Reason: core.ReasonVersionArchived}, core.OutcomeInconclusive},
	} {
		if got := row.problem.Class(); got != row.want {
			t.Errorf("%s: %s, want %s", row.why, got, row.want)
		}
	}
}

// TestCanBlameTemplate holds the answer for a reason against the classes that tests get
// which fail with it.
func TestCanBlameTemplate(t *testing.T) {
	for _, reason := range core.FailureReasons {
		blamed := false
		for _, wait := range []core.Reason{core.ReasonWaitingForAgents, core.ReasonCoderUnavailable} {
			st := core.Status{Reason: reason, LastWaitReason: wait, CreateAnswer: &core.CreateAnswer{Status: 400}}
			blamed = blamed || outcomeClass(&st) == core.OutcomeTemplateFailed
		}
		if CanBlameTemplate(reason) != blamed {
			t.Errorf("%s: %v, want %v", reason, !blamed, blamed)
		}
	}
}
