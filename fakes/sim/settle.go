package sim

import (
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/core/lifecycle"
	"github.com/assay-dev/assay/fakes/world"
)

// settle ends everything that goes wrong, and gives back what a person would give back
// in time: the token, the rights, the deployment.
func (s *simulation) settle() {
	s.calm = true
	s.line(uuid.Nil, "*", "everything settles")
	s.armed, s.todo = nil, nil
	for _, w := range s.windows {
		if w.end != nil {
			w.end()
		}
	}
	s.windows = nil
	for _, t := range s.tests {
		t.due[1] = never
	}
	s.wakeAll()
}

// atRest tells whether no test will move any more.
func (s *simulation) atRest(now time.Duration) bool {
	for _, t := range s.tests {
		if !s.testAtRest(t, now) {
			return false
		}
	}
	return true
}

func (s *simulation) testAtRest(t *testRun, now time.Duration) bool {
	record := s.records.rows[t.id]
	if record == nil || t.due[0] == never {
		return t.arrived
	}
	st := &record.Status
	settledFor := now - t.changed
	gone := st.Condition(core.ConditionWorkspaceDeleted)
	switch {
	case !st.Phase.Final() && !record.DeletionRequested():
		return false
	case lifecycle.AtRest(*record):
		return settledFor > 2*s.recorder.settleWindow
	case gone.Status == core.ConditionTrue && !record.Held:
		return true // only its time to live is left
	case gone.Reason == core.ReasonCreateOutcomeUnknown:
		return settledFor > 2*s.recorder.settleWindow
	case gone.Reason == core.ReasonControlPlaneUnavailable:
		return settledFor > 2*s.recorder.settleWindow
	default:
		return st.DeleteAttempts >= 5 && s.stubborn(st.WorkspaceID)
	}
}

// stubborn tells whether the workspace lives and no delete build of the version that was
// built last ever succeeds.
func (s *simulation) stubborn(workspace uuid.UUID) bool {
	for _, ws := range s.world.EveryLive() {
		if ws.ID != workspace {
			continue
		}
		for i, version := range s.stage.versions {
			if version == ws.Latest.Version {
				return s.plan.Tests[i].Stubborn
			}
		}
	}
	return false
}

// judgeEnds notes what became of each test, but for those that are pinned to a deployment
// that does not answer now.
func (s *simulation) judgeEnds(tests []*testRun) (elsewhere []*testRun) {
	here := s.world.Deployment().ID
	for _, t := range tests {
		w := s.recorder.tests[t.id]
		if w == nil || w.last == nil {
			continue
		}
		st := &w.last.Status
		if st.HasMarker() && st.DeploymentID != here && !w.gone {
			elsewhere = append(elsewhere, t)
			continue
		}
		end := End{Test: t.id, Record: w.last, Gone: w.gone, Policy: s.plane().Policy, PlaneGone: s.recorder.planeGone}
		end.Stubborn = s.stubborn(st.WorkspaceID)
		s.recorder.look(&end)
		s.history.Ends = append(s.history.Ends, end)
	}
	return elsewhere
}

// swap has the other deployment answer. A create that is on its way meanwhile arrives at
// the wrong one, which no rule can survive.
func (s *simulation) swap() {
	for _, w := range s.recorder.tests {
		for _, until := range w.underWay {
			if until > s.clock.Monotonic() {
				s.history.Excuse(w.id, "its create was under way while the deployment changed")
			}
		}
	}
	s.world.People(uuid.Nil).SwapDeployment()
}

// suspend suspends a user or ends that.
func (s *simulation) suspend(user uuid.UUID, on bool) {
	status := world.UserActive
	if on {
		status = world.UserSuspended
	}
	s.world.ChangeUser(user, world.UserSpec{Status: status})
}
