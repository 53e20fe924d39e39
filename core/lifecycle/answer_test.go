package lifecycle

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
)

func TestCreateAccepted(t *testing.T) {
	workspace := func(change func(*core.Workspace)) edit {
		return func(in *Input) { change(&in.Seen.Answer.Workspace) }
	}
	isFact := func(t *testing.T, d Decision) {
		if !d.Fact {
			t.Error("the outcome of a create that was sent is a fact")
		}
	}
	const confirming = "Running ConfirmingCreate marker after 5s"
	decide(t, answered(nil), []row{
		{why: "Coder made the workspace", want: "Running WaitingForBuild workspace after 5s", check: isFact},
		{
			why: "names have no case", want: "Running WaitingForBuild workspace after 5s",
			given: []edit{workspace(func(w *core.Workspace) { w.Name = "KTT" + w.Name[3:] })},
		},
		{why: "another name: only reads can tell", given: []edit{workspace(func(w *core.Workspace) { w.Name = "x" })}, want: confirming, check: isFact},
		{why: "another owner", given: []edit{workspace(func(w *core.Workspace) { w.OwnerID = otherID })}, want: confirming},
		{why: "another version", given: []edit{workspace(func(w *core.Workspace) { w.Latest.VersionID = otherID })}, want: confirming},
		{why: "no start build", given: []edit{workspace(func(w *core.Workspace) { w.Latest.Transition = core.TransitionStop })}, want: confirming},
		{why: "no ID", given: []edit{workspace(func(w *core.Workspace) { w.ID = uuid.Nil })}, want: confirming},
		{why: "no build", given: []edit{workspace(func(w *core.Workspace) { w.Latest.ID = uuid.Nil })}, want: confirming},
		{
			why: "a workspace is stored even after the deadline: the next step ends the run, and cleans up", given: []edit{now(time.Hour)},
			want: "Running WaitingForBuild workspace after 0s",
		},
	})
}

