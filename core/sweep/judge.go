package sweep

import (
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/core/lifecycle"
)

// Verdict says what a workspace is that has a test's name.
type Verdict string

// The verdicts of lifecycle section 10.
const (
	// Claimed: a record here knows it.
	Claimed Verdict = "claimed"
	// Retained: such a record asked to keep it.
	Retained Verdict = "retained"
	// Proven: this operator user made it and touched it last, and nobody here claims it.
	Proven Verdict = "proven"
	// Unsure: too little is known to say any of the others.
	Unsure Verdict = "unsure"
	// Foreign: somebody other than this operator user made it.
	Foreign Verdict = "foreign"
)

// Facts are what is known about one live workspace.
type Facts struct {
	Workspace core.Workspace
	// Builds are all of its builds, oldest first.
	Builds []core.Build
	// BuildsProblem says why they could not be read; empty when they were.
	BuildsProblem string
	// Records are the tests of this state file.
	Records []core.Record
	// Operator is the user whose token asks.
	Operator uuid.UUID
	// Owner owns the workspace.
	Owner  core.User
	Policy core.Policy
	// Now is Coder's own time.
	Now time.Time
	// OlderThan is the age from which on a workspace can be proven.
	OlderThan time.Duration
}

// Finding is a workspace with what it is.
type Finding struct {
	Workspace core.Workspace
	Verdict   Verdict
	// Why is for people, and says what the verdict rests on.
	Why string
	// Test is the record that knows the workspace; uuid.Nil for none.
	Test uuid.UUID
	// StartBuild is the first build of a workspace that is proven.
	StartBuild core.Build
	// Age is how long ago the workspace was made.
	Age time.Duration
	// Ran is how long it has run, all in all.
	Ran time.Duration
}

// Judge says what the workspace is.
func Judge(f Facts) Finding {
	found := Finding{Workspace: f.Workspace, Age: f.Now.Sub(f.Workspace.CreatedAt), Ran: Ran(f.Builds, f.Now)}
	if found.Test = f.claimant(); found.Test != uuid.Nil {
		found.Verdict, found.Why = f.known(found.Test)
		return found
	}
	found.Verdict, found.Why = f.unclaimed(found.Age)
	if found.Verdict == Proven {
		found.StartBuild = f.Builds[0]
	}
	return found
}

// claimant is the test that knows the workspace.
func (f *Facts) claimant() uuid.UUID {
	for i := range f.Records {
		if f.Records[i].Claims(f.Workspace.ID, f.Workspace.Name) {
			return f.Records[i].ID
		}
	}
	return uuid.Nil
}

// known tells the two verdicts of a workspace that a record knows apart.
func (f *Facts) known(test uuid.UUID) (Verdict, string) {
	for i := range f.Records {
		record := &f.Records[i]
		if record.ID == test && record.Status.Condition(core.ConditionWorkspaceDeleted).Reason == core.ReasonRetained {
			return Retained, "the test " + test.String() + " was asked to keep it"
		}
	}
	return Claimed, "the test " + test.String() + " of this state file looks after it"
}

// unclaimed tries its rules in this order. Proven is what is left when none of them
// finds a doubt.
func (f *Facts) unclaimed(age time.Duration) (Verdict, string) {
	switch {
	case !core.IsTestWorkspaceName(f.Workspace.Name):
		return Unsure, "it no longer has the name of a test's workspace"
	case f.BuildsProblem != "":
		return Unsure, "its builds could not be read: " + f.BuildsProblem
	case !f.complete():
		return Unsure, "Coder does not list all of its builds"
	}
	first, latest := f.Builds[0], f.Builds[len(f.Builds)-1]
	switch {
	case first.InitiatorID == core.PrebuildsUserID:
		return Unsure, "it began as a prebuild of Coder's"
	case first.InitiatorID != f.Operator:
		return Foreign, "user " + first.InitiatorID.String() + " made it, not the token's user"
	case first.Transition != core.TransitionStart:
		return Unsure, "its first build is not a start build"
	case !f.leftAlone(latest):
		return Unsure, "user " + latest.InitiatorID.String() + " built it last, not the token's user"
	}
	if problem := f.ownerProblem(); problem != "" {
		return Unsure, "its owner may not own test workspaces: " + problem
	}
	if f.Workspace.CreatedAt.IsZero() || age < f.OlderThan {
		return Unsure, "it is younger than " + f.OlderThan.String() + ": its test can still be running elsewhere"
	}
	return Proven, "the token's user made it and built it last, and no test of this state file knows it"
}

// complete reports whether the builds are all of the workspace's, oldest first.
func (f *Facts) complete() bool {
	for i, build := range f.Builds {
		if build.Number != i+1 || build.WorkspaceID != f.Workspace.ID {
			return false
		}
	}
	return len(f.Builds) > 0
}

// leftAlone reports whether nobody but the operator and Coder itself, which stops a
// workspace whose time is over, made the latest build.
func (f *Facts) leftAlone(latest core.Build) bool {
	if latest.Automatic {
		return latest.Transition != core.TransitionStart
	}
	return latest.InitiatorID == f.Operator
}

func (f *Facts) ownerProblem() string {
	if problem := lifecycle.OwnerProblem(f.Owner, f.Policy); problem != "" {
		return problem
	}
	if _, member := f.Owner.MemberOf(f.Workspace.OrganizationID); !member {
		return "it is not a member of the workspace's organization"
	}
	return ""
}

// Ran is how long a workspace with these builds, oldest first, has run until now: from
// the end of each start build that succeeded to the end of the next stop or delete build
// that succeeded.
func Ran(builds []core.Build, now time.Time) time.Duration {
	var (
		ran   time.Duration
		since time.Time
	)
	for _, build := range builds {
		ended := build.Job.CompletedAt
		switch {
		case build.Job.Status != core.JobSucceeded || ended.IsZero():
		case build.Transition == core.TransitionStart && since.IsZero():
			since = ended
		case build.Transition != core.TransitionStart && !since.IsZero():
			ran += max(0, ended.Sub(since))
			since = time.Time{}
		}
	}
	if !since.IsZero() {
		ran += max(0, now.Sub(since))
	}
	return ran
}
