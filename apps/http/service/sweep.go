package service

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/apps/http/access"
	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/core/sweep"
)

// SweepReport tells which workspaces of the tests' owner there are, and what each is.
type SweepReport struct {
	ControlPlane string        `json:"controlPlane"`
	Owner        string        `json:"owner" doc:"The user name of the owner."`
	LookedAt     time.Time     `json:"lookedAt"`
	Workspaces   []SweepResult `json:"workspaces"`
}

// SweepResult is a live workspace that has a test's name.
type SweepResult struct {
	ID       uuid.UUID     `json:"id"`
	Name     string        `json:"name"`
	Template string        `json:"template"`
	Verdict  sweep.Verdict `json:"verdict" enum:"claimed,retained,proven,unsure,foreign" doc:"What it is."`
	Why      string        `json:"why" doc:"What the verdict rests on."`
	Test     uuid.UUID     `json:"test,omitzero" doc:"The test that knows it."`
	// AgeHours and RanHours have one decimal.
	AgeHours float64 `json:"ageHours" doc:"How long ago it was made, in hours."`
	RanHours float64 `json:"ranHours" doc:"How long it has run, all in all, in hours."`
}

// Sweep looks at the workspaces of a control plane's owner. It deletes nothing.
func (s *Service) Sweep(ctx context.Context, name string, olderThan time.Duration) (SweepReport, error) {
	if olderThan < 0 {
		return SweepReport{}, badField("olderThan", "must not be negative")
	}
	coder, plane, err := s.dial(ctx, name, access.Admin)
	if err != nil {
		return SweepReport{}, err
	}
	look := sweep.Sweep{Coder: coder, Records: s.Store.List, Owner: plane.Policy.Owner(), Policy: plane.Policy, OlderThan: olderThan}
	view, err := look.Look(ctx)
	var failure *core.Failure
	switch {
	case errors.Is(err, sweep.ErrMayNotRead):
		return SweepReport{}, &Error{Kind: Unavailable, Message: err.Error() + "; give the operator user the right to read them"}
	case errors.As(err, &failure):
		return SweepReport{}, coderSays(err)
	case err != nil:
		return SweepReport{}, err
	}
	report := SweepReport{ControlPlane: name, Owner: view.Owner.Username, LookedAt: view.Deployment.ServerTime.UTC(), Workspaces: []SweepResult{}}
	for _, found := range view.Findings {
		w := &found.Workspace
		report.Workspaces = append(report.Workspaces, SweepResult{
			ID: w.ID, Name: w.Name, Template: w.OrganizationName + "." + w.TemplateName, Verdict: found.Verdict, Why: found.Why,
			Test: found.Test, AgeHours: hours(found.Age), RanHours: hours(found.Ran),
		})
	}
	return report, nil
}

func hours(d time.Duration) float64 { return d.Round(6 * time.Minute).Hours() }
