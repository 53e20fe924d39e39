package report_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/joshdk/go-junit"

	"github.com/assay-dev/assay/adapters/report"
)

// TestPublishingIsTold in every report that people and machines look at.
func TestPublishingIsTold(t *testing.T) {
	version, old := report.PushedVersion{Name: "v2"}, report.PushedVersion{ID: number(2, 9)}
	for _, row := range []struct {
		why       string
		push      *report.Push
		promotion *report.Promotion
		status    junit.Status
		says      string
		annotated bool
	}{
		{"a push", &report.Push{Template: "acme.docker", Version: version}, nil, junit.StatusPassed, "pushed as the version v2 of acme.docker", false},
		{"a failed import", &report.Push{Version: version, Error: "the import failed", ImportError: "no such provider"}, nil, junit.StatusFailed, "the import failed: no such provider", true},
		{"a failed push", &report.Push{Error: "Coder was away"}, nil, junit.StatusError, "Coder was away", true},
		{"a promotion", nil, &report.Promotion{Template: "acme.docker", Version: version, Active: true, Changed: true, Was: old}, junit.StatusPassed, "it was " + number(2, 9).String(), false},
		{"nothing to promote", nil, &report.Promotion{Version: version, Active: true}, junit.StatusPassed, "already", false},
		{"a promotion that did not happen", nil, &report.Promotion{Version: version, Reason: "somebody else promoted v3"}, junit.StatusError, "not promoted: somebody else promoted v3", true},
	} {
		run := allWell()
		run.Push, run.Promotion = row.push, row.promotion
		var xml, page, summary bytes.Buffer
		for _, write := range []func() error{
			func() error { return report.WriteJUnit(&xml, run) },
			func() error { return report.WriteHTML(&page, run) },
			func() error { return report.WriteGitHubSummary(&summary, run) },
		} {
			if err := write(); err != nil {
				t.Fatal(err)
			}
		}
		suites, err := junit.Ingest(xml.Bytes())
		if err != nil || len(suites[0].Tests) != 2 || suites[0].Tests[1].Status != row.status {
			t.Errorf("%s: %+v, %v", row.why, suites, err)
		}
		plain := strings.NewReplacer("&#58;", ":")
		for name, text := range map[string]string{"page": page.String(), "summary": plain.Replace(summary.String())} {
			if !strings.Contains(text, row.says) {
				t.Errorf("%s: the %s does not say %q", row.why, name, row.says)
			}
		}
		if lines := report.Annotations(run); (len(lines) == 1) != row.annotated || row.annotated && !strings.HasSuffix(lines[0], row.says) {
			t.Errorf("%s: annotations %q", row.why, lines)
		}
	}
}
