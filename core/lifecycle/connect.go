package lifecycle

import (
	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
)

// connect makes sure that the deployment answers and is the right one (5.1).
func connect(s *step) *Decision {
	need, problem := s.connection()
	switch {
	case need.Kind != ReadNothing:
		return s.ask(need)
	case problem == nil:
		return nil
	case problem.failure != nil:
		return s.waitFor(problem.failure)
	default:
		return s.wait(problem.reason, problem.message, s.poll())
	}
}

// endOnGone ends a test that may have a workspace when its control plane is gone:
// a namespace delete never deadlocks on a test (4.6). One that is about to go ends the
// test while its workspace can still be deleted; a test that passed is deleting it.
func endOnGone(s *step) *Decision {
	if !s.Record.Status.MayHaveWorkspace() {
		return nil
	}
	if !s.Seen.ControlPlane.Done {
		return s.read(ReadControlPlane, uuid.Nil)
	}
	var d *Decision
	switch {
	case s.Seen.planeIs(core.ControlPlaneGone):
		d = s.failWith(core.ReasonControlPlaneGone,
			"look for the workspace "+s.Record.Status.WorkspaceName+" yourself: the control plane is gone",
			core.ConditionUnknown, core.ReasonControlPlaneGone)
	case s.Seen.planeIs(core.ControlPlaneLeaving) && s.Record.Status.AgentsReadyTime.IsZero():
		d = s.fail(core.ReasonControlPlaneGone, "run the test again elsewhere: its control plane is being deleted")
	default:
		return nil
	}
	d.Live = true
	return d
}

// planeIs reports whether the control plane was read and has this state. A read that
// failed never means gone, whatever came with it.
func (seen *Seen) planeIs(state core.ControlPlaneState) bool {
	plane := &seen.ControlPlane
	return plane.Done && plane.Failure == nil && plane.Value.State == state
}

// connectProblem says why there is no connection: a failed request, or a reason
// with a message.
type connectProblem struct {
	failure *core.Failure
	reason  core.Reason
	message string
}

// connection asks for what tells whether the test's deployment can be asked. It is
// connected when neither a read nor a problem comes back.
func (s *step) connection() (Read, *connectProblem) {
	seen := &s.Seen
	if !seen.ControlPlane.Done {
		return Read{Kind: ReadControlPlane}, nil
	}
	if problem := controlPlaneProblem(seen, s.Record.Status.MayHaveWorkspace()); problem != nil {
		return Read{}, problem
	}
	if !seen.Deployment.Done {
		return Read{Kind: ReadDeployment}, nil
	}
	if f := seen.Deployment.Failure; f != nil {
		return Read{}, &connectProblem{failure: f}
	}
	if pinned := s.Record.Status.DeploymentID; s.Record.Status.HasMarker() && seen.Deployment.Value.ID != pinned {
		return Read{}, &connectProblem{
			reason:  core.ReasonControlPlaneNotReady,
			message: "point the control plane back: another Coder deployment answers than the one the workspace was asked of",
		}
	}
	if !seen.Operator.Done {
		return Read{Kind: ReadOperator}, nil
	}
	if f := seen.Operator.Failure; f != nil {
		return Read{}, &connectProblem{failure: f}
	}
	return Read{}, nil
}

// controlPlaneProblem says why the control plane cannot be used. One that is about to go
// is used for what may have a workspace, and for nothing new.
func controlPlaneProblem(seen *Seen, mayHaveWorkspace bool) *connectProblem {
	if f := seen.ControlPlane.Failure; f != nil {
		return &connectProblem{reason: core.ReasonControlPlaneNotReady, message: f.Message}
	}
	plane := &seen.ControlPlane.Value
	state := plane.State
	if state == core.ControlPlaneLeaving && mayHaveWorkspace {
		state = core.ControlPlaneUsable
	}
	switch state {
	case core.ControlPlaneUsable:
		if seen.DialFailure != "" {
			return &connectProblem{reason: core.ReasonControlPlaneNotReady, message: seen.DialFailure}
		}
		return nil
	case core.ControlPlaneNoAccess:
		return &connectProblem{
			reason:  core.ReasonOperatorAccessNotReady,
			message: orElse(plane.Message, "give the control plane an operator token"),
		}
	case core.ControlPlaneGone, core.ControlPlaneLeaving:
		return &connectProblem{
			reason:  core.ReasonControlPlaneNotReady,
			message: orElse(plane.Message, "the control plane does not exist or is being deleted"),
		}
	default:
		return &connectProblem{
			reason:  core.ReasonControlPlaneNotReady,
			message: orElse(plane.Message, "the control plane has no usable URL yet"),
		}
	}
}

func orElse(text, fallback string) string {
	if text == "" {
		return fallback
	}
	return text
}
