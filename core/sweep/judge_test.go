package sweep

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
)

var (
	now          = time.Date(2026, 3, 3, 12, 0, 0, 0, time.UTC)
	operator     = uuid.MustParse("11111111-1111-4111-8111-111111111111")
	tester       = uuid.MustParse("22222222-2222-4222-8222-222222222222")
	somebody     = uuid.MustParse("33333333-3333-4333-8333-333333333333")
	organization = uuid.MustParse("44444444-4444-4444-8444-444444444444")
	workspaceID  = uuid.MustParse("55555555-5555-4555-8555-555555555555")
	testID       = uuid.MustParse("61737361-7920-4465-b374-206279746573")
)

func build(number int, transition core.Transition, initiator uuid.UUID, at time.Time) core.Build {
	return core.Build{
		ID: uuid.New(), WorkspaceID: workspaceID, Number: number, Transition: transition, InitiatorID: initiator,
		VersionID: uuid.New(), CreatedAt: at, Job: core.Job{Status: core.JobSucceeded, CompletedAt: at.Add(time.Minute)},
	}
}

// provenFacts leave no doubt; each row of the tests adds one.
func provenFacts() Facts {
	made := now.Add(-48 * time.Hour)
	return Facts{
		Workspace: core.Workspace{
			ID: workspaceID, Name: core.WorkspaceName(testID), OwnerID: tester, OrganizationID: organization, CreatedAt: made,
		},
		Builds:   []core.Build{build(1, core.TransitionStart, operator, made)},
		Operator: operator,
		Owner: core.User{
			ID: tester, Status: "active", LoginType: "password",
			Memberships: []core.Membership{{OrganizationID: organization, OrganizationName: "acme", Roles: []string{"organization-member"}}},
		},
		Now: now, OlderThan: 24 * time.Hour,
	}
}

// test is a record here, whose workspace is in the condition.
func test(id uuid.UUID, status core.ConditionStatus, reason core.Reason) core.Record {
	record := core.Record{ID: id}
	record.Status.SetCondition(now, core.Condition{Type: core.ConditionWorkspaceDeleted, Status: status, Reason: reason})
	return record
}

