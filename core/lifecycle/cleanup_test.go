package lifecycle

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
)

func TestCleanupOrder(t *testing.T) {
	unseen := func(in *Input) { in.Seen = Seen{} }
	is := workspaceIs
	const final = "Failed BuildFailed Inconclusive "
	decide(t, failed, []row{
		{why: "0: a workspace that is gone releases the hold, without a call", given: []edit{unseen, is(core.ConditionTrue, core.ReasonDeleted)}, want: final + "True/Deleted workspace release hold after 0s"},
		{why: "0: whoever deleted it", given: []edit{unseen, is(core.ConditionTrue, core.ReasonDeletedExternally)}, want: final + "True/DeletedExternally workspace release hold after 0s"},
		{why: "0: so does a control plane that was called gone", given: []edit{unseen, is(core.ConditionUnknown, core.ReasonControlPlaneGone)}, want: final + "Unknown/ControlPlaneGone workspace release hold after 0s"},
		{why: "0: and nothing overwrites that, not even its return", given: []edit{is(core.ConditionUnknown, core.ReasonControlPlaneGone), seeWorkspace()}, want: final + "Unknown/ControlPlaneGone workspace release hold after 0s"},
		{
			why: "1: nothing was ever sent: not a single Coder request", want: "Failed TemplateDeprecated Inconclusive True/NotCreated after 0s",
			given: []edit{func(in *Input) { *in = pending() }, conclude(core.ReasonTemplateDeprecated, "", ""), func(in *Input) { in.Record.Status.Conditions = nil }},
		},
		{
			why: "1: also where it is asked to be retained", want: "Pending Initializing True/NotCreated after 0s",
			given: []edit{func(in *Input) { *in = pending() }, deletionRequested, policy("retain")},
		},
		{why: "3: a control plane that is gone ends the cleanup", given: []edit{planeState(core.ControlPlaneGone)}, want: final + "Unknown/ControlPlaneGone workspace after 0s", check: func(t *testing.T, d Decision) {
			if !d.Live {
				t.Error("gone is concluded from live reads only")
			}
		}},
		{
			why: "3: one that cannot be read is not gone, whatever came with the error", want: final + "False/ControlPlaneUnavailable workspace after 1m0s",
			given: []edit{planeState(core.ControlPlaneGone), func(in *Input) { in.Seen.ControlPlane.Failure = unavailable }},
		},
		{why: "5: the control plane is read", given: []edit{unseen}, want: "read control plane"},
		{why: "5: no usable URL", given: []edit{planeState(core.ControlPlaneUnready)}, want: final + "False/ControlPlaneUnavailable workspace after 1m0s"},
		{why: "5: no token", given: []edit{planeState(core.ControlPlaneNoAccess)}, want: final + "False/ControlPlaneUnavailable workspace after 1m0s"},
		{
			why: "5: another deployment answers: unavailable, never proof", given: []edit{func(in *Input) { in.Seen.Deployment.Value.ID = "another" }},
			want: final + "False/ControlPlaneUnavailable workspace after 1m0s",
		},
		{why: "5: Coder does not answer", given: []edit{func(in *Input) { in.Seen.Deployment = failing[core.Deployment](unavailable) }}, want: final + "False/ControlPlaneUnavailable workspace after 1m0s"},
		{why: "5: Coder does not take the token", given: []edit{func(in *Input) { in.Seen.Operator = failing[core.User](unauthorized) }}, want: final + "False/ControlPlaneUnavailable workspace after 1m0s"},
		{why: "5: about something else", given: []edit{func(in *Input) { in.Seen.Operator = failing[core.User](mismatch) }}, want: final + "False/CoderAnswerMismatch workspace after 1m0s"},
		{why: "5: too many requests", given: []edit{func(in *Input) { in.Seen.Operator = failing[core.User](limited) }}, want: final + "False/ControlPlaneUnavailable workspace after 1m30s"},
		{why: "7: the delete step", want: "read workspace"},
		{why: "7: the owner is not checked again", given: []edit{func(in *Input) { in.Seen.ControlPlane.Value.Policy.OwnerUserID = "" }}, want: "read workspace"},
		{why: "the deadline is over for a test that is final", given: []edit{now(time.Hour), seeWorkspace(latest(build(core.TransitionDelete, core.JobRunning)))}, want: final + "False/Deleting workspace after 5s"},
	})
}

