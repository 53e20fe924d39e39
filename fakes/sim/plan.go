package sim

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/core/lifecycle"
	"github.com/assay-dev/assay/fakes/world"
)

// canary is part of every secret that a plan plants: parameter values, agents' names and
// whatever templates print.
const canary = "c4nary"

// brisk are the engines' timings in most runs: a shorter settle window and longer polls
// than the defaults, so that a run has fewer steps in which nothing happens.
var brisk = lifecycle.Options{
	SettleWindow: 4 * time.Minute, RunningPoll: 30 * time.Second, HeardPoll: 2 * time.Minute, InputsPoll: 30 * time.Second,
}

// A Plan is everything that a run depends on. It is made of a seed and can be cut down.
type Plan struct {
	Seed   uint64
	Tests  []TestPlan
	Events []Event
	// OwnWorkspaces tells that the operator user owns the tests' workspaces itself.
	OwnWorkspaces bool
	// OrganizationAdmin tells that the operator user is that and not a site owner.
	OrganizationAdmin bool
	// Classic and ForbidCancel are the template's.
	Classic, ForbidCancel bool
	// AllowRetain is the control plane's policy at the start.
	AllowRetain bool
	// Evidence tells that there is a sink for it.
	Evidence bool
	// DefaultTimings has the engines work with the timings that they have by default.
	DefaultTimings bool
}

// timings are the engines'.
func (p *Plan) timings() lifecycle.Options {
	if p.DefaultTimings {
		return lifecycle.Options{}.WithDefaults()
	}
	return brisk
}

// TestPlan is one test of a plan, with the template version that it tests.
type TestPlan struct {
	// Dropped tests do not happen; the others keep their numbers.
	Dropped                bool
	Arrives                time.Duration
	Timeout, InputsTimeout time.Duration
	// TTL is negative for none.
	TTL time.Duration
	// Policy is the deletion policy at the start.
	Policy string
	// Select is how the spec names the version: "name", "id" or "active".
	Select string
	// Prebuilt tells that the spec names a preset of which there is a prebuilt workspace.
	Prebuilt bool
	// Odd is what is the matter with what the spec asks for; empty for nothing.
	Odd     string
	Import  world.ImportPlan
	Start   world.BuildPlan
	Deletes []world.BuildPlan
	// Stubborn tells that no delete build ever succeeds.
	Stubborn bool
}

// What can be the matter with what a spec asks for.
const (
	oddParameter = "an unknown parameter"
	oddPreset    = "an unknown preset"
	oddVersion   = "an unknown version"
	oddTemplate  = "a version of another template"
	oddAuth      = "a version that wants an external account"
	oddAgent     = "a version with an external agent"
	oddSpelling  = "names in capitals"
)

// authProvider is where the external account is.
const authProvider = "github"

// faultPhase is how long things go wrong.
const faultPhase = 10 * time.Minute

// NewPlan makes the plan of a seed.
func NewPlan(seed uint64) *Plan {
	d := &dice{rand.New(rand.NewPCG(seed, 0xa55a))}
	p := &Plan{
		Seed: seed, OwnWorkspaces: d.oneIn(8), OrganizationAdmin: d.oneIn(8), Classic: d.oneIn(4),
		ForbidCancel: d.oneIn(6), AllowRetain: d.oneIn(4), Evidence: d.oneIn(4), DefaultTimings: d.oneIn(25),
	}
	for range d.pick(1, 1, 1, 1, 1, 1, 2, 2, 3, 5) {
		p.Tests = append(p.Tests, d.test())
	}
	for range d.pick(0, 1, 2, 3, 3, 4, 5, 8, 12) {
		p.Events = append(p.Events, d.event(p))
	}
	if d.oneIn(4) {
		p.Events = append(p.Events, d.conspiracy(p)...)
	}
	slices.SortStableFunc(p.Events, func(a, b Event) int { return cmp.Compare(a.At, b.At) })
	return p
}

// dice makes the choices of a plan.
type dice struct{ *rand.Rand }

func (d *dice) oneIn(n int) bool { return d.IntN(n) == 0 }

func (d *dice) pick(from ...int) int { return from[d.IntN(len(from))] }

// upTo is a duration in whole tenths of a second.
func (d *dice) upTo(limit time.Duration) time.Duration {
	return time.Duration(d.Int64N(int64(limit/(100*time.Millisecond))+1)) * 100 * time.Millisecond
}

// one picks a value.
func one[T any](d *dice, from ...T) T { return from[d.IntN(len(from))] }

