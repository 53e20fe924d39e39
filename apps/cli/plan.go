package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/assay-dev/assay/adapters/report"
	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/core/lifecycle"
)

// plan is a test that is to be run.
type plan struct {
	// name tells the tests of a run apart; empty where there is one alone.
	name string
	spec core.Spec
	// expected is what a suite expects of the test, nil for a pass.
	expected *report.Expectation
}

// maxPlans bounds the tests of one run. A product of versions and parameter sets grows
// faster than its author thinks.
const maxPlans = 1000

// plansOfFlags are the tests that the flags describe: each version of each template.
func plansOfFlags(templates, versions []string, flags specFlags) ([]plan, error) {
	if len(templates) == 0 {
		templates = []string{""}
	}
	if len(versions) == 0 {
		versions = []string{""}
	}
	if len(templates)*len(versions) > maxPlans {
		return nil, tooMany(len(templates) * len(versions))
	}
	var plans []plan
	for _, template := range templates {
		for _, version := range versions {
			flags.template, flags.version = template, version
			spec, err := flags.spec()
			if err != nil {
				return nil, err
			}
			plans = append(plans, plan{name: template + " " + version, spec: spec})
		}
	}
	if len(plans) == 1 {
		plans[0].name = ""
	}
	return plans, checkPlans(plans)
}

// checkPlans refuses too many tests, and two that nobody could tell apart.
func checkPlans(plans []plan) error {
	if len(plans) > maxPlans {
		return tooMany(len(plans))
	}
	seen := map[string]bool{}
	for _, p := range plans {
		key := strings.ToLower(p.name)
		if seen[key] {
			return usage("%q is asked for twice: name each test once", p.name)
		}
		seen[key] = true
	}
	return nil
}

func tooMany(plans int) error {
	return usage("%d tests are asked for, %d at most can run together: split them", plans, maxPlans)
}

// meets reports whether the test went as the plan expects, once it has its verdict.
func (p plan) meets(record *core.Record) bool {
	st := &record.Status
	switch {
	case p.expected == nil:
		return st.OutcomeClass == core.OutcomePassed
	case !st.Phase.Final():
		return false
	case p.expected.Reason == "":
		return p.expected.OutcomeClass == st.OutcomeClass
	default:
		// A build that the owner's quota refused says nothing about the version: its reason
		// alone is not what the suite's author meant.
		judged := st.OutcomeClass == core.OutcomeTemplateFailed || !lifecycle.CanBlameTemplate(st.Reason)
		return p.expected.Reason == st.Reason && judged
	}
}

// expectation reads what a suite expects: a class of outcomes or the reason of a failure.
func expectation(written string) (*report.Expectation, error) {
	switch class := core.OutcomeClass(written); class {
	case core.OutcomePassed:
		return nil, nil
	case core.OutcomeTemplateFailed, core.OutcomeInconclusive:
		return &report.Expectation{OutcomeClass: class}, nil
	}
	if reason := core.Reason(written); slices.Contains(core.FailureReasons, reason) {
		return &report.Expectation{Reason: reason}, nil
	}
	return nil, fmt.Errorf("%q is no verdict: write Passed, TemplateFailed, Inconclusive, or the reason of a failure such as BuildFailed", written)
}
