package lifecycle

import (
	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
)

// resolveInputs finds out what the spec names, in the order of lifecycle section
// 5.2, and then announces the create (5.3). The checks are the rows of the table in
// 5.2, in its order, but for the owner's membership: it needs the template's
// organization first.
func resolveInputs(s *step) *Decision {
	switch {
	case applies(checkOwner(s)):
	case applies(checkOrganization(s)):
	case applies(checkTemplate(s)):
	case applies(checkVersion(s)):
	case applies(checkParameters(s)):
	case applies(checkExternalAuth(s)):
	case applies(checkExternalAgent(s)):
	case applies(checkOccupant(s)):
	default:
		return s.announceCreate()
	}
	return &s.decided
}

func checkOrganization(s *step) *Decision {
	ref, err := core.ParseTemplateRef(s.Record.Spec.Template)
	if err != nil {
		return s.broken(assertionFailed("the stored spec is invalid: %v", err))
	}
	owner := &s.Seen.Owner.Value
	if m, ok := MembershipIn(owner, ref.Organization); ok {
		s.status().OrganizationID = m.OrganizationID
		return nil
	}
	// The owner is not in it: does it exist at all?
	organization := &s.Seen.Organization
	if !organization.Done {
		return s.read(ReadOrganization, uuid.Nil)
	}
	if f := organization.Failure; f != nil {
		return s.waitAs(f, OrganizationReadProblem(ref.Organization, f))
	}
	return s.meet(MembershipProblem(owner.ID, ref.Organization))
}

func checkTemplate(s *step) *Decision {
	template := &s.Seen.Template
	if !template.Done {
		return s.read(ReadTemplate, s.next.Status.OrganizationID)
	}
	if f := template.Failure; f != nil {
		return s.waitAs(f, TemplateReadProblem(s.Record.Spec.Template, f))
	}
	s.status().TemplateID = template.Value.ID
	return s.meet(TemplateProblem(&template.Value))
}

func checkVersion(s *step) *Decision {
	version := &s.Seen.Version
	if !version.Done {
		// The pin, or uuid.Nil to have the spec's selector resolved.
		return s.read(ReadVersion, s.Record.Status.TemplateVersionID)
	}
	if f := version.Failure; f != nil {
		return s.waitAs(f, VersionReadProblem(s.Record.Spec.Version, f))
	}
	// Pinned the first time that Coder names it, whatever it says about it.
	v := &version.Value
	st := s.status()
	st.TemplateVersionID, st.TemplateVersionName = v.ID, v.Name
	return s.meet(VersionProblem(v, st.TemplateID))
}

func checkParameters(s *step) *Decision {
	parameters := &s.Seen.Parameters
	if !parameters.Done {
		return s.read(ReadParameters, s.next.Status.TemplateVersionID)
	}
	if f := parameters.Failure; f != nil {
		return s.waitFor(f)
	}
	return s.meet(ParametersProblem(&parameters.Value))
}

func checkExternalAuth(s *step) *Decision {
	auth := &s.Seen.ExternalAuth
	if !auth.Done {
		return s.read(ReadExternalAuth, s.next.Status.TemplateVersionID)
	}
	if f := auth.Failure; f != nil {
		return s.waitFor(f)
	}
	return s.meet(ExternalAuthProblem(auth.Value))
}

func checkExternalAgent(s *step) *Decision {
	return s.meet(ExternalAgentProblem(&s.Seen.Version.Value))
}

// checkOccupant looks whether the owner already has a workspace of the test's
// name: this test's own, if a record was lost, or somebody else's.
func checkOccupant(s *step) *Decision {
	name := &s.Seen.Name
	if !name.Done {
		return s.read(ReadName, s.Seen.Owner.Value.ID)
	}
	if f := name.Failure; f != nil {
		return s.waitFor(f)
	}
	occupant := name.Value.Workspace
	if occupant == nil || occupant.Deleted {
		return nil
	}
	builds := s.Seen.Builds[occupant.ID]
	if !builds.Done {
		return s.read(ReadBuilds, occupant.ID)
	}
	if f := builds.Failure; f != nil {
		return s.waitFor(f)
	}
	first, proven := provenance(*occupant, builds.Value, s.pins(), noTimeBound)
	if !proven {
		return s.failWith(core.ReasonWorkspaceNameConflict,
			"remove or rename the owner's workspace "+occupant.Name+", which this test did not make",
			core.ConditionTrue, core.ReasonNotCreated)
	}
	if s.Seen.AttemptID == uuid.Nil {
		return s.read(ReadAttemptID, uuid.Nil)
	}
	s.announce()
	return s.adopt(*occupant, first)
}
