package doctor

import (
	"context"
	"slices"

	"github.com/assay-dev/assay/ports"
)

// The names of the checks. They are part of the public contract.
const (
	Connection    = "connection"
	CoderVersion  = "coder-version"
	Token         = "token"
	TokenLifetime = "token-lifetime"
	Owner         = "owner"
	Organization  = "organization"
	Template      = "template"
	Version       = "version"
	Parameters    = "parameters"
	ExternalAuth  = "external-auth"
	ExternalAgent = "external-agent"
	Rights        = "rights"
	Provisioners  = "provisioners"
	Quota         = "quota"
)

// check is one thing to look at.
type check struct {
	name string
	// needs are the checks, further up, that must have left something to go on with.
	needs []string
	// ask reads what judge looks at; nil where others have read it.
	ask func(context.Context, *asker)
	// judge is pure.
	judge func(*Question, *Seen) Finding
}

// checks are in the order in which a test meets what they look at.
var checks = []check{
	{Connection, nil, askDeployment, judgeConnection},
	{CoderVersion, []string{Connection}, nil, judgeCoderVersion},
	{Token, []string{Connection}, askOperator, judgeToken},
	{TokenLifetime, []string{Token}, askLifetime, judgeLifetime},
	{Owner, []string{Token}, askOwner, judgeOwner},
	{Organization, []string{Token}, askOrganization, judgeOrganization},
	{Template, []string{Organization}, askTemplate, judgeTemplate},
	{Version, []string{Template}, askVersion, judgeVersion},
	{Parameters, []string{Version, Owner}, askParameters, judgeParameters},
	{ExternalAuth, []string{Version, Owner}, askExternalAuth, judgeExternalAuth},
	{ExternalAgent, []string{Version}, nil, judgeExternalAgent},
	{Rights, []string{Owner}, askRights, judgeRights},
	{Provisioners, []string{Version, Owner}, askProvisioners, judgeProvisioners},
	{Quota, []string{Organization, Owner}, askQuota, judgeQuota},
}

// Examine asks Coder, and judges what it answers. It changes nothing. about, if it is not
// nil, is told the name of each check before its questions are asked.
func Examine(ctx context.Context, runner ports.CodeRunner, question Question, about func(check string)) Findings {
	a := &asker{runner: runner, question: question}
	return examine(&a.question, &a.seen, func(c check) {
		if c.ask == nil {
			return
		}
		if about != nil {
			about(c.name)
		}
		c.ask(ctx, a)
	})
}

// Judge judges what was seen.
func Judge(question Question, seen Seen) Findings {
	return examine(&question, &seen, func(check) {})
}

func examine(question *Question, seen *Seen, ask func(check)) Findings {
	findings := make(Findings, 0, len(checks))
	for _, c := range checks {
		var finding Finding
		if lacking := c.lacks(findings); lacking != nil {
			finding = skipped(lacking.passOn())
		} else {
			ask(c)
			finding = c.judge(question, seen)
		}
		finding.Name = c.name
		findings = append(findings, finding)
	}
	return findings
}

// lacks is the finding of the first check that c needs and that left nothing, or nil.
func (c check) lacks(before Findings) *Finding {
	for _, need := range c.needs {
		i := slices.IndexFunc(before, func(f Finding) bool { return f.Name == need && f.unusable })
		if i >= 0 {
			return &before[i]
		}
	}
	return nil
}

// passOn is why a check that needs f is skipped: the first cause.
func (f *Finding) passOn() string {
	if f.State == Skipped {
		return f.Message
	}
	return "needs the check " + f.Name
}
