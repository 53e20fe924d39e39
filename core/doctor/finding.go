package doctor

import (
	"slices"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/core/lifecycle"
)

// State says how a check came out.
type State string

// The states.
const (
	OK State = "ok"
	// Warning: a test can run; something is worth a look.
	Warning State = "warning"
	// Failed: a test would not pass.
	Failed State = "failed"
	// Skipped: the check says nothing, and its message why.
	Skipped State = "skipped"
)

// Finding is what one check came to.
type Finding struct {
	Name    string
	State   State
	Message string
	// Fix says what to do; empty where nothing is to be done.
	Fix string
	// Reason is what a test would wait or end with because of it; empty where it would
	// not.
	Reason core.Reason
	// Class says whom a failed check speaks about: core.OutcomeTemplateFailed or
	// core.OutcomeInconclusive.
	Class core.OutcomeClass
	// unusable: what the check looked at is not there for the checks that need it.
	unusable bool
}

// Findings are the findings of all checks, in the order of the checks.
type Findings []Finding

// Decisive is the finding that a test would meet first, or nil: the first one that has a
// reason.
func (all Findings) Decisive() *Finding {
	i := slices.IndexFunc(all, func(f Finding) bool { return f.Reason != "" })
	if i < 0 {
		return nil
	}
	return &all[i]
}

// Class is core.OutcomeTemplateFailed if the version is at fault, core.OutcomeInconclusive
// if only something else is, and core.OutcomePassed if no check failed.
func (all Findings) Class() core.OutcomeClass {
	class := core.OutcomePassed
	for _, f := range all {
		switch {
		case f.State != Failed:
		case f.Class == core.OutcomeTemplateFailed:
			return f.Class
		default:
			class = core.OutcomeInconclusive
		}
	}
	return class
}

// Count counts the findings of a state.
func (all Findings) Count(state State) int {
	n := 0
	for _, f := range all {
		if f.State == state {
			n++
		}
	}
	return n
}

func ok(message string) Finding { return Finding{State: OK, Message: message} }

func warning(message, fix string) Finding {
	return Finding{State: Warning, Message: message, Fix: fix}
}

// skipped has nothing for the checks that need it.
func skipped(message string) Finding {
	return Finding{State: Skipped, Message: message, unusable: true}
}

// failed is a problem of a set-up that the lifecycle has no rule for.
func failed(reason core.Reason, message, fix string) Finding {
	return Finding{State: Failed, Reason: reason, Message: message, Fix: fix, Class: core.OutcomeInconclusive}
}

// problem is a row of the lifecycle that applies.
func problem(p lifecycle.Problem) Finding {
	return Finding{State: Failed, Reason: p.Reason, Message: p.Message, Fix: fixes[p.Reason], Class: p.Class()}
}

// unusable is a finding that leaves nothing for the checks that need it.
func unusable(f Finding) Finding {
	f.unusable = true
	return f
}

// fixes say what to do where a test would wait or end with a reason.
var fixes = map[core.Reason]string{
	core.ReasonOperatorAccessNotReady: `make a new token with "coder tokens create", or log in again with "coder login"`,
	core.ReasonCoderUnavailable:       "check the deployment, and the way to it; then try again",
	core.ReasonCoderAnswerMismatch:    "look for a proxy or a cache between here and Coder",
	core.ReasonOwnerNotConfigured:     "name the user that is to own the workspaces of tests",
	core.ReasonOwnerNotEligible: "use a tester: an active user made for this, a plain member of the template's organization " +
		"that logs in with a password or is a service account",
	core.ReasonTemplateNotFound:         "correct the template's name, push the template, or let the token's user see it",
	core.ReasonTemplateDeprecated:       "end the deprecation, or test the template's successor",
	core.ReasonVersionNotFound:          "correct the version, or push it",
	core.ReasonVersionMismatch:          "correct the version or the template",
	core.ReasonVersionArchived:          "unarchive the version, or test another one",
	core.ReasonVersionImportFailed:      "read the import's log in Coder, fix the template and push it again",
	core.ReasonVersionImporting:         "wait for the import: a test does, too, as long as the time for its inputs allows",
	core.ReasonParametersInvalid:        "correct the parameters or the preset; the version's page in Coder shows what it takes",
	core.ReasonExternalAuthRequired:     "log the owner in with that provider in Coder, or make it optional in the template",
	core.ReasonExternalAgentUnsupported: "test a version without an external agent",
}