func TestRetain(t *testing.T) {
	is := workspaceIs
	unreachable := planeState(core.ControlPlaneNoAccess)
	const final = "Failed BuildFailed Inconclusive "
	const retained = final + "False/Retained workspace after "
	const retrying = final + "False/DeleteRetrying workspace after 1m0s"
	failedDelete := seeWorkspace(latest(build(core.TransitionDelete, core.JobFailed)))
	says := func(want string) func(*testing.T, Decision) {
		return func(t *testing.T, d Decision) {
			if got := d.Record.Status.Condition(core.ConditionWorkspaceDeleted).Message; got != want {
				t.Errorf("message %q, want %q", got, want)
			}
		}
	}
	decide(t, failed, []row{
		{why: "asked for and allowed", given: []edit{policy("retain"), allowRetain}, want: retained + "0s"},
		{why: "no Coder call: it works while Coder is unreachable", given: []edit{policy("retain"), allowRetain, unreachable}, want: retained + "0s"},
		{why: "the control plane is read, though", given: []edit{policy("retain"), func(in *Input) { in.Seen = Seen{} }}, want: "read control plane"},
		{
			why: "where it cannot be, nothing is known", want: final + "False/ControlPlaneUnavailable workspace after 1m0s",
			given: []edit{policy("retain"), allowRetain, func(in *Input) { in.Seen.ControlPlane.Failure = unavailable }},
		},
		{why: "a control plane that is gone allows nothing", given: []edit{policy("retain"), allowRetain, planeState(core.ControlPlaneGone)}, want: final + "Unknown/ControlPlaneGone workspace after 0s"},
		{
			why: "not allowed: ignored, and the message says so", given: []edit{policy("retain"), seeWorkspace(latest(build(core.TransitionDelete, core.JobRunning)))},
			want: final + "False/Deleting workspace after 5s", says: "the control plane does not allow retain",
		},
		{
			why: "written in another way: deleted, and the message says so", given: []edit{policy("Retain"), allowRetain, seeWorkspace(latest(build(core.TransitionDelete, core.JobRunning)))},
			want: final + "False/Deleting workspace after 5s", says: `write the deletion policy as "retain" or "delete"`,
		},
		{
			why: "while an unknown create is looked for too", want: "Failed DeadlineExceeded Inconclusive Unknown/CreateOutcomeUnknown marker after 5s",
			given: []edit{func(in *Input) { *in = unanswered() }, policy("retain"), seeNoName}, says: "the control plane does not allow retain",
		},
		{
			why: "the note comes before what cleanup says anyway", given: []edit{policy("retain"), failedDelete}, want: retrying,
			check: says("the control plane does not allow retain, so the workspace is deleted; a delete build failed; another one follows"),
		},
		{
			why: "no note without a policy", given: []edit{failedDelete}, want: retrying, check: says("a delete build failed; another one follows"),
		},
		{
			why: "nor on what nobody could read", want: final + "False/ControlPlaneUnavailable workspace after 1m0s",
			given: []edit{policy("retain"), func(in *Input) { in.Seen.ControlPlane = failing[core.ControlPlane](&core.Failure{Message: "away"}) }},
			check: says("away"),
		},
		{why: "delete, exactly as written", given: []edit{policy("delete"), allowRetain}, want: "read workspace"},
		{why: "retained, and nobody deletes the test: the hold stays, the policy can change", given: []edit{policy("retain"), allowRetain, is(core.ConditionFalse, core.ReasonRetained)}, want: retained + "1m0s"},
		{
			why: "nor does its stream tell anything", given: []edit{policy("retain"), allowRetain, is(core.ConditionFalse, core.ReasonRetained)}, want: retained + "1m0s",
			check: func(t *testing.T, d Decision) {
				if d.Watch != uuid.Nil {
					t.Error("the stream of a retained workspace is watched")
				}
			},
		},
		{why: "switched back: the workspace is deleted", given: []edit{policy("delete"), allowRetain, is(core.ConditionFalse, core.ReasonRetained)}, want: "read workspace"},
		{why: "no longer allowed: the same", given: []edit{policy("retain"), is(core.ConditionFalse, core.ReasonRetained)}, want: "read workspace"},
		{
			why: "retained and being deleted: the hold is released", given: []edit{policy("retain"), allowRetain, is(core.ConditionFalse, core.ReasonRetained), deletionRequested},
			want: final + "False/Retained workspace release hold after 0s", check: func(t *testing.T, d Decision) {
				if !d.Live {
					t.Error("still asked for and still allowed: by live reads")
				}
			},
		},
		{why: "being deleted, and not retained yet: that is stored first", given: []edit{policy("retain"), allowRetain, deletionRequested}, want: retained + "0s"},
		{
			why: "a test without a verdict is retained too", given: []edit{func(in *Input) { *in = awaiting() }, policy("retain"), allowRetain, deletionRequested},
			want: "Running WaitingForBuild False/Retained workspace after 0s",
		},
		{
			why: "a hold that was released already", want: final + "False/Retained workspace done",
			given: []edit{policy("retain"), allowRetain, is(core.ConditionFalse, core.ReasonRetained), deletionRequested, func(in *Input) { in.Record.Held = false }},
		},
		{
			why: "an unproven workspace is retained as well", want: "Failed DeadlineExceeded Inconclusive False/Retained marker after 0s",
			given: []edit{func(in *Input) { *in = unanswered() }, policy("retain"), allowRetain, is(core.ConditionUnknown, core.ReasonOwnershipUnknown)},
		},
	})
}

