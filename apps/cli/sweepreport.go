package cli

import (
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/adapters/report"
	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/core/sweep"
)

// sweepReport is what assay sweep tells. Its JSON form is part of the public contract:
// fields are added, never renamed or removed.
type sweepReport struct {
	Owner            sweptOwner       `json:"owner"`
	OlderThanSeconds int              `json:"olderThanSeconds"`
	Workspaces       []sweptWorkspace `json:"workspaces"`
	ExitCode         int              `json:"exitCode"`
}

type sweptOwner struct {
	ID   uuid.UUID `json:"id"`
	Name string    `json:"name"`
}

type sweptWorkspace struct {
	ID       uuid.UUID     `json:"id"`
	Name     string        `json:"name"`
	Template string        `json:"template"`
	Verdict  sweep.Verdict `json:"verdict"`
	Why      string        `json:"why"`
	// Test is the record that knows the workspace.
	Test       uuid.UUID `json:"test,omitzero"`
	CreatedAt  time.Time `json:"createdAt"`
	AgeSeconds int       `json:"ageSeconds"`
	// RanHours is for how long it has run, in hundredths of an hour.
	RanHours float64 `json:"ranHours"`
	// Result is "deleted", "exists", "spared", "failed" or "not begun" where the workspace
	// was to be deleted.
	Result string `json:"result,omitempty"`
}

func newSweepReport(view sweep.View, results map[uuid.UUID]string, olderThan time.Duration, code int) sweepReport {
	r := sweepReport{
		Owner:            sweptOwner{view.Owner.ID, view.Owner.Username},
		OlderThanSeconds: int(olderThan / time.Second), Workspaces: []sweptWorkspace{}, ExitCode: code,
	}
	for i := range view.Findings {
		found := &view.Findings[i]
		w := &found.Workspace
		r.Workspaces = append(r.Workspaces, sweptWorkspace{
			ID: w.ID, Name: w.Name, Template: w.OrganizationName + "." + w.TemplateName,
			Verdict: found.Verdict, Why: found.Why, Test: found.Test, CreatedAt: w.CreatedAt.UTC(),
			AgeSeconds: int(found.Age / time.Second), RanHours: math.Round(found.Ran.Hours()*100) / 100,
			Result: results[w.ID],
		})
	}
	return r
}

// writeSweep writes the report. deleting: --delete was given.
func writeSweep(out io.Writer, output outputFormat, r sweepReport, deleting bool) error {
	if output == outputJSON {
		return report.WriteJSON(out, r)
	}
	if len(r.Workspaces) == 0 {
		_, err := fmt.Fprintf(out, "No live workspace of %s is named like a test's.\n", r.Owner.Name)
		return err
	}
	var text strings.Builder
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "WORKSPACE\tVERDICT\tAGE\tRAN\tTEMPLATE\tWHY")
	proven := 0
	for _, w := range r.Workspaces {
		verdict := string(w.Verdict)
		if w.Result != "" {
			verdict += ", " + w.Result
		}
		if w.Verdict == sweep.Proven {
			proven++
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%.1f h\t%s\t%s\n", w.Name, verdict,
			ageText(time.Duration(w.AgeSeconds)*time.Second), w.RanHours, core.Printable(w.Template), core.Printable(w.Why))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if proven > 0 && !deleting {
		fmt.Fprintf(&text, "\n%d proven. If this tester is used from this state file alone, --delete --dedicated-owner deletes that; "+
			"otherwise look at where else it is used.\n", proven)
	}
	_, err := io.WriteString(out, text.String())
	return err
}

// ageText is an age for people, such as "2d3h".
func ageText(age time.Duration) string {
	const day = 24 * time.Hour
	switch age = max(0, age); {
	case age >= day:
		return fmt.Sprintf("%dd%dh", age/day, age%day/time.Hour)
	case age >= time.Hour:
		return fmt.Sprintf("%dh%dm", age/time.Hour, age%time.Hour/time.Minute)
	default:
		return fmt.Sprintf("%dm", age/time.Minute)
	}
}
