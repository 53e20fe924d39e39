package lifecycle

import (
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
)

func TestAssertions(t *testing.T) {
	unpinned := func(unpin func(*core.Pins)) edit { return func(in *Input) { unpin(&in.Record.Status.Pins) } }
	const noPins = "error: assertion failed: a create marker is recorded without all pins"
	decide(t, marked, []row{
		{
			why: "a record has an ID", want: "error: assertion failed: the record has no ID",
			given: []edit{func(in *Input) { in.Record.ID = uuid.Nil }},
		},
		{
			why:   "a recorded name is the test's own",
			given: []edit{func(in *Input) { in.Record.Status.WorkspaceName = "ktt-else" }},
			want:  `error: assertion failed: the recorded workspace name "ktt-else" is not "` + ourName + `"`,
		},
		{
			why: "a running test began at some time", want: "error: assertion failed: a running record has no start time",
			given: []edit{func(in *Input) { in.Record.Status.StartTime = time.Time{} }},
		},
		{
			why: "a final test is cleaned up even without a start time",
			given: []edit{
				conclude(core.ReasonDeadlineExceeded, core.ConditionUnknown, core.ReasonCreateOutcomeUnknown),
				func(in *Input) { in.Record.Status.StartTime = time.Time{} },
			},
			want: "read name",
		},
		{
			why: "a marker has its time", want: "error: assertion failed: half a create marker is recorded",
			given: []edit{func(in *Input) { in.Record.Status.CreateAttemptTime = time.Time{} }},
		},
		{
			why: "and its ID", want: "error: assertion failed: half a create marker is recorded",
			given: []edit{func(in *Input) { in.Record.Status.CreateAttemptID = uuid.Nil }},
		},
		{why: "a marker implies the owner", given: []edit{unpinned(func(p *core.Pins) { p.OwnerID = uuid.Nil })}, want: noPins},
		{why: "and the organization", given: []edit{unpinned(func(p *core.Pins) { p.OrganizationID = uuid.Nil })}, want: noPins},
		{why: "and the template", given: []edit{unpinned(func(p *core.Pins) { p.TemplateID = uuid.Nil })}, want: noPins},
		{why: "and the version", given: []edit{unpinned(func(p *core.Pins) { p.TemplateVersionID = uuid.Nil })}, want: noPins},
		{why: "and the workspace's name", given: []edit{unpinned(func(p *core.Pins) { p.WorkspaceName = "" })}, want: noPins},
		{why: "and the deployment", given: []edit{unpinned(func(p *core.Pins) { p.DeploymentID = "" })}, want: noPins},
		{why: "and the operator user", given: []edit{unpinned(func(p *core.Pins) { p.OperatorUserID = uuid.Nil })}, want: noPins},
		{
			why: "a workspace implies a marker", want: "error: assertion failed: a workspace is recorded without a create marker",
			given: []edit{func(in *Input) {
				st := &in.Record.Status
				st.WorkspaceID, st.CreateAttemptID, st.CreateAttemptTime = workspaceID, uuid.Nil, time.Time{}
			}},
		},
		{
			why: "and hears only of that one", want: "error: assertion failed: a create was answered that this step did not announce",
			given: []edit{func(in *Input) { in.Seen.Answer = &Answer{Request: Request{Kind: RequestCreate}} }},
		},
	})
}

func TestAssertionsCanBeToldFromOtherErrors(t *testing.T) {
	if d := Decide(Input{}); !errors.Is(d.Err, ErrAssertion) {
		t.Errorf("got %v", d.Err)
	}
}