func TestCreateRefused(t *testing.T) {
	// nothingThere is what the reads find after a refusal that had no effect.
	nothingThere := []edit{seeNoName, seeOwned()}
	occupied := []edit{seeName(foreign()), seeOwned(foreign())}
	and := func(edits []edit, more ...edit) []edit { return append(append([]edit(nil), edits...), more...) }
	readsFail := []edit{func(in *Input) { in.Seen.Name = failing[core.NameLookup](unavailable) }}
	listFails := and(nothingThere, func(in *Input) { in.Seen.Owned = failing[[]core.Workspace](unavailable) })
	lookAlike := []edit{seeNoName, seeOwned(renamed())}

	for _, refusal := range []struct {
		name    string
		failure *core.Failure
		rows    []row
	}{
		{"never sent", noEffect, []row{
			{why: "a failed dial sent nothing: the marker goes without a read", want: "Pending CreateRetrying after 5s", says: "connection refused"},
		}},
		{"no answer", uncertain, []row{
			{why: "a reset says nothing: the marker stays", want: "Running ConfirmingCreate marker after 5s", says: "connection reset"},
			{
				why: "and the deadline ends that wait", given: []edit{now(900 * time.Second)},
				want: "Failed DeadlineExceeded Inconclusive Unknown/CreateOutcomeUnknown marker after 0s",
			},
		}},
		{"mismatch", mismatch, []row{{why: "a mismatch says nothing", want: "Running ConfirmingCreate marker after 5s"}}},
		{"a proxy", unavailable, []row{{why: "a proxy's answer says nothing", want: "Running ConfirmingCreate marker after 5s"}}},

		{"401", unauthorized, []row{
			{why: "our name is read first", want: "read name"},
			{why: "then the owner's list", given: []edit{seeNoName}, want: "read owned"},
			{why: "nothing there: the marker is cleared", given: nothingThere, want: "Pending OperatorAccessNotReady after 15s", says: "renew the operator's token"},
			{why: "the reads fail: the marker stays, the answer is noted", given: readsFail, want: "Running ConfirmingCreate marker(401) after 5s", says: "read: HTTP 502"},
			{why: "somebody else has the name: the next pass says so", given: occupied, want: "Pending OperatorAccessNotReady after 15s"},
		}},
		{"406", importing, []row{
			{why: "the version still imports", given: nothingThere, want: "Pending TemplateVersionImporting after 15s"},
			{why: "a look-alike: the marker stays", given: lookAlike, want: "Running ConfirmingCreate marker(406) after 5s", says: workspaceID.String()},
		}},
		{"429", limited, []row{
			{why: "too many requests: as long as Coder says", given: nothingThere, want: "Pending CreateRetrying after 1m30s"},
			{why: "also where the reads fail", given: readsFail, want: "Running ConfirmingCreate marker(429) after 5s"},
			{
				why: "or are too many themselves", want: "Running ConfirmingCreate marker(429) after 1m30s",
				given: []edit{func(in *Input) { in.Seen.Name = failing[core.NameLookup](limited) }},
			},
			{why: "also beside a look-alike", given: lookAlike, want: "Running ConfirmingCreate marker(429) after 1m30s"},
		}},

		{"409", conflict, []row{
			{why: "our name is read", want: "read name"},
			{why: "then that workspace by its ID", given: []edit{seeName(foreign()), func(in *Input) { in.Seen.Workspaces = nil }}, want: "read workspace"},
			{why: "then its builds", given: []edit{seeName(foreign()), func(in *Input) { in.Seen.Builds = nil }}, want: "read builds"},
			{why: "then the owner's list", given: []edit{seeName(foreign())}, want: "read owned"},
			{
				why: "somebody else's workspace has the name", given: occupied, want: "Failed WorkspaceNameConflict Inconclusive True/NotCreated marker(409) after 0s",
				says: "remove or rename the owner's workspace " + ourName,
			},
			{why: "but a look-alike beside it keeps the marker", given: []edit{seeName(foreign()), seeOwned(foreign(), renamed())}, want: "Running ConfirmingCreate marker(409) after 5s"},
			{why: "nothing has the name any more: the marker stays", given: nothingThere, want: "Running ConfirmingCreate marker(409) after 5s"},
			{why: "it was another copy of our own request", given: []edit{seeName(ours())}, want: "Running WaitingForBuild workspace after 5s"},
			{
				why: "ours, and deleted already", given: []edit{seeName(func() core.Workspace { w := ours(); w.Deleted = true; return w }())},
				want: "Failed WorkspaceDeletedExternally Inconclusive True/DeletedExternally marker(409) after 0s",
			},
			{why: "the reads fail: noted", given: readsFail, want: "Running ConfirmingCreate marker(409) after 5s"},
		}},

		{"400", rejected, []row{
			{why: "Coder refuses the template's workspace", given: nothingThere, want: "Failed CreateRejected TemplateFailed True/NotCreated marker(400) after 0s", says: "HTTP 400: bad"},
			{why: "so it does beside somebody else's", given: occupied, want: "Failed CreateRejected TemplateFailed True/NotCreated marker(400) after 0s"},
			{why: "the reads fail: rejected, but cleanup settles the rest", given: readsFail, want: "Failed CreateRejected TemplateFailed Unknown/CreateOutcomeUnknown marker(400) after 0s"},
			{why: "the list cannot be read: the same", given: listFails, want: "Failed CreateRejected TemplateFailed Unknown/CreateOutcomeUnknown marker(400) after 0s"},
			{why: "a look-alike: the same", given: lookAlike, want: "Failed CreateRejected TemplateFailed Unknown/CreateOutcomeUnknown marker(400) after 0s"},
			{why: "a copy of it was accepted after all", given: []edit{seeName(ours())}, want: "Running WaitingForBuild workspace after 5s"},
			{
				why: "a verdict reached in this step stands, deadline or not", given: and(nothingThere, now(time.Hour)),
				want: "Failed CreateRejected TemplateFailed True/NotCreated marker(400) after 0s",
			},
		}},
		{"403", forbidden, []row{{why: "no rights: not the template's fault", given: nothingThere, want: "Failed CreateRejected Inconclusive True/NotCreated marker(403) after 0s"}}},
		{"404", notFound, []row{{why: "nor is what cannot be found", given: nothingThere, want: "Failed CreateRejected Inconclusive True/NotCreated marker(404) after 0s"}}},
		{"410", gone, []row{{why: "410 is another 4xx", given: nothingThere, want: "Failed CreateRejected Inconclusive True/NotCreated marker(410) after 0s"}}},
	} {
		t.Run(refusal.name, func(t *testing.T) {
			for i := range refusal.rows {
				check := refusal.rows[i].check
				refusal.rows[i].check = func(t *testing.T, d Decision) {
					if d.Read.Kind == ReadNothing && !d.Fact {
						t.Error("the outcome of a create that was sent is a fact")
					}
					if check != nil {
						check(t, d)
					}
				}
			}
			base := answered(refusal.failure)
			decide(t, func() Input {
				in := base()
				in.Seen.Answer.Failure = refusal.failure
				return in
			}, refusal.rows)
		})
	}
}

