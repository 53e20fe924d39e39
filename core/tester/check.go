package tester

import (
	"strings"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/core/lifecycle"
)

// Finding is one rule of lifecycle section 5.2 with what it says about a user.
type Finding struct {
	// Rule says what must hold.
	Rule string
	// Problem says why it does not, and what to do; "" when it does.
	Problem string
}

// Check judges a user by every rule, for tests of templates of the organizations.
func Check(user core.User, organizations []core.Organization) []Finding {
	rules := lifecycle.OwnerRules(user, core.Policy{})
	findings := make([]Finding, 0, len(rules)+len(organizations))
	for _, rule := range rules {
		findings = append(findings, Finding(rule))
	}
	if len(organizations) == 0 {
		findings = append(findings, Finding{"is a member of an organization", "add it to the organization of the templates that it is to test"})
	}
	for _, organization := range organizations {
		finding := Finding{Rule: "is a member of organization " + organization.Name}
		if _, member := user.MemberOf(organization.ID); !member {
			finding.Problem = "add it to organization " + organization.Name + ": only members can own workspaces there"
		}
		findings = append(findings, finding)
	}
	return findings
}

// Problems joins what is wrong; "" when nothing is.
func Problems(findings []Finding) string {
	var problems []string
	for _, finding := range findings {
		if finding.Problem != "" {
			problems = append(problems, finding.Problem)
		}
	}
	return strings.Join(problems, "; ")
}
