package lifecycle

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
)

// settledAt is the first moment at which finding nothing can be proof: the marker is
// of 10 s past noon.
const settledAt = 10*time.Second + 15*time.Minute + time.Second

// longTest lets the run go on past the settle window.
func longTest(in *Input) { in.Record.Spec.TimeoutSeconds = 7200 }

func noted(status int) edit {
	return func(in *Input) {
		in.Record.Status.CreateAnswer = &core.CreateAnswer{Status: status, Message: "noted"}
	}
}

func TestConfirmCreate(t *testing.T) {
	unread := func(forget func(*Seen)) edit { return func(in *Input) { forget(&in.Seen) } }
	goneNow := func(w core.Workspace) core.Workspace {
		w.Deleted = true
		return w
	}
	decide(t, marked, []row{
		{why: "the owner's workspace of our name is looked up", want: "read name"},
		{
			why: "when it can be", want: "Running CoderUnavailable marker after 5s",
			given: []edit{func(in *Input) { in.Seen.Name = failing[core.NameLookup](unavailable) }},
		},
		{why: "whether it lives is told by its ID", given: []edit{seeName(ours()), unread(func(s *Seen) { s.Workspaces = nil })}, want: "read workspace"},
		{
			why: "a 404 by ID proves nothing", want: "Running CoderUnavailable marker after 5s",
			given: []edit{seeName(ours()), func(in *Input) { in.Seen.Workspaces[workspaceID] = failing[core.Workspace](notFound) }},
		},
		{why: "whose it is, by its builds", given: []edit{seeName(ours()), unread(func(s *Seen) { s.Builds = nil })}, want: "read builds"},
		{
			why: "when they can be read", want: "Running CoderUnavailable marker after 5s",
			given: []edit{seeName(ours()), func(in *Input) { in.Seen.Builds[workspaceID] = failing[[]core.Build](unavailable) }},
		},
		{why: "live and proven: adopted", given: []edit{seeName(ours())}, want: "Running WaitingForBuild workspace after 5s"},
		{
			why: "live and unproven: never touched, the hold is kept", given: []edit{seeName(foreign())},
			want: "Failed WorkspaceNameConflict Inconclusive Unknown/OwnershipUnknown marker after 0s", says: "look at the owner's workspace " + ourName,
		},
		{
			why: "deleted and proven", given: []edit{seeName(goneNow(ours()))},
			want: "Failed WorkspaceDeletedExternally Inconclusive True/DeletedExternally marker after 0s",
		},
		{
			why: "that it lives is told by its ID, not by its name", want: "Failed WorkspaceDeletedExternally Inconclusive True/DeletedExternally marker after 0s",
			given: []edit{seeName(ours()), func(in *Input) { in.Seen.Workspaces[workspaceID] = done(goneNow(ours())) }},
		},
		{why: "deleted and unproven is as none", given: []edit{seeName(goneNow(foreign()))}, want: "Running ConfirmingCreate marker after 5s"},
		{why: "none: an unanswered create can still take effect", given: []edit{seeNoName}, want: "Running ConfirmingCreate marker after 5s", says: "15m0s"},
	})
}

