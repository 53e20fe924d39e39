package lifecycle

import (
	"strings"

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
	for _, m := range owner.Memberships {
		if strings.EqualFold(m.OrganizationName, ref.Organization) {
			s.status().OrganizationID = m.OrganizationID
			return nil
		}
	}
	// The owner is not in it: does it exist at all?
	organization := &s.Seen.Organization
	if !organization.Done {
		return s.read(ReadOrganization, uuid.Nil)
	}
	if f := organization.Failure; f != nil {
		if f.Class == core.FailureNotFound {
			return s.wait(core.ReasonTemplateNotFound, "no organization "+ref.Organization+" that the operator user can read", s.poll())
		}
		return s.waitFor(f)
	}
	return s.wait(core.ReasonOwnerNotEligible,
		"add the owner to the organization "+ref.Organization+": user "+owner.ID.String()+" is not a member", s.poll())
}

func checkTemplate(s *step) *Decision {
	template := &s.Seen.Template
	if !template.Done {
		return s.read(ReadTemplate, s.next.Status.OrganizationID)
	}
	if f := template.Failure; f != nil {
		if f.Class == core.FailureNotFound {
			return s.wait(core.ReasonTemplateNotFound, "no template "+s.Record.Spec.Template+" that the operator user can read", s.poll())
		}
		return s.waitFor(f)
	}
	s.status().TemplateID = template.Value.ID
	if template.Value.Deprecated {
		return s.fail(core.ReasonTemplateDeprecated, "the template is deprecated: Coder makes no workspace from it")
	}
	return nil
}

func checkVersion(s *step) *Decision {
	version := &s.Seen.Version
	if !version.Done {
		// The pin, or uuid.Nil to have the spec's selector resolved.
		return s.read(ReadVersion, s.Record.Status.TemplateVersionID)
	}
	if f := version.Failure; f != nil {
		if f.Class == core.FailureNotFound {
			return s.wait(core.ReasonVersionNotFound, "no version "+s.Record.Spec.Version.String()+" of the template that the operator user can read", s.poll())
		}
		return s.waitFor(f)
	}
	// Pinned the first time that Coder names it, whatever it says about it.
	v := &version.Value
	st := s.status()
	st.TemplateVersionID, st.TemplateVersionName = v.ID, v.Name
	switch {
	case v.TemplateID != st.TemplateID:
		return s.fail(core.ReasonVersionMismatch, "name a version of this template: "+v.ID.String()+" belongs to another one")
	case v.Archived:
		return s.fail(core.ReasonVersionArchived, "unarchive the version or test another one")
	case v.Import == core.JobFailed || v.Import == core.JobCanceled:
		return s.fail(core.ReasonVersionImportFailed, "fix the template and push it again: the import ended "+string(v.Import))
	case v.Import != core.JobSucceeded:
		return s.wait(core.ReasonVersionImporting, "the version's import is "+string(v.Import), s.poll())
	}
	return nil
}

func checkParameters(s *step) *Decision {
	parameters := &s.Seen.Parameters
	if !parameters.Done {
		return s.read(ReadParameters, s.next.Status.TemplateVersionID)
	}
	if f := parameters.Failure; f != nil {
		return s.waitFor(f)
	}
	if problems := parameters.Value.Problems; len(problems) > 0 {
		return s.fail(core.ReasonParametersInvalid, describeProblems(problems))
	}
	return nil
}

// describeProblems names parameters, never values.
func describeProblems(problems []core.ParameterProblem) string {
	texts := make([]string, len(problems))
	for i, p := range problems {
		texts[i] = string(p.Kind) + " " + p.Name
	}
	return "correct the parameters: " + strings.Join(texts, ", ")
}

func checkExternalAuth(s *step) *Decision {
	auth := &s.Seen.ExternalAuth
	if !auth.Done {
		return s.read(ReadExternalAuth, s.next.Status.TemplateVersionID)
	}
	if f := auth.Failure; f != nil {
		return s.waitFor(f)
	}
	for _, a := range auth.Value {
		if a.Optional || a.Authenticated {
			continue
		}
		return s.wait(core.ReasonExternalAuthRequired,
			"link the owner's account with the external authentication "+a.ID+", which the version requires", s.poll())
	}
	return nil
}

func checkExternalAgent(s *step) *Decision {
	if !s.Seen.Version.Value.HasExternalAgent {
		return nil
	}
	return s.fail(core.ReasonExternalAgentUnsupported,
		"test a version without coder_external_agent: nobody starts the external agent of a throwaway workspace")
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