func (d *dice) test() TestPlan {
	t := TestPlan{
		Arrives: one(d, 0, 0, d.upTo(time.Minute)),
		Timeout: one(d, time.Minute, time.Minute, 2*time.Minute, 5*time.Minute, 12*time.Minute),
		TTL:     one(d, -1, -1, 0, time.Minute),
		Policy:  one(d, "", "", "", "", "delete", "retain", "retain", "Retain"),
		Select:  one(d, "name", "name", "id", "active"),
	}
	if d.oneIn(6) {
		t.InputsTimeout = one(d, 10*time.Second, time.Minute)
	}
	if t.Prebuilt = d.oneIn(8); !t.Prebuilt && d.oneIn(10) {
		t.Odd = one(d, oddParameter, oddPreset, oddVersion, oddTemplate, oddAuth, oddAuth, oddAgent, oddSpelling)
	}
	if d.oneIn(8) {
		t.Import = world.ImportPlan{
			Run: d.upTo(40 * time.Second), Ends: one(d, core.JobSucceeded, core.JobSucceeded, core.JobFailed, core.JobCanceled),
			Error: canary + " import",
		}
	}
	t.Start = d.startBuild()
	for d.oneIn(3) {
		t.Deletes = append(t.Deletes, world.BuildPlan{
			Queue: d.upTo(2 * time.Second), Run: d.upTo(30 * time.Second), Outcome: one(d, world.Fails, world.Fails, world.Hangs), Error: canary + " delete",
		})
	}
	if t.Stubborn = len(t.Deletes) > 0 && d.oneIn(10); !t.Stubborn {
		t.Deletes = append(t.Deletes, world.BuildPlan{Queue: d.upTo(2 * time.Second), Run: d.upTo(20 * time.Second)})
	}
	return t
}

func (d *dice) startBuild() world.BuildPlan {
	build := world.BuildPlan{
		Queue: d.upTo(3 * time.Second), Run: d.upTo(25 * time.Second), Log: canary + " log", Error: canary + " apply",
		Cancel:     d.upTo(5 * time.Second),
		CanceledAs: one(d, world.CancelsCleanly, world.CancelsCleanly, world.CancelFails, world.CancelHangs),
	}
	switch d.IntN(16) {
	case 0:
		build.Outcome = world.Fails
		build.ErrorCode = one(d, "", "INSUFFICIENT_QUOTA")
	case 1:
		// One that nobody may cancel must end by itself: 15 minutes are longer than any
		// timeout here.
		build.Outcome = one(d, world.Hangs, world.Succeeds, world.NeverPickedUp)
		build.Run = 15 * time.Minute
	case 2:
		build.NoProvisioners = true
	}
	for range d.pick(0, 1, 1, 1, 1, 1, 2) {
		build.Agents = append(build.Agents, d.agent())
	}
	return build
}

func (d *dice) agent() world.AgentPlan {
	connects, script := d.upTo(5*time.Second), d.upTo(20*time.Second)
	name := canary + "-agent"
	switch d.IntN(11) {
	case 0:
		return world.FailingAgent(name, connects, script)
	case 4:
		slow := world.ReadyAgent(name, connects, script)
		slow.Steps[len(slow.Steps)-1].Lifecycle = core.AgentStartTimeout
		return slow
	case 1:
		return world.AbsentAgent(name, 30*time.Second)
	case 2:
		flaky := world.ReadyAgent(name, connects, script)
		flaky.Steps = append(flaky.Steps,
			world.AgentStep{After: connects + script/2, Status: core.AgentDisconnected},
			world.AgentStep{After: connects + script + 20*time.Second, Status: core.AgentConnected})
		return flaky
	case 3:
		dying := world.ReadyAgent(name, connects, script)
		dying.Steps = append(dying.Steps, world.AgentStep{After: connects + script/2, Lifecycle: core.AgentShuttingDown})
		return dying
	default:
		ready := world.ReadyAgent(name, connects, script)
		ready.Scripts = []world.ScriptLog{{DisplayName: "start", Text: canary + " output"}}
		return ready
	}
}

// String is the plan for a person.
func (p *Plan) String() string {
	text := fmt.Sprintf("seed %d: own-workspaces=%t organization-admin=%t classic=%t forbid-cancel=%t allow-retain=%t evidence=%t default-timings=%t\n",
		p.Seed, p.OwnWorkspaces, p.OrganizationAdmin, p.Classic, p.ForbidCancel, p.AllowRetain, p.Evidence, p.DefaultTimings)
	for i, t := range p.Tests {
		if t.Dropped {
			continue
		}
		text += fmt.Sprintf("  test %d: at %s, timeout %s, inputs %s, ttl %s, policy %q, version by %s, prebuilt %t, odd %q, stubborn %t\n",
			i, clockTime(t.Arrives), t.Timeout, t.InputsTimeout, t.TTL, t.Policy, t.Select, t.Prebuilt, t.Odd, t.Stubborn)
	}
	for _, e := range p.Events {
		text += "  " + clockTime(e.At) + " " + e.String() + "\n"
	}
	return text
}
