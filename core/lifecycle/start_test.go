package lifecycle

import (
	"testing"
	"time"

	"github.com/assay-dev/assay/core"
)

func TestHold(t *testing.T) {
	decide(t, fresh, []row{
		{why: "a new test takes the hold before anything else", want: "take hold after 0s"},
		{
			why: "a running test whose hold somebody removed takes it again, before any Coder call",
			given: []edit{func(in *Input) {
				*in = awaiting()
				in.Record.Held = false
			}},
			want: "Running WaitingForBuild workspace take hold after 0s",
		},
		{
			why: "a final test takes it again while its cleanup is not done",
			given: []edit{func(in *Input) {
				*in = failed()
				in.Record.Held = false
			}},
			want: "Failed BuildFailed Inconclusive False/CleanupPending workspace take hold after 0s",
		},
		{
			why: "a test that is not final takes it, whatever is said about its workspace",
			given: []edit{func(in *Input) {
				*in = awaiting()
				in.Record.Held = false
				workspaceIs(core.ConditionTrue, core.ReasonDeleted)(in)
			}},
			want: "Running WaitingForBuild True/Deleted workspace take hold after 0s",
		},
		{
			why: "a final test whose cleanup is done needs none",
			given: []edit{func(in *Input) {
				*in = failed()
				in.Record.Held = false
				workspaceIs(core.ConditionTrue, core.ReasonDeleted)(in)
			}},
			want: "Failed BuildFailed Inconclusive True/Deleted workspace done",
		},
		{
			why: "nor one whose control plane is gone",
			given: []edit{func(in *Input) {
				*in = failed()
				in.Record.Held = false
				workspaceIs(core.ConditionUnknown, core.ReasonControlPlaneGone)(in)
			}},
			want: "Failed BuildFailed Inconclusive Unknown/ControlPlaneGone workspace done",
		},
		{
			why:   "a test that is being deleted takes no hold: Kubernetes refuses new finalizers then",
			given: []edit{deletionRequested},
			want:  "True/NotCreated after 0s",
		},
	})
}

func TestInitialize(t *testing.T) {
	held := func() Input {
		in := fresh()
		in.Record.Held = true
		in.Now = after(1500 * time.Millisecond)
		return in
	}
	decide(t, held, []row{{
		why: "a held test begins: phase, start, reason, conditions", want: "Pending Initializing after 0s",
		check: func(t *testing.T, d Decision) {
			st := &d.Record.Status
			if !st.StartTime.Equal(after(time.Second)) {
				t.Errorf("start time %s: whole seconds are stored", st.StartTime)
			}
			if st.WorkspaceName != ourName {
				t.Errorf("workspace name %s", st.WorkspaceName)
			}
			for _, want := range []core.Condition{
				{Type: core.ConditionReady, Status: core.ConditionFalse},
				{Type: core.ConditionReconciling, Status: core.ConditionTrue},
				{Type: core.ConditionStalled, Status: core.ConditionFalse},
			} {
				want.Reason, want.Message, want.ObservedGeneration = core.ReasonInitializing, st.Message, 1
				want.LastTransitionTime = after(time.Second)
				if got := st.Condition(want.Type); got != want {
					t.Errorf("condition %+v, want %+v", got, want)
				}
			}
			if c := st.Condition(core.ConditionWorkspaceDeleted); c.Status != "" {
				t.Errorf("nothing is said about a workspace yet: %+v", c)
			}
		},
	}})
}

// TestTimesAreWholeSeconds: Kubernetes stores no smaller part, and a time that changes when
// it is stored would look like a change.
func TestTimesAreWholeSeconds(t *testing.T) {
	elsewhere := time.FixedZone("elsewhere", 3600)
	started := build(core.TransitionStart, core.JobSucceeded)
	for _, row := range []struct {
		why   string
		given Input
		sees  edit
		time  func(*core.Status) time.Time
	}{
		{"the start", fresh(), func(in *Input) { in.Record.Held = true }, func(st *core.Status) time.Time { return st.StartTime }},
		{"the marker", resolved(), func(*Input) {}, func(st *core.Status) time.Time { return st.CreateAttemptTime }},
		{
			"ready agents", awaiting(), seeWorkspace(latest(started, agent(1, core.AgentConnected, core.AgentReady))),
			func(st *core.Status) time.Time { return st.AgentsReadyTime },
		},
		{"the verdict", awaiting(), seeWorkspace(latest(started)), func(st *core.Status) time.Time { return st.CompletionTime }},
	} {
		in := row.given
		row.sees(&in)
		in.Now = after(43*time.Second + 700*time.Millisecond).In(elsewhere)
		in.Seen.Name.Value.ServerTime = in.Now
		d := Decide(in)
		if got := row.time(&d.Record.Status); got != after(43*time.Second) {
			t.Errorf("%s: %s", row.why, got)
		}
	}
}