// On a record that got its verdict or a deletion request meanwhile, the outcome of a
// create changes IDs, the marker and WorkspaceDeleted only.
func TestCreateOutcomeOnASettledRecord(t *testing.T) {
	settled := func(f *core.Failure, edits ...edit) edit {
		return func(in *Input) {
			answer := answered(f)().Seen
			*in = unanswered()
			in.Seen = answer
			for _, change := range edits {
				change(in)
			}
		}
	}
	deleting := func(f *core.Failure, edits ...edit) edit {
		return func(in *Input) {
			*in = answered(f)()
			deletionRequested(in)
			for _, change := range edits {
				change(in)
			}
		}
	}
	is := workspaceIs
	const failed = "Failed DeadlineExceeded Inconclusive "
	decide(t, fresh, []row{
		{why: "a 201 on a final record", given: []edit{settled(nil)}, want: failed + "False/CleanupPending workspace after 0s"},
		{why: "a 201 on one being deleted", given: []edit{deleting(nil)}, want: "Running CreatingWorkspace False/CleanupPending workspace after 0s"},
		{
			why: "a workspace outranks OwnershipUnknown", given: []edit{settled(nil, is(core.ConditionUnknown, core.ReasonOwnershipUnknown))},
			want: failed + "False/CleanupPending workspace after 0s",
		},
		{
			why: "and NotCreated", given: []edit{settled(nil, is(core.ConditionTrue, core.ReasonNotCreated))},
			want: failed + "False/CleanupPending workspace after 0s",
		},
		{
			why: "and a control plane that was called gone", given: []edit{settled(nil, is(core.ConditionUnknown, core.ReasonControlPlaneGone))},
			want: failed + "False/CleanupPending workspace after 0s",
		},
		{
			why: "a workspace that is retained stays so", given: []edit{settled(nil, is(core.ConditionFalse, core.ReasonRetained))},
			want: failed + "False/Retained workspace after 0s",
		},
		{why: "no answer says nothing new but why", given: []edit{settled(uncertain)}, want: failed + "Unknown/CreateOutcomeUnknown marker after 5s", says: "connection reset"},
		{why: "no answer on one being deleted", given: []edit{deleting(uncertain)}, want: "Running CreatingWorkspace Unknown/CreateOutcomeUnknown marker after 5s"},
		{
			why: "no answer leaves OwnershipUnknown", given: []edit{settled(uncertain, is(core.ConditionUnknown, core.ReasonOwnershipUnknown))},
			want: failed + "Unknown/OwnershipUnknown marker after 5s",
		},
		{
			why: "no answer overwrites no proof", given: []edit{settled(uncertain, is(core.ConditionTrue, core.ReasonDeletedExternally))},
			want: failed + "True/DeletedExternally marker after 0s",
		},
		{why: "never sent: nothing was created", given: []edit{settled(noEffect)}, want: failed + "True/NotCreated after 0s"},
		{
			why: "but a control plane that is gone stays gone", given: []edit{settled(noEffect, is(core.ConditionUnknown, core.ReasonControlPlaneGone))},
			want: failed + "Unknown/ControlPlaneGone after 0s",
		},
		{why: "a refusal reads before it concludes", given: []edit{settled(conflict)}, want: "read name"},
		{why: "a refusal without effect", given: []edit{settled(rejected, seeNoName, seeOwned())}, want: failed + "True/NotCreated marker(400) after 0s"},
		{why: "409 and somebody else's workspace", given: []edit{settled(conflict, seeName(foreign()), seeOwned(foreign()))}, want: failed + "True/NotCreated marker(409) after 0s"},
		{why: "409 and nothing there", given: []edit{settled(conflict, seeNoName)}, want: failed + "Unknown/CreateOutcomeUnknown marker(409) after 5s"},
		{why: "409, and it was a copy of ours", given: []edit{settled(conflict, seeName(ours()))}, want: failed + "False/CleanupPending workspace after 0s"},
		{
			why: "a refusal on one being deleted changes no phase", given: []edit{deleting(rejected, seeNoName, seeOwned())},
			want: "Running CreatingWorkspace True/NotCreated marker(400) after 0s",
		},
		{
			why:   "a look-alike overwrites no gone control plane",
			given: []edit{settled(rejected, seeNoName, seeOwned(renamed()), is(core.ConditionUnknown, core.ReasonControlPlaneGone))},
			want:  failed + "Unknown/ControlPlaneGone marker(400) after 0s",
		},
		{
			why: "another attempt's marker: nothing of this one is stored", want: "Running CreatingWorkspace marker after 0s",
			given: []edit{func(in *Input) {
				*in = answered(nil)()
				in.Record.Status.CreateAttemptID = otherID
			}},
		},
		{
			why: "somebody found the workspace first: that stands", want: "Running WaitingForBuild workspace after 0s",
			given: []edit{func(in *Input) {
				answer := answered(nil)().Seen
				answer.Answer.Workspace.ID = otherID
				*in = awaiting()
				in.Seen = answer
			}},
		},
	})
}
