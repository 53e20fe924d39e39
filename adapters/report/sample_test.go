package report_test

import (
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/adapters/report"
	"github.com/assay-dev/assay/core"
)

var began = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// number is an ID that tells where it is from.
func number(kind, n int) uuid.UUID {
	return uuid.MustParse(fmt.Sprintf("%02x%06x-0000-4000-8000-000000000000", kind, n))
}

// ended is a test that ended so, with the usual stages.
func ended(n int, name string, verdict report.Verdict, class core.OutcomeClass, reason core.Reason, message string) report.Test {
	phase := core.PhaseFailed
	last := core.StageCleanup
	if verdict == report.Passed {
		phase, last = core.PhaseSucceeded, core.StageDelete
	}
	seconds, code := 54, 1
	return report.Test{
		ID: number(1, n), Case: name, Attempt: 1, Template: "acme.docker",
		Version: report.Version{Requested: "active", Name: "v2.1.0", ID: number(2, 1)},
		Verdict: verdict, Phase: phase, Reason: reason, Message: message, OutcomeClass: class,
		Workspace: report.Workspace{
			Name: core.WorkspaceName(number(1, n)), ID: number(3, n), State: report.WorkspaceDeleted,
			Reason: core.ReasonDeleted, Message: "the workspace is deleted",
		},
		Timings: report.Timings{
			CreatedAt: began, StartedAt: began, CompletedAt: began.Add(54 * time.Second), SecondsToResult: &seconds,
		},
		Stages: []report.Stage{
			{Name: core.StageInputs.String(), StartedAt: began, Seconds: 1.25},
			{Name: core.StageCreate.String(), StartedAt: began.Add(1250 * time.Millisecond), Seconds: 0.7},
			{Name: core.StageBuild.String(), StartedAt: began.Add(1950 * time.Millisecond), Seconds: 31},
			{Name: core.StageAgents.String(), StartedAt: began.Add(32950 * time.Millisecond), Seconds: 21},
			{Name: last.String(), StartedAt: began.Add(53950 * time.Millisecond), Seconds: 8.4},
		},
		CoderVersion: "v2.36.1", ExitCode: &code,
	}
}

func with(t report.Test, change func(t *report.Test)) report.Test {
	change(&t)
	return t
}

func expecting(class core.OutcomeClass, reason core.Reason, met bool) func(t *report.Test) {
	return func(t *report.Test) {
		t.Expected, t.Met = &report.Expectation{OutcomeClass: class, Reason: reason}, &met
	}
}

var scriptLog = core.Excerpt{Title: `script "Startup Script" of agent "dev"`, More: true, Lines: []string{
	"Cloning the repository ...", "Installing dependencies ...",
	"npm error 404 Not Found - GET left-pad-pro", "the startup script failed: exit status 1",
}}

var buildLog = core.Excerpt{Title: "build log", Lines: []string{
	"Initializing the backend...", "docker_container.workspace: Creating...",
	"Error: Unable to pull the image", "  on main.tf line 42, in resource \"docker_container\" \"workspace\":",
}}

