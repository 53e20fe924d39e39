package lifecycle

import (
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
)

// announceCreate stores the create marker with all pins. The request follows in
// the same step, once the marker is stored (5.3).
func (s *step) announceCreate() *Decision {
	if !s.Now.Before(s.deadline()) {
		return s.deadlineExceeded(s.Record.Status.Reason, s.Record.Status.Message)
	}
	if s.Seen.AttemptID == uuid.Nil {
		return s.read(ReadAttemptID, uuid.Nil)
	}
	s.announce()
	s.running(core.ReasonCreatingWorkspace, "asking Coder for the workspace "+s.next.Status.WorkspaceName)
	d := s.lookAgain(0)
	d.Continue = true
	return d
}

// pins are the identities that the inputs resolved to in this step.
func (s *step) pins() core.Pins {
	pins := s.next.Status.Pins
	pins.OwnerID = s.Seen.Owner.Value.ID
	pins.WorkspaceName = core.WorkspaceName(s.Record.ID)
	pins.DeploymentID = s.Seen.Deployment.Value.ID
	pins.OperatorUserID = s.Seen.Operator.Value.ID
	return pins
}

// announce sets the create marker with all pins. Its time is Coder's, from the
// last answer before the create: nothing that the create makes can be older.
func (s *step) announce() {
	st := s.status()
	st.Pins = s.pins()
	st.CreateAttemptTime = s.Seen.Name.Value.ServerTime.UTC().Truncate(time.Second)
	st.CreateAttemptID = s.Seen.AttemptID
}

// sendAnnouncedCreate sends the create that this very step announced, while that is
// surely before anybody else may conclude that it was not sent.
func sendAnnouncedCreate(s *step) *Decision {
	own := s.Seen.OwnMarker
	if own == nil {
		return nil
	}
	if own.AttemptID != s.Record.Status.CreateAttemptID {
		// Somebody else settled this announcement already.
		return s.lookAgain(0)
	}
	if own.Age > s.Options.SendWindow || !s.Now.Before(s.deadline()) {
		s.clearMarker()
		d := s.notSent(core.ReasonCreateRetrying, "the create request was not sent: storing its announcement took too long", 0)
		// That nothing was sent is a fact, whatever became of the record meanwhile.
		d.Fact = true
		return d
	}
	d := s.lookAgain(0)
	d.Request = &Request{Kind: RequestCreate, Create: s.createRequest()}
	return d
}

// clearMarker is for the one case in which no create request can have taken
// effect.
func (s *step) clearMarker() {
	st := s.status()
	st.CreateAttemptTime, st.CreateAttemptID, st.CreateAnswer = time.Time{}, uuid.Nil, nil
}

// createRequest gives the parameters over the preset's values: Coder itself lets a
// preset win over parameters, so a preset that a parameter contradicts is spelled
// out instead of named.
func (s *step) createRequest() core.CreateRequest {
	st := &s.next.Status
	report := &s.Seen.Parameters.Value
	request := core.CreateRequest{
		OwnerID: st.OwnerID, OrganizationID: st.OrganizationID, TemplateID: st.TemplateID,
		Name: st.WorkspaceName, VersionID: st.TemplateVersionID,
		PresetID: report.PresetID,
		TTL:      s.next.Spec.Timeout() + s.Options.WorkspaceTTL,
	}
	given := make(map[string]string, len(s.next.Spec.Parameters))
	for _, p := range s.next.Spec.Parameters {
		given[p.Name] = p.Value
		request.Parameters = append(request.Parameters, p)
	}
	for _, p := range report.PresetValues {
		value, overridden := given[p.Name]
		if !overridden {
			request.Parameters = append(request.Parameters, p)
		} else if value != p.Value {
			request.PresetID = uuid.Nil
		}
	}
	return request
}