func TestJudge(t *testing.T) {
	other := uuid.New()
	automatic := func(transition core.Transition) func(*Facts) {
		return func(f *Facts) {
			b := build(2, transition, tester, now.Add(-40*time.Hour))
			b.Automatic = true
			f.Builds = append(f.Builds, b)
		}
	}
	for _, row := range []struct {
		name string
		edit func(f *Facts)
		want Verdict
		says string
		why  string
	}{
		{"nothing special", func(*Facts) {}, Proven, "no test of this state file knows it", "there is no doubt"},
		{"older than by a second", func(f *Facts) { f.Workspace.CreatedAt = now.Add(-24 * time.Hour) }, Proven, "", "the age is reached"},
		{"Coder stopped it", automatic(core.TransitionStop), Proven, "", "its time was over: nobody has touched it, whatever initiator Coder names"},
		{"Coder deletes it", automatic(core.TransitionDelete), Proven, "", "as above"},
		{"Coder started it", automatic(core.TransitionStart), Unsure, "built it last", "somebody gave it a schedule, so it is used"},
		{"the operator stopped it", func(f *Facts) {
			f.Builds = append(f.Builds, build(2, core.TransitionStop, operator, now.Add(-time.Hour)))
		}, Proven, "", "its latest build is by the operator"},

		{"a test has its name", func(f *Facts) { f.Records = []core.Record{{ID: testID}} }, Claimed, testID.String(), "its create can be on its way"},
		{"a test has its ID", func(f *Facts) {
			record := core.Record{ID: other}
			record.Status.WorkspaceID = workspaceID
			f.Records = []core.Record{{ID: uuid.New()}, record}
		}, Claimed, other.String(), "whatever its name"},
		{"a test is being cleaned up", func(f *Facts) {
			f.Records = []core.Record{test(testID, core.ConditionFalse, core.ReasonDeleteRetrying)}
		}, Claimed, "", "its record goes on"},
		{"a test whose ownership is unknown", func(f *Facts) {
			f.Records = []core.Record{test(testID, core.ConditionUnknown, core.ReasonOwnershipUnknown)}
		}, Claimed, "", "a person has to look at it"},
		{"a test keeps it", func(f *Facts) {
			f.Records = []core.Record{test(testID, core.ConditionFalse, core.ReasonRetained)}
		}, Retained, "was asked to keep it", "somebody wants it"},
		{"a test would keep it", func(f *Facts) {
			f.Records = []core.Record{{ID: testID, DeletionPolicy: "retain"}}
		}, Claimed, "", "it runs still, and keeps failures only"},
		{"a test that made none", func(f *Facts) {
			f.Records = []core.Record{test(testID, core.ConditionTrue, core.ReasonNotCreated)}
		}, Proven, "", "a create that took effect too late is what the sweep is for"},
		{"claimed and foreign", func(f *Facts) {
			f.Records, f.Builds[0].InitiatorID = []core.Record{{ID: testID}}, somebody
		}, Claimed, "", "a record outranks the rest"},

		{"somebody made it", func(f *Facts) { f.Builds[0].InitiatorID = somebody }, Foreign, somebody.String(), "it is none of the operator's"},
		{"its owner made it", func(f *Facts) { f.Builds[0].InitiatorID = tester }, Foreign, tester.String(), "the owner is another user than the operator"},
		{"foreign and young", func(f *Facts) {
			f.Builds[0].InitiatorID, f.Workspace.CreatedAt = somebody, now
		}, Foreign, "", "its age is no matter"},

		{"renamed", func(f *Facts) { f.Workspace.Name = "mine" }, Unsure, "no longer has the name", "somebody has a use for it"},
		{"one digit too many", func(f *Facts) { f.Workspace.Name += "0" }, Unsure, "no longer has the name", "the whole name must match"},
		{"builds unreadable", func(f *Facts) { f.Builds, f.BuildsProblem = nil, "no" }, Unsure, "could not be read: no", "who made it is unknown"},
		{"no builds", func(f *Facts) { f.Builds = nil }, Unsure, "does not list all", "who made it is unknown"},
		{"first build missing", func(f *Facts) { f.Builds[0].Number = 2 }, Unsure, "does not list all", "who made it is unknown"},
		{"builds of another", func(f *Facts) { f.Builds[0].WorkspaceID = uuid.New() }, Unsure, "does not list all", "who made it is unknown"},
		{"a prebuild", func(f *Facts) { f.Builds[0].InitiatorID = core.PrebuildsUserID }, Unsure, "prebuild", "the operator claimed it, or nobody did"},
		{"first build is a stop", func(f *Facts) { f.Builds[0].Transition = core.TransitionStop }, Unsure, "not a start build", "no test makes that"},
		{"somebody built it last", func(f *Facts) {
			f.Builds = append(f.Builds, build(2, core.TransitionStart, somebody, now))
		}, Unsure, somebody.String() + " built it last", "somebody uses it"},
		{"its owner stopped it", func(f *Facts) {
			f.Builds = append(f.Builds, build(2, core.TransitionStop, tester, now))
		}, Unsure, tester.String() + " built it last", "that is a person's doing"},
		{"owner with a role", func(f *Facts) { f.Owner.SiteRoles = []string{"auditor"} }, Unsure, "site role auditor", "a person may own it"},
		{"owner who is a person", func(f *Facts) { f.Owner.LoginType = "oidc" }, Unsure, "logs in by oidc", "a person may own it"},
		{"owner who is a person, allowed", func(f *Facts) {
			f.Owner.LoginType, f.Policy.AllowPersonalOwner = "oidc", true
		}, Proven, "", "the rule is waived"},
		{"owner outside the organization", func(f *Facts) { f.Owner.Memberships = nil }, Unsure, "not a member", "no test could have made it"},
		{"young", func(f *Facts) { f.Workspace.CreatedAt = now.Add(-24*time.Hour + time.Second) }, Unsure, "younger than 24h", "its test can be running elsewhere"},
		{"of the future", func(f *Facts) { f.Workspace.CreatedAt, f.OlderThan = now.Add(time.Hour), 0 }, Unsure, "younger than 0s", "Coder's times make no sense"},
		{"of unknown age", func(f *Facts) { f.Workspace.CreatedAt = time.Time{} }, Unsure, "younger", "Coder does not say"},
	} {
		t.Run(row.name, func(t *testing.T) {
			facts := provenFacts()
			row.edit(&facts)
			found := Judge(facts)
			if found.Verdict != row.want || !strings.Contains(found.Why, row.says) {
				t.Errorf("%s (%s), want %s (%s): %s", found.Verdict, found.Why, row.want, row.says, row.why)
			}
			if proven := found.StartBuild.ID != uuid.Nil; proven != (row.want == Proven) {
				t.Errorf("start build %v: it is told for proven ones alone", found.StartBuild.ID)
			}
			if known := found.Test != uuid.Nil; known != (row.want == Claimed || row.want == Retained) {
				t.Errorf("test %v: it is told where a record knows the workspace", found.Test)
			}
		})
	}
}

func TestRan(t *testing.T) {
	at := func(hours int) time.Time { return now.Add(time.Duration(hours-100) * time.Hour) }
	made := func(transition core.Transition, status core.JobStatus, hours int) core.Build {
		b := build(1, transition, operator, at(hours).Add(-time.Minute))
		b.Job.Status = status
		return b
	}
	const (
		start, stop, remove = core.TransitionStart, core.TransitionStop, core.TransitionDelete
		good, bad           = core.JobSucceeded, core.JobFailed
	)
	for _, row := range []struct {
		name   string
		builds []core.Build
		want   int
		why    string
	}{
		{"no builds", nil, 0, "nothing ran"},
		{"started", []core.Build{made(start, good, 90)}, 10, "it runs until now"},
		{"started and stopped", []core.Build{made(start, good, 90), made(stop, good, 93)}, 3, "it ran in between"},
		{"twice", []core.Build{made(start, good, 10), made(stop, good, 13), made(start, good, 90), made(remove, good, 94)}, 7, "the sum"},
		{"a start that failed", []core.Build{made(start, bad, 90)}, 0, "nothing ran"},
		{"a stop that failed", []core.Build{made(start, good, 90), made(stop, bad, 91)}, 10, "it runs on"},
		{"a delete that failed, then one that did not", []core.Build{made(start, good, 90), made(remove, bad, 91), made(remove, good, 95)}, 5, "it ran until then"},
		{"started twice", []core.Build{made(start, good, 90), made(start, good, 95)}, 10, "an update is no second workspace"},
		{"stopped twice", []core.Build{made(start, good, 90), made(stop, good, 91), made(stop, good, 95)}, 1, "it stood still in between"},
		{"build ends after now", []core.Build{made(start, good, 101)}, 0, "clocks differ"},
		{"build still runs", []core.Build{{Transition: start, Job: core.Job{Status: core.JobRunning}}}, 0, "it has no end"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := Ran(row.builds, now); got != time.Duration(row.want)*time.Hour {
				t.Errorf("ran %v, want %d h: %s", got, row.want, row.why)
			}
		})
	}
}