// mixed is a run in which each kind of end occurs.
func mixed() report.Run {
	const (
		passed       = core.OutcomePassed
		failed       = core.OutcomeTemplateFailed
		inconclusive = core.OutcomeInconclusive
	)
	return report.Run{
		Name: "nightly", StartedAt: began, EndedAt: began.Add(4 * time.Minute), ExitCode: 4,
		Push: &report.Push{
			Template: "acme.docker", TemplateID: number(5, 1), Version: report.PushedVersion{Name: "v2.1.0", ID: number(2, 1)}, Message: "more memory",
			Import: "succeeded", ActiveBefore: report.PushedVersion{Name: "v2.0.0", ID: number(2, 0)}, CreatedAt: began,
		},
		Promotion: &report.Promotion{
			Template: "acme.docker", Version: report.PushedVersion{Name: "v2.1.0", ID: number(2, 1)}, Reason: "the test did not pass",
			Was: report.PushedVersion{Name: "v2.0.0"}, Now: report.PushedVersion{Name: "v2.0.0"},
		},
		Tests: []report.Test{
			ended(1, "", report.Passed, passed, core.ReasonSucceeded, "every agent was ready, and the workspace is deleted"),
			with(ended(2, "broken-build", report.Failed, failed, core.ReasonBuildFailed, "read the build log: the start build failed"), func(t *report.Test) {
				t.Logs = []core.Excerpt{buildLog}
				t.Stages = append(t.Stages[:3:3], report.Stage{Name: "cleanup", StartedAt: began.Add(33 * time.Second), Seconds: 6})
			}),
			with(ended(3, "broken-script", report.Failed, failed, core.ReasonAgentStartError, "read the startup script's log: it failed on agent "+number(4, 1).String()),
				func(t *report.Test) { t.Logs = []core.Excerpt{buildLog, scriptLog} }),
			with(ended(4, "slow", report.Failed, failed, core.ReasonDeadlineExceeded, "time was up after 15m0s, in WaitingForAgents"), func(t *report.Test) {
				t.LastWaitReason = core.ReasonWaitingForAgents
			}),
			with(ended(5, "no-quota", report.Inconclusive, inconclusive, core.ReasonBuildFailed, "raise the quota: the start build failed"), func(t *report.Test) {
				t.ErrorCode = "INSUFFICIENT_QUOTA"
			}),
			ended(6, "flaky", report.Inconclusive, inconclusive, core.ReasonWorkspaceChangedExternally, "somebody else stopped the workspace"),
			with(ended(7, "flaky", report.Passed, passed, core.ReasonSucceeded, "every agent was ready, and the workspace is deleted"), func(t *report.Test) {
				t.Attempt, t.RetryOf = 2, number(1, 6)
			}),
			with(ended(8, "leaking", report.Failed, failed, core.ReasonAgentConnectionTimeout, "an agent never connected"), func(t *report.Test) {
				t.LeakRisk = true
				t.Workspace.State, t.Workspace.Reason, t.Workspace.Message = report.WorkspaceExists, core.ReasonDeleteRetrying, "the delete build failed twice"
			}),
			with(ended(9, "interrupted", report.Interrupted, "", core.ReasonWaitingForBuild, "the start build is running"), func(t *report.Test) {
				t.Phase, t.Timings.SecondsToResult, t.Timings.CompletedAt = core.PhaseRunning, nil, time.Time{}
			}),
			with(ended(10, "stopped", report.Stopped, "", core.ReasonInitializing, "the test was accepted"), func(t *report.Test) {
				t.Phase, t.Timings.SecondsToResult, t.Stages = core.PhasePending, nil, nil
				t.Workspace = report.Workspace{Name: core.WorkspaceName(t.ID), State: report.WorkspaceNone}
			}),
			with(ended(11, "must-fail", report.Failed, failed, core.ReasonBuildFailed, "read the build log: the start build failed"),
				expecting(failed, core.ReasonBuildFailed, true)),
			with(ended(12, "must-fail-too", report.Passed, passed, core.ReasonSucceeded, "every agent was ready, and the workspace is deleted"),
				expecting(failed, "", false)),
			with(ended(13, "must-fail-but-who-knows", report.Inconclusive, inconclusive, core.ReasonControlPlaneGone, "the control plane is gone"),
				expecting("", core.ReasonBuildFailed, false)),
			{
				Case: "not-begun", Template: "acme.docker", Version: report.Version{Requested: "v3"}, Phase: core.PhasePending,
				Verdict: report.NotStarted, Message: "the run was stopping", Workspace: report.Workspace{State: report.WorkspaceNone},
				Expected: &report.Expectation{OutcomeClass: failed},
			},
			hostile(15),
		},
	}
}

// hostile has text that tries to break out of every format.
func hostile(n int) report.Test {
	const bad = "\x00\x1b[31m\uFFFE\uFFFF\xff]]></failure></script><img src=x onerror=alert(1)>&amp; | `x` **b** [l](http://x)\r\n::error::no%0A,:```\n# h\u202e"
	t := ended(n, bad, report.Failed, core.OutcomeTemplateFailed, core.ReasonAgentStartError, bad+strings.Repeat("long ", 2000))
	t.Version.Name, t.Preset, t.ErrorCode = "v1", bad, bad
	t.Workspace.Message, t.CoderVersion = bad, bad
	t.Logs = []core.Excerpt{
		{Title: bad, Lines: []string{bad, "```", "`````text", "</details>", "</pre>", "]]>", strings.Repeat("x", 5000)}},
		{Title: "endless", Lines: strings.Split(strings.Repeat("0123456789\n", 20000), "\n")},
		{Title: "empty"},
	}
	t.Stages = []report.Stage{{Name: bad, StartedAt: began, Seconds: -3}}
	return t
}

// allWell is a run of one test that passed.
func allWell() report.Run {
	t := ended(1, "", report.Passed, core.OutcomePassed, core.ReasonSucceeded, "every agent was ready, and the workspace is deleted")
	code := 0
	t.ExitCode = &code
	return report.Run{StartedAt: began, EndedAt: began.Add(time.Minute), Tests: []report.Test{t}}
}
