package lifecycle

import (
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
)

// The world of the tables: one test that started at noon, by Coder's clock too.
var (
	noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

	testID       = id(0x01)
	operatorID   = id(0x02)
	ownerID      = id(0x03)
	orgID        = id(0x04)
	templateID   = id(0x05)
	versionID    = id(0x06)
	workspaceID  = id(0x07)
	startBuildID = id(0x08)
	deleteID     = id(0x09)
	agentID      = id(0x0a)
	attemptID    = id(0x0b)
	otherID      = id(0x0c)
	thirdID      = id(0x0d)

	ourName = core.WorkspaceName(testID)
)

const (
	deploymentID = "d1"
	coderVersion = "v2.36.1"
	// What no message may ever repeat.
	secretValue = "s3cr3t-value"
	secretAgent = "agent-s3cr3t"
)

func id(n byte) uuid.UUID { return uuid.UUID{0: 0xaa, 1: n, 6: 0x40, 8: 0x80, 15: n} }

// after is a moment of the test's life.
func after(d time.Duration) time.Time { return noon.Add(d) }

// edit changes an input before it is decided.
type edit func(*Input)

// fresh is a test that nothing was done for yet, a second after it was made.
func fresh() Input {
	in := Input{
		Now:     after(time.Second),
		Options: Options{}.WithDefaults(),
		Record: core.Record{
			ID: testID, Generation: 1, CreatedAt: noon, Revision: "1",
			Spec: core.Spec{
				Template: "acme.docker", Version: core.VersionSelector{Active: true}, TimeoutSeconds: 900, ControlPlaneRef: "main",
				Parameters: []core.Parameter{{Name: "region", Value: secretValue}},
			},
		},
	}
	return in
}

// pending is a test that is held and initialized.
func pending() Input {
	in := fresh()
	in.Record.Held = true
	st := &in.Record.Status
	st.StartTime, st.WorkspaceName = noon, ourName
	st.Phase, st.Reason, st.Message = core.PhasePending, core.ReasonInitializing, "the test was accepted"
	return in
}

// connected is pending and knows that its deployment answers.
func connected() Input {
	in := pending()
	see(&in)
	return in
}

// see makes the control plane and the deployment answer.
func see(in *Input) {
	in.Seen.ControlPlane = done(core.ControlPlane{
		Ref: "main", State: core.ControlPlaneUsable,
		Policy:     core.Policy{OwnerUserID: ownerID.String()},
		Connection: core.Connection{URL: "https://coder.example.com", Token: core.NewSecret("t0ken")},
	})
	in.Seen.Deployment = done(core.Deployment{ID: deploymentID, Version: coderVersion, ServerTime: in.Now})
	in.Seen.Operator = done(core.User{ID: operatorID, Username: "operator", Status: "active"})
}

// resolved is connected, with inputs that all are fine.
func resolved() Input {
	in := connected()
	in.Seen.Owner = done(tester())
	in.Seen.Template = done(core.Template{ID: templateID, Name: "docker", OrganizationID: orgID, ActiveVersionID: versionID})
	in.Seen.Version = done(core.TemplateVersion{ID: versionID, Name: "v1", TemplateID: templateID, Import: core.JobSucceeded})
	in.Seen.Parameters = done(core.ParameterReport{})
	in.Seen.ExternalAuth = done([]core.ExternalAuth(nil))
	in.Seen.Name = done(core.NameLookup{ServerTime: in.Now.Add(500 * time.Millisecond)})
	in.Seen.AttemptID = attemptID
	return in
}

// tester is a user that may own test workspaces.
func tester() core.User {
	return core.User{
		ID: ownerID, Username: "tester", Status: "active", LoginType: "none",
		Memberships: []core.Membership{{
			OrganizationID: orgID, OrganizationName: "acme",
			Roles: []string{"organization-member"}, DefaultRoles: []string{"organization-workspace-access"},
		}},
	}
}

// marked is a test whose create was announced 10 s after noon, found on load.
func marked() Input {
	in := pending()
	in.Now = after(11 * time.Second)
	st := &in.Record.Status
	st.Phase, st.Reason, st.Message = core.PhaseRunning, core.ReasonCreatingWorkspace, "asking Coder for the workspace"
	st.Pins = core.Pins{
		OrganizationID: orgID, TemplateID: templateID, TemplateVersionID: versionID, TemplateVersionName: "v1",
		OwnerID: ownerID, WorkspaceName: ourName, DeploymentID: deploymentID, OperatorUserID: operatorID,
	}
	st.CreateAttemptTime, st.CreateAttemptID = after(10*time.Second), attemptID
	see(&in)
	return in
}

