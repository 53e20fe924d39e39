package page

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/adapters/report"
	"github.com/assay-dev/assay/apps/http/service"
	"github.com/assay-dev/assay/core"
)

// view is a test as a page shows it.
type view struct {
	service.Test
	// Standing is a class of the style: well, failed, error, running or aside.
	Standing string
	// Word says the standing, with Sign before it, so that nobody has to see the difference of two colors.
	Word, Sign string
	Title      string
	Age        string
	Steps      []step
	// MayStop and MayRetain: what can be asked of it now.
	MayStop, MayRetain, MayRelease bool
}

// step is a part of a test, as a piece of its bar.
type step struct {
	Name string
	// X is where it begins in the bar.
	X int
	// Class is done, now, broken or ahead.
	Class string
}

// stepWidth is the width of a step in a bar.
const stepWidth = 18

func (p *Pages) view(test *service.Test) view {
	v := view{Test: *test, Title: firstOf(test.Case, test.Template), Age: age(p.Clock.Now().Sub(test.Timings.CreatedAt))}
	v.Standing, v.Word, v.Sign = standing(test)
	v.Steps = steps(test)
	final := test.Phase.Final()
	v.MayStop = test.DeletionRequestedAt.IsZero()
	v.MayRetain = !(final && test.Finished) && test.DeletionPolicy != core.DeletionPolicyRetain
	v.MayRelease = test.DeletionPolicy == core.DeletionPolicyRetain
	return v
}

// shown are the stages of a test's bar.
var shown = []core.Stage{core.StageInputs, core.StageCreate, core.StageBuild, core.StageAgents, core.StageDelete}

// steps is how far a test came, or where it broke.
func steps(test *service.Test) (steps []step) {
	at, class := reached(test)
	for i, stage := range shown {
		one := step{Name: stage.String(), X: i * stepWidth, Class: "ahead"}
		switch {
		case stage < at:
			one.Class = "done"
		case stage == at:
			one.Class = class
		}
		steps = append(steps, one)
	}
	return steps
}

// reached is the stage that a test is in, or in which it failed. A record says the second
// by its reason.
func reached(test *service.Test) (at core.Stage, class string) {
	stage, _ := core.ParseStage(test.Stage)
	if test.Phase != core.PhaseFailed {
		return stage, "now"
	}
	reason := test.Reason
	if reason == core.ReasonDeadlineExceeded {
		reason = test.LastWaitReason
	}
	switch {
	case reason == core.ReasonDeleteBuildFailed:
		at = core.StageDelete
	case reason == core.ReasonNoAgents, reason == core.ReasonWaitingForAgents, strings.HasPrefix(string(reason), "Agent"):
		at = core.StageAgents
	case test.Workspace.ID != uuid.Nil:
		at = core.StageBuild
	case strings.Contains(string(reason), "Create"):
		at = core.StageCreate
	}
	return at, "broken"
}

func standing(test *service.Test) (class, word, sign string) {
	switch {
	case test.Verdict == report.Passed:
		return "well", "passed", "✓"
	case test.Verdict == report.Failed:
		return "failed", "failed", "✗"
	case test.Verdict == report.Inconclusive:
		return "error", "inconclusive", "?"
	case !test.DeletionRequestedAt.IsZero():
		return "aside", "stopping", "■"
	case test.Phase == core.PhaseRunning:
		return "running", "running", "▶"
	default:
		return "running", "waiting", "…"
	}
}

// Bars are the stages of a test as bars of one scale.
func (v view) Bars() []bar {
	total := 0.0
	for _, stage := range v.Stages {
		total += stage.Seconds
	}
	var bars []bar
	from := 0.0
	for _, stage := range v.Stages {
		one := bar{Name: stage.Name, Seconds: seconds(stage.Seconds), Class: "work"}
		if total > 0 {
			one.X, one.Width = 100*from/total, max(100*stage.Seconds/total, 0.5)
		}
		if stage.Name == core.StageCleanup.String() || stage.Name == core.StageDelete.String() {
			one.Class = "ending"
		}
		from += stage.Seconds
		bars = append(bars, one)
	}
	return bars
}

// seconds is a time with three digits that count.
func seconds(s float64) string {
	switch {
	case s < 10:
		return fmt.Sprintf("%.2f s", s)
	case s < 100:
		return fmt.Sprintf("%.1f s", s)
	default:
		return fmt.Sprintf("%.0f s", s)
	}
}

// bar is a stage of a test.
type bar struct {
	Name, Seconds, Class string
	// X and Width are percent of the whole test.
	X, Width float64
}

// age says how long ago something was, in the largest unit that fits.
func age(d time.Duration) string {
	for _, unit := range []struct {
		size time.Duration
		name string
	}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "min"}} {
		if d >= unit.size {
			return fmt.Sprintf("%d %s", d/unit.size, unit.name)
		}
	}
	return fmt.Sprintf("%d s", max(d, 0)/time.Second)
}

// words parts a reason where it may be broken: "Agent", "Start", "Error".
func words(reason any) []string {
	text := fmt.Sprint(reason)
	var parts []string
	from := 0
	for i, c := range text {
		if i > from && unicode.IsUpper(c) {
			parts = append(parts, text[from:i])
			from = i
		}
	}
	return append(parts, text[from:])
}

func firstOf(texts ...string) string {
	for _, text := range texts {
		if strings.TrimSpace(text) != "" {
			return text
		}
	}
	return ""
}
