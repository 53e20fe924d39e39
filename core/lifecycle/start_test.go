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
			if c := st.Condition(core.ConditionReconciling); c.Status != core.ConditionTrue || c.Reason != core.ReasonInitializing {
				t.Errorf("reconciling: %+v", c)
			}
			if c := st.Condition(core.ConditionWorkspaceDeleted); c.Status != "" {
				t.Errorf("nothing is said about a workspace yet: %+v", c)
			}
		},
	}})
}