// announced is marked by this very step, a second ago, with its inputs still seen.
func announced() Input {
	in := marked()
	inputs := resolved().Seen
	inputs.OwnMarker = &OwnMarker{AttemptID: attemptID, Age: time.Second}
	in.Seen = inputs
	return in
}

// answered is announced, and Coder answered the create with the failure.
func answered(f *core.Failure) func() Input {
	return func() Input {
		in := announced()
		in.Seen.Answer = &Answer{Request: Request{Kind: RequestCreate}, Failure: f}
		if f == nil {
			in.Seen.Answer.Workspace = ours()
		}
		in.Seen.forgetWorkspaces()
		return in
	}
}

// awaiting is a test whose workspace is known and that waits for it.
func awaiting() Input {
	in := marked()
	st := &in.Record.Status
	st.Reason, st.Message = core.ReasonWaitingForBuild, "the start build is pending"
	st.WorkspaceID, st.StartBuildID = workspaceID, startBuildID
	return in
}

// ready is a test whose agents all were ready.
func ready() Input {
	in := awaiting()
	st := &in.Record.Status
	st.Reason, st.AgentsReadyTime = core.ReasonAgentsReady, after(60*time.Second)
	in.Now = after(61 * time.Second)
	see(&in)
	return in
}

// failed is a final test whose workspace is to be deleted.
func failed() Input {
	in := awaiting()
	conclude(core.ReasonBuildFailed, core.ConditionFalse, core.ReasonCleanupPending)(&in)
	return in
}

// unanswered is a final test of whose create nobody knows the outcome.
func unanswered() Input {
	in := marked()
	conclude(core.ReasonDeadlineExceeded, core.ConditionUnknown, core.ReasonCreateOutcomeUnknown)(&in)
	return in
}

// conclude makes the record a failed one.
func conclude(reason core.Reason, deleted core.ConditionStatus, why core.Reason) edit {
	return func(in *Input) {
		st := &in.Record.Status
		st.Phase, st.Reason, st.Message = core.PhaseFailed, reason, "the verdict"
		st.CompletionTime, st.OutcomeClass = after(30*time.Second), core.OutcomeInconclusive
		workspaceIs(deleted, why)(in)
	}
}

// workspaceIs sets the condition WorkspaceDeleted, 40 s after noon.
func workspaceIs(deleted core.ConditionStatus, why core.Reason) edit {
	return func(in *Input) {
		in.Record.Status.SetCondition(after(40*time.Second), core.Condition{
			Type: core.ConditionWorkspaceDeleted, Status: deleted, Reason: why, Message: deletedMessages[why], ObservedGeneration: 1,
		})
	}
}

// ours is the workspace that the test made, its start build pending.
func ours() core.Workspace {
	return core.Workspace{
		ID: workspaceID, Name: ourName, OwnerID: ownerID, OrganizationID: orgID, TemplateID: templateID,
		CreatedAt: after(12 * time.Second), Latest: build(core.TransitionStart, core.JobPending),
	}
}

// build is the test's build of this transition.
func build(transition core.Transition, status core.JobStatus) core.Build {
	b := core.Build{
		ID: startBuildID, WorkspaceID: workspaceID, Number: 1, Transition: transition, InitiatorID: operatorID, VersionID: versionID,
		CreatedAt: after(12 * time.Second),
		Job:       core.Job{Status: status, UpdatedAt: after(20 * time.Second), Provisioners: 1, Tags: []string{"os=linux", "scope=organization"}},
	}
	if transition != core.TransitionStart {
		b.ID, b.Number = deleteID, 2
	}
	if status == core.JobSucceeded || status == core.JobFailed || status == core.JobCanceled {
		b.Job.CompletedAt = after(20 * time.Second)
	}
	return b
}

// agent is a top-level agent in this state.
func agent(n byte, status core.AgentStatus, lifecycle core.AgentLifecycle) core.Agent {
	return core.Agent{ID: id(n), Name: secretAgent, Status: status, Lifecycle: lifecycle}
}

func done[T any](value T) Result[T] { return Result[T]{Done: true, Value: value} }

