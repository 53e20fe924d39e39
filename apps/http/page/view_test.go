package page

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/assay-dev/assay/adapters/report"
	"github.com/assay-dev/assay/apps/http/service"
	"github.com/assay-dev/assay/core"
)

func TestStepsOfABar(t *testing.T) {
	running := func(stage core.Stage) service.Test {
		return service.Test{Test: report.Test{Phase: core.PhaseRunning}, Stage: stage.String()}
	}
	failed := func(reason, wait core.Reason, workspace uuid.UUID) service.Test {
		return service.Test{
			Test:  report.Test{Phase: core.PhaseFailed, Reason: reason, LastWaitReason: wait, Workspace: report.Workspace{ID: workspace}},
			Stage: core.StageDone.String(),
		}
	}
	some := uuid.New()
	for _, row := range []struct {
		test service.Test
		want [5]string
		why  string
	}{
		{running(core.StageInputs), [5]string{"now", "ahead", "ahead", "ahead", "ahead"}, "it begins"},
		{running(core.StageAgents), [5]string{"done", "done", "done", "now", "ahead"}, "it is under way"},
		{service.Test{Test: report.Test{Phase: core.PhaseSucceeded}, Stage: core.StageDone.String()}, [5]string{"done", "done", "done", "done", "done"}, "it passed"},
		{failed(core.ReasonParametersInvalid, "", uuid.Nil), [5]string{"broken", "ahead", "ahead", "ahead", "ahead"}, "nothing was made"},
		{failed(core.ReasonCreateRejected, "", uuid.Nil), [5]string{"done", "broken", "ahead", "ahead", "ahead"}, "Coder refused"},
		{failed(core.ReasonBuildFailed, "", some), [5]string{"done", "done", "broken", "ahead", "ahead"}, "the build failed"},
		{failed(core.ReasonAgentStartError, "", some), [5]string{"done", "done", "done", "broken", "ahead"}, "an agent failed"},
		{failed(core.ReasonDeadlineExceeded, core.ReasonWaitingForAgents, some), [5]string{"done", "done", "done", "broken", "ahead"}, "the last wait tells"},
		{failed(core.ReasonDeleteBuildFailed, "", some), [5]string{"done", "done", "done", "done", "broken"}, "it could not be deleted"},
	} {
		var got [5]string
		for i, one := range steps(&row.test) {
			got[i] = one.Class
		}
		if diff := cmp.Diff(row.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.why, diff)
		}
	}
}

func TestAgesAndTimes(t *testing.T) {
	for want, d := range map[string]time.Duration{
		"0 s": -time.Minute, "59 s": 59 * time.Second, "1 min": 119 * time.Second, "23 h": 24*time.Hour - 1, "3 d": 80 * time.Hour,
	} {
		if got := age(d); got != want {
			t.Errorf("%v is %q, want %q", d, got, want)
		}
	}
	for want, s := range map[string]float64{"0.03 s": 0.031, "12.3 s": 12.34, "123 s": 123.4} {
		if got := seconds(s); got != want {
			t.Errorf("%v is %q, want %q", s, got, want)
		}
	}
	if diff := cmp.Diff([]string{"Agent", "Start", "Error"}, words(core.ReasonAgentStartError)); diff != "" {
		t.Errorf("words (-want +got):\n%s", diff)
	}
}