func TestOwnershipUnknown(t *testing.T) {
	base := func() Input {
		in := unanswered()
		workspaceIs(core.ConditionUnknown, core.ReasonOwnershipUnknown)(&in)
		return in
	}
	const final = "Failed DeadlineExceeded Inconclusive "
	const stays = final + "Unknown/OwnershipUnknown marker after 1m0s"
	decide(t, base, []row{
		{why: "5.4 is read again", want: "read name"},
		{why: "but not before the deployment answered", given: []edit{func(in *Input) { in.Seen.Deployment = Result[core.Deployment]{} }}, want: "read deployment"},
		{why: "still unproven: never touched", given: []edit{seeName(foreign())}, want: stays},
		{
			why: "what is known by its ID is ours, whatever was said before", want: "read workspace",
			given: []edit{func(in *Input) { *in = failed() }, workspaceIs(core.ConditionUnknown, core.ReasonOwnershipUnknown)},
		},
		{why: "proven by now: adopted, then cleaned up", given: []edit{seeName(ours())}, want: final + "False/CleanupPending workspace after 0s"},
		{
			why: "proven and deleted", given: []edit{seeName(func() core.Workspace { w := ours(); w.Deleted = true; return w }())},
			want: final + "True/DeletedExternally marker after 0s",
		},
		{why: "none: the rules for none", given: []edit{seeNoName}, want: final + "Unknown/CreateOutcomeUnknown marker after 5s"},
		{why: "a read fails: it stays", given: []edit{func(in *Input) { in.Seen.Name = failing[core.NameLookup](unavailable) }}, want: stays},
		{why: "too many requests: it stays, as long as Coder says", given: []edit{func(in *Input) { in.Seen.Name = failing[core.NameLookup](limited) }}, want: final + "Unknown/OwnershipUnknown marker after 1m30s"},
		{
			why: "not connected: it stays, and nothing is written", given: []edit{planeState(core.ControlPlaneUnready)}, want: stays,
			check: func(t *testing.T, d Decision) {
				if want := base().Record.Status; !sameStatus(&want, &d.Record.Status) {
					t.Errorf("generation %d is noted although nothing changed", d.Record.Status.ObservedGeneration)
				}
			},
		},
		{why: "Coder does not answer: it stays", given: []edit{func(in *Input) { in.Seen.Deployment = failing[core.Deployment](unavailable) }}, want: stays},
		{why: "the control plane is gone: that ends it", given: []edit{planeState(core.ControlPlaneGone)}, want: final + "Unknown/ControlPlaneGone marker after 0s"},
		{
			why: "whether retain is allowed cannot be read: it stays", given: []edit{policy("retain"), func(in *Input) { in.Seen.ControlPlane.Failure = unavailable }},
			want: stays,
		},
		{why: "a deletion request alone does not end it", given: []edit{deletionRequested, seeName(foreign())}, want: stays},
	})
}