func failing[T any](f *core.Failure) Result[T] { return Result[T]{Done: true, Failure: f} }

// The failures that Coder, a proxy and the network cause.
var (
	unavailable  = &core.Failure{Class: core.FailureUnavailable, Op: "read", Status: 502}
	uncertain    = &core.Failure{Class: core.FailureUncertain, Op: "create workspace", Message: "connection reset"}
	noEffect     = &core.Failure{Class: core.FailureNoEffect, Op: "create workspace", Message: "connection refused"}
	unauthorized = &core.Failure{Class: core.FailureUnauthorized, Op: "read", Status: 401, Message: "sign in"}
	notFound     = &core.Failure{Class: core.FailureNotFound, Op: "read", Status: 404, Message: "not found"}
	gone         = &core.Failure{Class: core.FailureGone, Op: "read", Status: 410, Message: "gone"}
	conflict     = &core.Failure{Class: core.FailureConflict, Op: "create workspace", Status: 409, Message: "taken"}
	importing    = &core.Failure{Class: core.FailureImporting, Op: "create workspace", Status: 406, Message: "importing"}
	forbidden    = &core.Failure{Class: core.FailureForbidden, Op: "change", Status: 403, Message: "forbidden"}
	rejected     = &core.Failure{Class: core.FailureRejected, Op: "change", Status: 400, Message: "bad"}
	mismatch     = &core.Failure{Class: core.FailureMismatch, Op: "read", Message: "another workspace was named"}
	limited      = &core.Failure{Class: core.FailureRateLimited, Op: "read", Status: 429, RetryAfter: 90 * time.Second}
)

// seeWorkspace makes the workspace answer by its ID.
func seeWorkspace(edits ...func(*core.Workspace)) edit {
	return func(in *Input) {
		w := ours()
		for _, change := range edits {
			change(&w)
		}
		in.Seen.Workspaces = with(in.Seen.Workspaces, w.ID, done(w))
	}
}

// latest gives the workspace this latest build.
func latest(b core.Build, agents ...core.Agent) func(*core.Workspace) {
	return func(w *core.Workspace) { w.Latest, w.Latest.Agents = b, agents }
}

func deleted(w *core.Workspace) { w.Deleted = true }

// seeName makes this workspace the one that the owner has under our name, readable by
// its ID too; its builds are only its latest one.
func seeName(w core.Workspace) edit {
	return func(in *Input) {
		in.Seen.Name = done(core.NameLookup{Workspace: &w, ServerTime: in.Now})
		in.Seen.Workspaces = with(in.Seen.Workspaces, w.ID, done(w))
		in.Seen.Builds = with(in.Seen.Builds, w.ID, done([]core.Build{w.Latest}))
	}
}

func seeNoName(in *Input) { in.Seen.Name = done(core.NameLookup{ServerTime: in.Now}) }

// foreign is somebody else's workspace of our name.
func foreign() core.Workspace {
	w := ours()
	w.ID, w.Latest.WorkspaceID, w.Latest.InitiatorID = otherID, otherID, thirdID
	return w
}

// renamed is ours under another name: what a look-alike looks like.
func renamed() core.Workspace {
	w := ours()
	w.Name = "somebody-renamed-it"
	return w
}

// seeOwned makes these the owner's live workspaces, of which no record knows any.
func seeOwned(all ...core.Workspace) edit {
	return func(in *Input) {
		in.Seen.Owner = done(tester())
		in.Seen.Owned = done(all)
		for _, w := range all {
			in.Seen.Claimed = with(in.Seen.Claimed, w.ID, false)
			in.Seen.Builds = with(in.Seen.Builds, w.ID, done([]core.Build{w.Latest}))
		}
	}
}

func deletionRequested(in *Input) { in.Record.DeletionRequestedAt = after(5 * time.Second) }

func policy(written string) edit { return func(in *Input) { in.Record.DeletionPolicy = written } }

func allowRetain(in *Input) { in.Seen.ControlPlane.Value.Policy.AllowRetain = true }

func planeState(state core.ControlPlaneState) edit {
	return func(in *Input) { in.Seen.ControlPlane.Value.State = state }
}

// now sets the injected clock, and Coder's with it.
func now(d time.Duration) edit {
	return func(in *Input) {
		in.Now = after(d)
		in.Seen.Deployment.Value.ServerTime = after(d)
	}
}