func TestConfirmAbsence(t *testing.T) {
	mayRead := func(in *Input) { in.Seen.MayRead = done(true) }
	sameAfter := func(in *Input) {
		in.Seen.DeploymentAfter = done(core.Deployment{ID: deploymentID, ServerTime: in.Now})
	}
	mayReadAfter := func(in *Input) { in.Seen.MayReadAfter = done(true) }
	elsewhere := func(change func(*core.Workspace)) core.Workspace {
		w := renamed()
		change(&w)
		return w
	}
	named := func(w core.Workspace, name string) core.Workspace {
		w.Name = name
		return w
	}
	const (
		stays  = "Running ConfirmingCreate marker after 1m0s"
		proven = "Failed CreateOutcomeUnknown Inconclusive True/NotCreated marker after 0s"
	)
	base := func() Input {
		in := marked()
		longTest(&in)
		now(settledAt)(&in)
		seeNoName(&in)
		return in
	}
	// Each row knows what the rows before it have read: the order is part of the proof.
	decide(t, base, []row{
		{
			why: "the last second of the window is inside it", given: []edit{now(settledAt - time.Second)},
			want: "Running ConfirmingCreate marker after 5s",
		},
		{
			why: "the window is over by Coder's clock, not by ours", want: "Running ConfirmingCreate marker after 5s",
			given: []edit{func(in *Input) { in.Seen.Deployment.Value.ServerTime = after(settledAt - time.Second) }},
		},
		{why: "first, the owner answers", want: "read owner"},
		{
			why: "404 does not", want: stays, says: "let the operator user read the owner " + ownerID.String(),
			given: []edit{func(in *Input) { in.Seen.Owner = failing[core.User](notFound) }},
		},
		{
			why: "a failing read is a wait", want: "Running CoderUnavailable marker after 5s",
			given: []edit{func(in *Input) { in.Seen.Owner = failing[core.User](unavailable) }},
		},
		{why: "second, the operator may read the owner's workspaces", given: []edit{func(in *Input) { in.Seen.Owner = done(tester()) }}, want: "read may read"},
		{
			why: "it may not", want: stays, says: "let the operator user read all workspaces of the owner",
			given: []edit{seeOwned(), func(in *Input) { in.Seen.MayRead = done(false) }},
		},
		{
			why: "that is not known now", want: "Running CoderUnavailable marker after 5s",
			given: []edit{seeOwned(), func(in *Input) { in.Seen.MayRead = failing[bool](unavailable) }},
		},
		{
			why: "the list is read last", want: "read owned",
			given: []edit{func(in *Input) { in.Seen.Owner = done(tester()) }, mayRead},
		},
		{
			why: "it cannot be", want: "Running CoderUnavailable marker after 5s",
			given: []edit{seeOwned(), mayRead, func(in *Input) { in.Seen.Owned = failing[[]core.Workspace](unavailable) }},
		},
		{
			why: "is what is in it known here?", want: "read claimed",
			given: []edit{seeOwned(renamed()), mayRead, func(in *Input) { in.Seen.Claimed = nil }},
		},
		{
			why: "whose is it?", want: "read builds",
			given: []edit{seeOwned(renamed()), mayRead, func(in *Input) { in.Seen.Builds = nil }},
		},
		{
			why: "that cannot be told now", want: "Running CoderUnavailable marker after 5s",
			given: []edit{seeOwned(renamed()), mayRead, func(in *Input) { in.Seen.Builds[workspaceID] = failing[[]core.Build](unavailable) }},
		},
		{why: "a look-alike, whatever its name", given: []edit{seeOwned(renamed()), mayRead}, want: stays, says: "look at workspace " + workspaceID.String()},
		{why: "ours included", given: []edit{seeOwned(ours()), mayRead}, want: stays, says: workspaceID.String()},
		{
			why: "one named like another test is that test's", want: "read deployment after",
			given: []edit{seeOwned(named(renamed(), core.WorkspaceName(otherID))), mayRead},
		},
		{
			why: "one whose ID a record here holds is that record's", want: "read deployment after",
			given: []edit{seeOwned(renamed()), mayRead, func(in *Input) { in.Seen.Claimed[workspaceID] = true }},
		},
		{
			why: "one of another template is nobody's question", want: "read deployment after",
			given: []edit{seeOwned(func() core.Workspace { w := renamed(); w.TemplateID = otherID; return w }()), mayRead},
		},
		{
			why: "nor is one of another organization; nothing is read about either", want: "read deployment after",
			given: []edit{
				seeOwned(elsewhere(func(w *core.Workspace) { w.OrganizationID = otherID }), elsewhere(func(w *core.Workspace) { w.TemplateID = otherID })),
				mayRead, func(in *Input) { in.Seen.Claimed, in.Seen.Builds = nil, nil },
			},
		},
		{
			why: "one that somebody else made is no look-alike", want: "read deployment after",
			given: []edit{seeOwned(named(foreign(), "mine")), mayRead},
		},
		{why: "and the deployment is still the pinned one", given: []edit{seeOwned(), mayRead}, want: "read deployment after"},
		{
			why: "another one answers by now", want: stays,
			given: []edit{seeOwned(), mayRead, func(in *Input) { in.Seen.DeploymentAfter = done(core.Deployment{ID: "another"}) }},
		},
		{
			why: "that is not known now", want: "Running CoderUnavailable marker after 5s",
			given: []edit{seeOwned(), mayRead, func(in *Input) { in.Seen.DeploymentAfter = failing[core.Deployment](unavailable) }},
		},
		{why: "and this caller still sees all", given: []edit{seeOwned(), mayRead, sameAfter}, want: "read may read after"},
		{
			why: "a caller that lost its rights while the list was read proves nothing", want: stays,
			given: []edit{seeOwned(), mayRead, sameAfter, func(in *Input) { in.Seen.MayReadAfter = done(false) }},
		},
		{why: "all of that: there is none", given: []edit{seeOwned(), mayRead, sameAfter, mayReadAfter}, want: proven},
		{
			why: "a verdict reached in this step stands, deadline or not", want: proven,
			given: []edit{seeOwned(), mayRead, sameAfter, mayReadAfter, func(in *Input) { in.Record.Spec.TimeoutSeconds = 1000 }},
		},
	})
}

