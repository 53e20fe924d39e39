package lifecycle

import (
	"context"
	"strings"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/ports"
)

// Problem is why no workspace can be asked for: a row of lifecycle section 5.1 or 5.2. The
// zero Problem is none. The engine and whoever looks ahead of a test judge by the same
// functions.
type Problem struct {
	Reason  core.Reason
	Message string
	// Fails: the test fails with the reason. Otherwise it waits with it.
	Fails bool
}

// None reports whether there is no problem.
func (p Problem) None() bool { return p.Reason == "" }

// Class says whom a test that ends because of the problem speaks about.
func (p Problem) Class() core.OutcomeClass {
	if p.Fails {
		return outcomeClass(&core.Status{Reason: p.Reason})
	}
	return core.OutcomeInconclusive
}

// meet waits or fails with the problem; nil when there is none.
func (s *step) meet(p Problem) *Decision {
	switch {
	case p.None():
		return nil
	case p.Fails:
		return s.fail(p.Reason, p.Message)
	default:
		return s.wait(p.Reason, p.Message, s.poll())
	}
}

// FailureProblem is what a failed request means for a test without a verdict.
func FailureProblem(f *core.Failure) Problem {
	switch f.Class {
	case core.FailureUnauthorized:
		return Problem{Reason: core.ReasonOperatorAccessNotReady, Message: "renew the operator's token; " + describe(f)}
	case core.FailureMismatch:
		return Problem{Reason: core.ReasonCoderAnswerMismatch, Message: describe(f)}
	default:
		return Problem{Reason: core.ReasonCoderUnavailable, Message: describe(f)}
	}
}

// OwnerIDProblem says why the policy names no owner.
func OwnerIDProblem(policy core.Policy) Problem {
	switch {
	case policy.Owner() != uuid.Nil:
		return Problem{}
	case policy.OwnerUserID != "":
		return Problem{Reason: core.ReasonOwnerNotConfigured, Message: "set the control plane's ownerUserID to a user's UUID, not to a name"}
	default:
		return Problem{Reason: core.ReasonOwnerNotConfigured, Message: "set the control plane's ownerUserID to the ID of a tester user"}
	}
}

// OwnerReadProblem is what a failed read of the owner means.
func OwnerReadProblem(id uuid.UUID, f *core.Failure) Problem {
	if f.Class == core.FailureNotFound {
		return Problem{
			Reason:  core.ReasonOwnerNotEligible,
			Message: "name an owner that exists and that the operator user can read: no user " + id.String(),
		}
	}
	return FailureProblem(f)
}

// OrganizationReadProblem is what a failed read of the organization means.
func OrganizationReadProblem(name string, f *core.Failure) Problem {
	if f.Class == core.FailureNotFound {
		return Problem{Reason: core.ReasonTemplateNotFound, Message: "no organization " + name + " that the operator user can read"}
	}
	return FailureProblem(f)
}

// MembershipIn finds the owner's membership in the organization of the name, without
// regard to case.
func MembershipIn(owner *core.User, organization string) (core.Membership, bool) {
	for _, m := range owner.Memberships {
		if strings.EqualFold(m.OrganizationName, organization) {
			return m, true
		}
	}
	return core.Membership{}, false
}

// MembershipProblem is what it means that the owner is not a member of the organization.
func MembershipProblem(owner uuid.UUID, organization string) Problem {
	return Problem{
		Reason:  core.ReasonOwnerNotEligible,
		Message: "add the owner to the organization " + organization + ": user " + owner.String() + " is not a member",
	}
}

// TemplateReadProblem is what a failed read of the template means.
func TemplateReadProblem(template string, f *core.Failure) Problem {
	if f.Class == core.FailureNotFound {
		return Problem{Reason: core.ReasonTemplateNotFound, Message: "no template " + template + " that the operator user can read"}
	}
	return FailureProblem(f)
}

// TemplateProblem says why no workspace can be made from the template.
func TemplateProblem(template *core.Template) Problem {
	if template.Deprecated {
		return Problem{
			Reason: core.ReasonTemplateDeprecated, Fails: true,
			Message: "the template is deprecated: Coder makes no workspace from it",
		}
	}
	return Problem{}
}

// SelectVersion reads the version that the selector names for the template.
func SelectVersion(
	ctx context.Context, reader ports.InputReader, selector core.VersionSelector, template core.Template,
) (core.TemplateVersion, error) {
	switch {
	case selector.Active:
		return reader.Version(ctx, template.ActiveVersionID)
	case selector.ID != "":
		return reader.Version(ctx, core.Spec{Version: selector}.VersionID())
	default:
		return reader.VersionByName(ctx, template.ID, selector.Name)
	}
}

// VersionReadProblem is what a failed read of the version means.
func VersionReadProblem(selector core.VersionSelector, f *core.Failure) Problem {
	if f.Class == core.FailureNotFound {
		return Problem{
			Reason:  core.ReasonVersionNotFound,
			Message: "no version " + selector.String() + " of the template that the operator user can read",
		}
	}
	return FailureProblem(f)
}

// VersionProblem says why no workspace can be made from the version, or not yet.
func VersionProblem(version *core.TemplateVersion, template uuid.UUID) Problem {
	fails := func(reason core.Reason, message string) Problem {
		return Problem{Reason: reason, Message: message, Fails: true}
	}
	switch {
	case version.TemplateID != template:
		return fails(core.ReasonVersionMismatch, "name a version of this template: "+version.ID.String()+" belongs to another one")
	case version.Archived:
		return fails(core.ReasonVersionArchived, "unarchive the version or test another one")
	case version.Import == core.JobFailed || version.Import == core.JobCanceled:
		return fails(core.ReasonVersionImportFailed, "fix the template and push it again: the import ended "+string(version.Import))
	case version.Import != core.JobSucceeded:
		return Problem{Reason: core.ReasonVersionImporting, Message: "the version's import is " + string(version.Import)}
	default:
		return Problem{}
	}
}

// ParametersProblem says which parameters the version refuses. It names parameters, never
// values.
func ParametersProblem(report *core.ParameterReport) Problem {
	if len(report.Problems) == 0 {
		return Problem{}
	}
	return Problem{Reason: core.ReasonParametersInvalid, Message: describeProblems(report.Problems), Fails: true}
}

// describeProblems names parameters, never values.
func describeProblems(problems []core.ParameterProblem) string {
	texts := make([]string, len(problems))
	for i, p := range problems {
		texts[i] = string(p.Kind) + " " + p.Name
	}
	return "correct the parameters: " + strings.Join(texts, ", ")
}

// ExternalAuthProblem names the first external authentication that the owner lacks.
func ExternalAuthProblem(auths []core.ExternalAuth) Problem {
	for _, a := range auths {
		if a.Optional || a.Authenticated {
			continue
		}
		return Problem{
			Reason:  core.ReasonExternalAuthRequired,
			Message: "link the owner's account with the external authentication " + a.ID + ", which the version requires",
		}
	}
	return Problem{}
}

// ExternalAgentProblem says why the version's agents would never be ready.
func ExternalAgentProblem(version *core.TemplateVersion) Problem {
	if !version.HasExternalAgent {
		return Problem{}
	}
	return Problem{
		Reason: core.ReasonExternalAgentUnsupported, Fails: true,
		Message: "test a version without coder_external_agent: nobody starts the external agent of a throwaway workspace",
	}
}
