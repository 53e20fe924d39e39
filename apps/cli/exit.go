package cli

import (
	"os"
	"slices"
	"syscall"

	"github.com/assay-dev/assay/core"
)

// Exit codes of assay.
const (
	exitPassed       = 0
	exitFailed       = 1
	exitUsage        = 2
	exitInconclusive = 3
	exitLeakRisk     = 4
	exitNotPromoted  = 5
	exitInterrupted  = 130
	exitTerminated   = 143
)

// exitHelp is the table that help texts show.
const exitHelp = `Exit codes:
  0    the version passed: every agent was connected and ready, the workspace is deleted
  1    the version failed: its build, its agents, its parameters
  2    usage: the flags or the test's description are wrong; nothing was started
  3    inconclusive: the environment or somebody else kept the version from being judged
  4    leak risk: the run ended and a workspace can still exist; its record is kept
  5    not promoted: the version was not made the active one, though it passed
  130  interrupted (SIGINT) before a verdict; no workspace is left
  143  terminated (SIGTERM) before a verdict; no workspace is left`

// exitOrder lists the codes from the worst to the best.
var exitOrder = []int{
	exitLeakRisk, exitInterrupted, exitTerminated, exitFailed, exitInconclusive, exitNotPromoted, exitUsage, exitPassed,
}

// worstExit is the code that stands for several.
func worstExit(codes ...int) int {
	return slices.MinFunc(codes, func(a, b int) int {
		return slices.Index(exitOrder, a) - slices.Index(exitOrder, b)
	})
}

// exitCode is the code of a run that ended with the record as it is. signal is the
// first one that asked the run to end, nil for none.
func exitCode(record *core.Record, signal os.Signal) int {
	code := classCode(record, signal)
	if record.MayLeak() {
		return worstExit(code, exitLeakRisk)
	}
	return code
}

// classCode is the code of the verdict, or of the signal that came before one.
func classCode(record *core.Record, signal os.Signal) int {
	switch {
	case record.Status.Phase.Final():
		switch record.Status.OutcomeClass {
		case core.OutcomePassed:
			return exitPassed
		case core.OutcomeTemplateFailed:
			return exitFailed
		default:
			return exitInconclusive
		}
	case signal == syscall.SIGTERM:
		return exitTerminated
	case signal != nil:
		return exitInterrupted
	default:
		// Somebody else stopped the test.
		return exitInconclusive
	}
}
