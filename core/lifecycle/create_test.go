package lifecycle

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
)

func TestAnnounceCreate(t *testing.T) {
	decide(t, resolved, []row{
		{
			why: "the marker takes a random ID", want: "read attempt ID",
			given: []edit{func(in *Input) { in.Seen.AttemptID = uuid.Nil }},
		},
		{
			why: "the marker is stored with all pins, and nothing is sent yet", want: "Running CreatingWorkspace marker continue",
			check: func(t *testing.T, d Decision) {
				st := &d.Record.Status
				want := core.Pins{
					OrganizationID: orgID, TemplateID: templateID, TemplateVersionID: versionID, TemplateVersionName: "v1",
					OwnerID: ownerID, WorkspaceName: ourName, DeploymentID: deploymentID, OperatorUserID: operatorID,
				}
				if diff := cmp.Diff(want, st.Pins); diff != "" {
					t.Errorf("pins (-want +got):\n%s", diff)
				}
				// Coder's Date of the last answer, cut to whole seconds.
				if !st.CreateAttemptTime.Equal(after(time.Second)) || st.CreateAttemptID != attemptID {
					t.Errorf("marker %s at %s", st.CreateAttemptID, st.CreateAttemptTime)
				}
			},
		},
		{
			why: "a deadline that passed during the Coder calls announces nothing", given: []edit{now(900 * time.Second)},
			want: "Failed DeadlineExceeded Inconclusive True/NotCreated after 0s",
		},
	})
}

func TestSendAnnouncedCreate(t *testing.T) {
	age := func(d time.Duration) edit { return func(in *Input) { in.Seen.OwnMarker.Age = d } }
	decide(t, announced, []row{
		{
			why: "one request: the version, the name, the parameters, a stop an hour after the timeout", want: "Running CreatingWorkspace marker > create",
			check: func(t *testing.T, d Decision) {
				want := core.CreateRequest{
					OwnerID: ownerID, OrganizationID: orgID, TemplateID: templateID, Name: ourName, VersionID: versionID,
					Parameters: []core.Parameter{{Name: "region", Value: secretValue}}, TTL: 15*time.Minute + time.Hour,
				}
				if diff := cmp.Diff(want, d.Request.Create); diff != "" {
					t.Errorf("request (-want +got):\n%s", diff)
				}
			},
		},
		{why: "30 s after the marker was stored it is still sent", given: []edit{age(30 * time.Second)}, want: "Running CreatingWorkspace marker > create"},
		{
			why: "later it is not: the marker is cleared, nothing was sent", given: []edit{age(30*time.Second + 1)},
			want: "Pending CreateRetrying after 0s",
		},
		{
			why: "nor after the deadline", given: []edit{now(900 * time.Second)},
			want: "Failed DeadlineExceeded Inconclusive True/NotCreated after 0s",
		},
		{
			why:   "that nothing was sent is a fact for a record that is being deleted by now, too",
			given: []edit{age(30*time.Second + 1), func(in *Input) { in.Record.DeletionRequestedAt = after(time.Second) }},
			want:  "Running CreatingWorkspace True/NotCreated after 0s",
			check: func(t *testing.T, d Decision) {
				if !d.Fact || d.Record.Status.HasMarker() {
					t.Errorf("fact %v, marker %v", d.Fact, d.Record.Status.HasMarker())
				}
			},
		},
		{
			why: "an announcement that somebody else settled is not sent", given: []edit{func(in *Input) { in.Seen.OwnMarker.AttemptID = otherID }},
			want: "Running CreatingWorkspace marker after 0s",
		},
		{
			why: "a marker found on load is a crash: nothing is sent, only read", given: []edit{func(in *Input) {
				in.Seen.OwnMarker = nil
				in.Seen.Name = Result[core.NameLookup]{}
			}},
			want: "read name",
		},
	})
}

func TestCreateRequestPreset(t *testing.T) {
	presetID := id(0x77)
	preset := core.ParameterReport{PresetID: presetID, PresetValues: []core.Parameter{{Name: "region", Value: "eu"}, {Name: "size", Value: "l"}}}
	for _, row := range []struct {
		why    string
		given  []core.Parameter
		preset uuid.UUID
		want   []core.Parameter
	}{
		{
			why: "a preset alone is named, its values spelled out", preset: presetID,
			want: []core.Parameter{{Name: "region", Value: "eu"}, {Name: "size", Value: "l"}},
		},
		{
			why: "a parameter that agrees changes nothing", preset: presetID, given: []core.Parameter{{Name: "size", Value: "l"}},
			want: []core.Parameter{{Name: "size", Value: "l"}, {Name: "region", Value: "eu"}},
		},
		{
			why: "one that contradicts wins, so the preset is not named: Coder would let it win", preset: uuid.Nil,
			given: []core.Parameter{{Name: "size", Value: "xl"}},
			want:  []core.Parameter{{Name: "size", Value: "xl"}, {Name: "region", Value: "eu"}},
		},
	} {
		t.Run(row.why, func(t *testing.T) {
			in := announced()
			in.Record.Spec.Parameters = row.given
			in.Seen.Parameters = done(preset)
			request := Decide(in).Request
			if request == nil || request.Create.PresetID != row.preset {
				t.Fatalf("request %+v", request)
			}
			if diff := cmp.Diff(row.want, request.Create.Parameters); diff != "" {
				t.Errorf("parameters (-want +got):\n%s", diff)
			}
		})
	}
}
