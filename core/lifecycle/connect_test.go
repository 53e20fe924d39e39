package lifecycle

import (
	"testing"
	"time"

	"github.com/assay-dev/assay/core"
)

func TestConnect(t *testing.T) {
	planeFailed := func(in *Input) {
		// Whatever came with the error means nothing.
		in.Seen.ControlPlane.Value.State = core.ControlPlaneGone
		in.Seen.ControlPlane.Failure = &core.Failure{Message: "the API server is away"}
	}
	decide(t, connected, []row{
		{why: "the control plane is read first", given: []edit{func(in *Input) { in.Seen = Seen{} }}, want: "read control plane"},
		{
			why: "without a usable URL there is nothing to ask", given: []edit{planeState(core.ControlPlaneUnready)},
			want: "Pending ControlPlaneNotReady after 15s", says: "no usable URL",
		},
		{
			why: "what the control plane says is passed on", want: "Pending ControlPlaneNotReady after 15s", says: "set spec.url",
			given: []edit{planeState(core.ControlPlaneUnready), func(in *Input) { in.Seen.ControlPlane.Value.Message = "set spec.url" }},
		},
		{
			why: "one that is gone is waited for while nothing was sent", given: []edit{planeState(core.ControlPlaneGone)},
			want: "Pending ControlPlaneNotReady after 15s", says: "does not exist or is being deleted",
		},
		{
			why: "one that cannot be read is not ready", given: []edit{planeFailed},
			want: "Pending ControlPlaneNotReady after 15s", says: "the API server is away",
		},
		{
			why: "no operator access, or a token that is missing or empty", given: []edit{planeState(core.ControlPlaneNoAccess)},
			want: "Pending OperatorAccessNotReady after 15s", says: "operator token",
		},
		{
			why: "a connection that cannot even be tried", want: "Pending ControlPlaneNotReady after 15s", says: "bad certificate",
			given: []edit{func(in *Input) { in.Seen.DialFailure = "bad certificate" }},
		},
		{why: "then the deployment", given: []edit{func(in *Input) { in.Seen.Deployment = Result[core.Deployment]{} }}, want: "read deployment"},
		{
			why: "that does not answer", want: "Pending CoderUnavailable after 15s",
			given: []edit{func(in *Input) { in.Seen.Deployment = failing[core.Deployment](unavailable) }},
		},
		{why: "then who is asking", given: []edit{func(in *Input) { in.Seen.Operator = Result[core.User]{} }}, want: "read operator"},
		{
			why: "Coder does not take the token", want: "Pending OperatorAccessNotReady after 15s", says: "renew the operator's token",
			given: []edit{func(in *Input) { in.Seen.Operator = failing[core.User](unauthorized) }},
		},
		{
			why: "answers about something else are waited on", want: "Pending CoderAnswerMismatch after 15s",
			given: []edit{func(in *Input) { in.Seen.Operator = failing[core.User](mismatch) }},
		},
		{
			why: "too many requests: as long as Coder says", want: "Pending CoderUnavailable after 1m30s",
			given: []edit{func(in *Input) { in.Seen.Operator = failing[core.User](limited) }},
		},
		{
			why: "without a marker any deployment will do", want: "read owner",
			given: []edit{func(in *Input) { in.Seen.Deployment.Value.ID = "another" }},
		},
	})
	decide(t, marked, []row{
		{
			why: "with a marker only the pinned deployment counts", want: "Running ControlPlaneNotReady marker after 5s", says: "point the control plane back",
			given: []edit{func(in *Input) { in.Seen.Deployment.Value.ID = "another" }},
		},
		{
			why: "a control plane that is gone ends a test that may have a workspace", given: []edit{planeState(core.ControlPlaneGone)},
			want: "Failed ControlPlaneGone Inconclusive Unknown/ControlPlaneGone marker after 0s",
			check: func(t *testing.T, d Decision) {
				if !d.Live {
					t.Error("gone is concluded from live reads only")
				}
			},
		},
		{
			why: "gone comes before the deadline", given: []edit{planeState(core.ControlPlaneGone), now(time.Hour)},
			want: "Failed ControlPlaneGone Inconclusive Unknown/ControlPlaneGone marker after 0s",
		},
		{why: "so it is read before that", given: []edit{now(time.Hour), func(in *Input) { in.Seen = Seen{} }}, want: "read control plane"},
		{
			why: "one that cannot be read is never gone, whatever came with the error", given: []edit{planeFailed},
			want: "Running ControlPlaneNotReady marker after 5s",
		},
	})
	decide(t, marked, []row{
		{
			why: "one that is about to go ends the test while its workspace can be found", given: []edit{planeState(core.ControlPlaneLeaving)},
			want: "Failed ControlPlaneGone Inconclusive Unknown/CreateOutcomeUnknown marker after 0s",
			check: func(t *testing.T, d Decision) {
				if !d.Live {
					t.Error("that a control plane goes is concluded from live reads only")
				}
			},
		},
	})
	decide(t, connected, []row{
		{
			why: "nothing new is begun on one that is about to go", given: []edit{planeState(core.ControlPlaneLeaving)},
			want: "Pending ControlPlaneNotReady after 15s", says: "is being deleted",
		},
	})
	decide(t, awaiting, []row{
		{
			why: "one that is about to go ends the test while its workspace can be deleted", given: []edit{planeState(core.ControlPlaneLeaving)},
			want: "Failed ControlPlaneGone Inconclusive False/CleanupPending workspace after 0s",
		},
		{
			why: "a known workspace does not change that", given: []edit{planeState(core.ControlPlaneGone)},
			want: "Failed ControlPlaneGone Inconclusive Unknown/ControlPlaneGone workspace after 0s",
		},
		{
			why: "the deployment stays pinned", want: "Running ControlPlaneNotReady workspace after 5s",
			given: []edit{func(in *Input) { in.Seen.Deployment.Value.ID = "another" }},
		},
	})
	decide(t, ready, []row{
		{
			why: "a test that passed is deleting its workspace and goes on", given: []edit{planeState(core.ControlPlaneLeaving)},
			want: "read workspace",
		},
	})
}
