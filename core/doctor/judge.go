package doctor

import (
	"fmt"
	"strings"
	"time"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/core/lifecycle"
)

// oldest is the first version of Coder that assay was held against.
var oldest = [2]int{2, 36}

func judgeConnection(q *Question, seen *Seen) Finding {
	if f := seen.Deployment.Failure; f != nil {
		finding := unusable(problem(lifecycle.FailureProblem(f)))
		finding.Fix = fixConnection(f)
		return finding
	}
	address := q.Address
	if address == "" {
		address = "Coder"
	}
	return ok(address + " answers: deployment " + seen.Deployment.Value.ID)
}

func fixConnection(f *core.Failure) string {
	switch {
	case strings.Contains(f.Message, "x509: "):
		return "check the address, or add the authority that signed the certificate to the trusted ones"
	case f.Class == core.FailureRateLimited:
		return "try again later: Coder limits how often one may ask"
	case f.Status != 0:
		return "check the address, and what stands between here and Coder"
	default:
		return "check the address and the network"
	}
}

func judgeCoderVersion(_ *Question, seen *Seen) Finding {
	version := seen.Deployment.Value.Version
	var major, minor int
	if _, err := fmt.Sscanf(version, "v%d.%d", &major, &minor); err != nil {
		return warning(fmt.Sprintf("%q: no released version", version), "test with a release of Coder before you rely on verdicts")
	}
	if major < oldest[0] || major == oldest[0] && minor < oldest[1] {
		return warning(fmt.Sprintf("%s: assay was held against v%d.%d and later; an older one may answer otherwise", version, oldest[0], oldest[1]),
			"upgrade Coder")
	}
	return ok(version)
}

func judgeToken(_ *Question, seen *Seen) Finding {
	if f := seen.Operator.Failure; f != nil {
		return unusable(problem(lifecycle.FailureProblem(f)))
	}
	return ok(fmt.Sprintf("is accepted: it is of the user %q", seen.Operator.Value.Username))
}

// soon is how near the end of a token is worth a warning.
const soon = 3 * 24 * time.Hour

const fixLifetime = `make a token that lasts longer: "coder tokens create --lifetime 720h"`

func judgeLifetime(q *Question, seen *Seen) Finding {
	switch access := &seen.Access; {
	case !access.Done:
		return skipped("this connection does not tell when the token ends")
	case access.Failure != nil:
		return skipped("cannot be read: " + access.Failure.Error())
	case access.Value.ExpiresAt.IsZero():
		return ok("Coder does not tell when it ends")
	case access.Value.Refreshes:
		return ok("a session, whose end moves on while it is used")
	default:
		ends := access.Value.ExpiresAt.UTC().Format(time.RFC3339)
		timeout := q.Spec.WithDefaults().Timeout()
		switch rest := left(&access.Value, &seen.Deployment.Value); {
		case rest < timeout:
			return failed(core.ReasonOperatorAccessNotReady,
				fmt.Sprintf("ends at %s, within the %v that a test may take: nobody could delete its workspace then", ends, timeout), fixLifetime)
		case rest < soon:
			return warning(fmt.Sprintf("ends soon, at %s", ends), fixLifetime)
		default:
			return ok("ends at " + ends)
		}
	}
}

func judgeOwner(q *Question, seen *Seen) Finding {
	if f := seen.OwnerID.Failure; f != nil {
		p := lifecycle.FailureProblem(f)
		if f.Class == core.FailureNotFound {
			p = lifecycle.Problem{
				Reason:  core.ReasonOwnerNotEligible,
				Message: fmt.Sprintf("name an owner that exists and that the operator user can read: no user %q", q.OwnerName),
			}
		}
		return unusable(problem(p))
	}
	if p := lifecycle.OwnerIDProblem(q.Policy); !p.None() {
		return unusable(problem(p))
	}
	if f := seen.Owner.Failure; f != nil {
		return unusable(problem(lifecycle.OwnerReadProblem(q.Policy.Owner(), f)))
	}
	owner := seen.Owner.Value
	if broken := lifecycle.OwnerProblem(owner, q.Policy); broken != "" {
		return problem(lifecycle.Problem{Reason: core.ReasonOwnerNotEligible, Message: broken})
	}
	strict := q.Policy
	strict.AllowPersonalOwner, strict.AllowPrivilegedOwner = false, false
	if waived := lifecycle.OwnerProblem(owner, strict); waived != "" {
		return warning(fmt.Sprintf("%q is allowed by a waiver: each start build hands its session token to the template's Terraform; %s",
			owner.Username, waived), fixes[core.ReasonOwnerNotEligible])
	}
	return ok(fmt.Sprintf("%q is active, and a plain member", owner.Username))
}

