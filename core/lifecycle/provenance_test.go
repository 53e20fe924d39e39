package lifecycle

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
)

func TestProvenance(t *testing.T) {
	marker := after(10 * time.Second)
	pins := marked().Record.Status.Pins
	// by makes the builds of a workspace, in their order.
	by := func(builds ...core.Build) []core.Build {
		for i := range builds {
			builds[i].WorkspaceID, builds[i].Number = workspaceID, i+1
		}
		return builds
	}
	start := func(initiator uuid.UUID) core.Build {
		b := build(core.TransitionStart, core.JobSucceeded)
		b.InitiatorID = initiator
		return b
	}
	with := func(b core.Build, change func(*core.Build)) core.Build {
		change(&b)
		return b
	}
	as := func(b core.Build, transition core.Transition) core.Build {
		b.Transition = transition
		return b
	}
	prebuild := with(start(core.PrebuildsUserID), func(b *core.Build) { b.ID, b.VersionID, b.CreatedAt = otherID, otherID, noon.Add(-time.Hour) })

	for _, row := range []struct {
		why       string
		workspace func(*core.Workspace)
		builds    []core.Build
		// anyAge is for a record without a marker.
		anyAge bool
		want   bool
	}{
		{why: "our start build is the first", builds: by(start(operatorID)), want: true},
		{why: "whatever came after it", builds: by(start(operatorID), as(start(thirdID), core.TransitionStop), start(thirdID)), want: true},
		{why: "a rename changes nothing", workspace: func(w *core.Workspace) { w.Name = "x" }, builds: by(start(operatorID)), want: true},
		{why: "another organization", workspace: func(w *core.Workspace) { w.OrganizationID = otherID }, builds: by(start(operatorID))},
		{why: "another template", workspace: func(w *core.Workspace) { w.TemplateID = otherID }, builds: by(start(operatorID))},
		{why: "another owner", workspace: func(w *core.Workspace) { w.OwnerID = otherID }, builds: by(start(operatorID))},
		{why: "somebody else built first", builds: by(start(thirdID), start(operatorID))},
		{why: "another version first", builds: by(with(start(operatorID), func(b *core.Build) { b.VersionID = otherID }))},
		{why: "our first build is no start", builds: by(as(start(operatorID), core.TransitionStop), start(operatorID))},
		{why: "as old as the marker is not older", builds: by(with(start(operatorID), func(b *core.Build) { b.CreatedAt = marker })), want: true},
		{why: "older than the marker", builds: by(with(start(operatorID), func(b *core.Build) { b.CreatedAt = marker.Add(-1) }))},
		{
			why: "a lost record has no marker to compare with", anyAge: true, want: true,
			builds: by(with(start(operatorID), func(b *core.Build) { b.CreatedAt = noon.Add(-24 * time.Hour) })),
		},
		{why: "a claimed prebuild: Coder's own builds come first", builds: by(prebuild, as(prebuild, core.TransitionStop), prebuild, start(operatorID)), want: true},
		{why: "a prebuild that somebody else claimed", builds: by(prebuild, start(thirdID), start(operatorID))},
		{why: "a prebuild that nobody claimed", builds: by(prebuild, prebuild)},
		{why: "a prebuild that Coder deleted", builds: by(as(prebuild, core.TransitionDelete), start(operatorID))},
		{why: "no builds prove nothing", builds: nil},
		{why: "the first build is missing from the list", builds: by(prebuild, start(operatorID))[1:]},
		{why: "a build of another workspace is among them", builds: []core.Build{with(start(operatorID), func(b *core.Build) { b.WorkspaceID = otherID })}},
	} {
		t.Run(row.why, func(t *testing.T) {
			w, bound := ours(), marker
			if row.workspace != nil {
				row.workspace(&w)
			}
			if row.anyAge {
				bound = noTimeBound
			}
			first, proven := provenance(w, row.builds, pins, bound)
			if proven != row.want {
				t.Errorf("proven: %t", proven)
			}
			if proven && first.ID != startBuildID {
				t.Errorf("start build %s", first.ID)
			}
		})
	}
	t.Run("without an operator user nothing is proven", func(t *testing.T) {
		nobody := pins
		nobody.OperatorUserID = uuid.Nil
		if _, proven := provenance(ours(), by(start(uuid.Nil)), nobody, marker); proven {
			t.Error("proven")
		}
	})
}