func TestCleanupOfAnUnknownCreate(t *testing.T) {
	const final = "Failed DeadlineExceeded Inconclusive "
	settled := []edit{now(settledAt), seeNoName, seeOwned(), func(in *Input) { in.Seen.MayRead = done(true) }}
	sameAfter := func(in *Input) {
		in.Seen.DeploymentAfter, in.Seen.MayReadAfter = done(core.Deployment{ID: deploymentID}), done(true)
	}
	decide(t, unanswered, []row{
		{why: "6: the confirming reads", want: "read name"},
		{why: "6: adopted, then go on", given: []edit{seeName(ours())}, want: final + "False/CleanupPending workspace after 0s"},
		{why: "6: somebody else's", given: []edit{seeName(foreign())}, want: final + "Unknown/OwnershipUnknown marker after 1m0s"},
		{why: "6: none yet", given: []edit{seeNoName}, want: final + "Unknown/CreateOutcomeUnknown marker after 5s"},
		{why: "6: none, after the window: the proof is read", given: settled, want: "read deployment after"},
		{why: "6: none, proven", given: append(settled[:len(settled):len(settled)], sameAfter), want: final + "True/NotCreated marker after 0s"},
		{
			why: "6: a look-alike under another name", given: []edit{now(settledAt), seeNoName, seeOwned(renamed()), func(in *Input) { in.Seen.MayRead = done(true) }},
			want: final + "Unknown/CreateOutcomeUnknown marker after 1m0s", says: workspaceID.String(),
		},
		{why: "6: a read fails", given: []edit{func(in *Input) { in.Seen.Name = failing[core.NameLookup](unavailable) }}, want: final + "False/ControlPlaneUnavailable marker after 1m0s"},
		{why: "6: a refusal that was noted needs no window", given: []edit{noted(400), seeNoName, seeOwned()}, want: final + "True/NotCreated marker(400) after 0s"},
		{
			why: "a deletion request changes no phase", given: []edit{func(in *Input) { *in = marked() }, deletionRequested, seeName(foreign())},
			want: "Running CreatingWorkspace Unknown/OwnershipUnknown marker after 1m0s",
		},
	})
}

func TestAtRest(t *testing.T) {
	for _, row := range []struct {
		why       string
		reason    core.Reason
		workspace uuid.UUID
		want      bool
	}{
		{"retained: until the policy changes", core.ReasonRetained, workspaceID, true},
		{"of unknown owner: until a person looks", core.ReasonOwnershipUnknown, uuid.Nil, true},
		{"adopted meanwhile: cleanup goes on", core.ReasonOwnershipUnknown, workspaceID, false},
		{"being deleted", core.ReasonDeleting, workspaceID, false},
		{"looked for", core.ReasonCreateOutcomeUnknown, uuid.Nil, false},
		{"running", "", workspaceID, false},
	} {
		in := marked()
		workspaceIs(core.ConditionUnknown, row.reason)(&in)
		in.Record.Status.WorkspaceID = row.workspace
		if got := AtRest(in.Record); got != row.want {
			t.Errorf("%s: at rest: %t", row.why, got)
		}
	}
}