func judgeOrganization(q *Question, seen *Seen) Finding {
	if q.Spec.Template == "" {
		return skipped("no template is named")
	}
	ref, err := core.ParseTemplateRef(q.Spec.Template)
	if err != nil {
		return skipped(err.Error())
	}
	if f := seen.Organization.Failure; f != nil {
		return unusable(problem(lifecycle.OrganizationReadProblem(ref.Organization, f)))
	}
	owner := &seen.Owner
	if !owner.Done || owner.Failure != nil {
		return ok(fmt.Sprintf("%q is there; whether the owner is a member is not known", seen.Organization.Value.Name))
	}
	if _, is := lifecycle.MembershipIn(&owner.Value, ref.Organization); !is {
		finding := problem(lifecycle.MembershipProblem(owner.Value.ID, ref.Organization))
		finding.Fix = "add the owner to the organization"
		return finding
	}
	return ok(fmt.Sprintf("the owner is a member of %q", seen.Organization.Value.Name))
}

func judgeTemplate(q *Question, seen *Seen) Finding {
	if f := seen.Template.Failure; f != nil {
		return unusable(problem(lifecycle.TemplateReadProblem(q.Spec.Template, f)))
	}
	if p := lifecycle.TemplateProblem(&seen.Template.Value); !p.None() {
		return problem(p)
	}
	flow := "dynamic"
	if seen.Template.Value.ClassicParameters {
		flow = "classic"
	}
	return ok(fmt.Sprintf("%q is there, with %s parameters", seen.Template.Value.Name, flow))
}

func judgeVersion(q *Question, seen *Seen) Finding {
	if !q.named() {
		return skipped("no version is named")
	}
	if f := seen.Version.Failure; f != nil {
		return unusable(problem(lifecycle.VersionReadProblem(q.Spec.Version, f)))
	}
	version := &seen.Version.Value
	p := lifecycle.VersionProblem(version, seen.Template.Value.ID)
	if p.None() {
		return ok(fmt.Sprintf("%q is imported", version.Name))
	}
	finding := problem(p)
	switch p.Reason {
	case core.ReasonVersionMismatch:
		finding.unusable = true
	case core.ReasonVersionImporting:
		finding.State, finding.Class = Warning, ""
	}
	return finding
}

// notImported is why a check says nothing about a version that is not imported.
const notImported = "needs the version's import"

func judgeParameters(q *Question, seen *Seen) Finding {
	parameters := &seen.Parameters
	switch {
	case !parameters.Done:
		return skipped(notImported)
	case parameters.Failure != nil:
		return problem(lifecycle.FailureProblem(parameters.Failure))
	}
	if p := lifecycle.ParametersProblem(&parameters.Value); !p.None() {
		return problem(p)
	}
	what := "the version takes its defaults"
	if n := len(q.Spec.Parameters); n > 0 {
		what = fmt.Sprintf("the version takes the %d given", n)
	}
	if q.Spec.Preset != "" {
		what += fmt.Sprintf(", with the preset %q", q.Spec.Preset)
	}
	return ok(what)
}

func judgeExternalAuth(_ *Question, seen *Seen) Finding {
	auth := &seen.ExternalAuth
	switch {
	case !auth.Done:
		return skipped(notImported)
	case auth.Failure != nil && auth.Failure.Class == core.FailureForbidden:
		finding := problem(lifecycle.FailureProblem(auth.Failure))
		finding.Fix = "use the owner's own token, or one that may make workspaces for the owner"
		return finding
	case auth.Failure != nil:
		return problem(lifecycle.FailureProblem(auth.Failure))
	}
	if p := lifecycle.ExternalAuthProblem(auth.Value); !p.None() {
		return problem(p)
	}
	if len(auth.Value) == 0 {
		return ok("the version asks for none")
	}
	return ok("the owner has linked what the version requires")
}

func judgeExternalAgent(_ *Question, seen *Seen) Finding {
	if p := lifecycle.ExternalAgentProblem(&seen.Version.Value); !p.None() {
		return problem(p)
	}
	return ok("the version has none")
}
