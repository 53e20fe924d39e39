package lifecycle

import (
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
)

// TestProblemsSayWhatCoderSaid looks at messages whose end is Coder's.
func TestProblemsSayWhatCoderSaid(t *testing.T) {
	template := uuid.New()
	for _, row := range []struct {
		why     string
		problem Problem
		want    string
	}{
		{
			"an answer about something else", FailureProblem(&core.Failure{Class: core.FailureMismatch, Op: "read workspace", Message: "it names another one"}),
			"it names another one",
		},
		{"no answer", FailureProblem(&core.Failure{Class: core.FailureUnavailable, Op: "read workspace", Message: "connection refused"}), "connection refused"},
		{"a refused token", FailureProblem(&core.Failure{Class: core.FailureUnauthorized, Op: "read user", Message: "signed out"}), "signed out"},
		{"an import that waits", VersionProblem(&core.TemplateVersion{TemplateID: template, Import: core.JobPending}, template), "pending"},
		{"an import that runs", VersionProblem(&core.TemplateVersion{TemplateID: template, Import: core.JobRunning}, template), "running"},
	} {
		if !strings.Contains(row.problem.Message, row.want) {
			t.Errorf("%s: %q does not say %q", row.why, row.problem.Message, row.want)
		}
	}
}