// A refusal that was noted needs no settle window: Coder said that it made nothing.
func TestConfirmANotedRefusal(t *testing.T) {
	decide(t, marked, []row{
		{why: "the same reads as at once", given: []edit{noted(400)}, want: "read name"},
		{why: "then the list, without a window", given: []edit{noted(400), seeNoName}, want: "read owner"},
		{
			why: "then the list itself", given: []edit{noted(400), seeNoName, func(in *Input) { in.Seen.Owner = done(tester()) }},
			want: "read owned",
		},
		{why: "400 had no effect", given: []edit{noted(400), seeNoName, seeOwned()}, want: "Failed CreateRejected TemplateFailed True/NotCreated marker(400) after 0s"},
		{why: "nor 401: the marker goes", given: []edit{noted(401), seeNoName, seeOwned()}, want: "Pending OperatorAccessNotReady after 15s"},
		{why: "nor 406", given: []edit{noted(406), seeNoName, seeOwned()}, want: "Pending TemplateVersionImporting after 15s"},
		{why: "nor 429", given: []edit{noted(429), seeNoName, seeOwned()}, want: "Pending CreateRetrying after 2s"},
		{
			why: "409 and somebody else's workspace", given: []edit{noted(409), seeName(foreign()), seeOwned(foreign())},
			want: "Failed WorkspaceNameConflict Inconclusive True/NotCreated marker(409) after 0s",
		},
		{why: "409 and nothing there: whoever had the name is no news of ours", given: []edit{noted(409), seeNoName}, want: "Running ConfirmingCreate marker(409) after 5s"},
		{
			why: "409, nothing there, and the window is over: the rights are proven before the list is read", want: "read may read",
			given: []edit{noted(409), longTest, now(settledAt), seeNoName, func(in *Input) { in.Seen.Owner = done(tester()) }},
		},
		{
			why: "and then there is none", want: "Failed CreateOutcomeUnknown Inconclusive True/NotCreated marker(409) after 0s",
			given: []edit{
				noted(409), longTest, now(settledAt), seeNoName, seeOwned(),
				func(in *Input) {
					in.Seen.MayRead, in.Seen.DeploymentAfter = done(true), done(core.Deployment{ID: deploymentID})
					in.Seen.MayReadAfter = done(true)
				},
			},
		},
		{why: "a copy of it was accepted", given: []edit{noted(400), seeName(ours())}, want: "Running WaitingForBuild workspace after 5s"},
		{
			why: "a look-alike keeps the marker", given: []edit{noted(400), seeNoName, seeOwned(renamed())},
			want: "Running ConfirmingCreate marker(400) after 1m0s", says: workspaceID.String(),
		},
		{
			why: "the list cannot be read now", want: "Running CoderUnavailable marker(400) after 5s",
			given: []edit{noted(400), seeNoName, func(in *Input) { in.Seen.Owner = failing[core.User](unavailable) }},
		},
	})
}

func TestConfirmKeepsTheFirstMarker(t *testing.T) {
	in := marked()
	seeName(ours())(&in)
	st := Decide(in).Record.Status
	if st.CreateAttemptID != attemptID || st.CreateAttemptID == uuid.Nil || !st.CreateAttemptTime.Equal(after(10*time.Second)) {
		t.Errorf("marker %s at %s after the adoption", st.CreateAttemptID, st.CreateAttemptTime)
	}
}
