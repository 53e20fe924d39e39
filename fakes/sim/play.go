package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/core/lifecycle"
	"github.com/assay-dev/assay/fakes/clock"
	"github.com/assay-dev/assay/fakes/faults"
	"github.com/assay-dev/assay/fakes/planes"
	"github.com/assay-dev/assay/fakes/runner"
	"github.com/assay-dev/assay/fakes/world"
	"github.com/assay-dev/assay/ports"
)

// Bounds of a run.
const (
	maxSteps = 4000
	// spins is how many steps may follow each other at once: a record that cached reads
	// do not show yet conflicts until they do. A driver would slow that down.
	spins = 8
	// settleLimit is how long the world may take to settle.
	settleLimit = 6 * time.Hour
)

// Mutant breaks the engine's ports on purpose, to see whether the invariants notice. Each
// wrapper sits between an engine and everything else.
type Mutant struct {
	Name  string
	Store func(ports.WorkspaceStore) ports.WorkspaceStore
	Coder func(ports.CodeRunner) ports.CodeRunner
	// Options replace the engines' timings.
	Options *lifecycle.Options
}

// Outcome is what became of a run.
type Outcome struct {
	Violations []Violation
	// Trail says what happened; it is only written when asked for.
	Trail []string
	// What there was of each.
	Steps, Requests, Faults, Crashes int
	// Reasons counts how tests ended: the last reason, and that of WorkspaceDeleted.
	Reasons map[string]int
	// Excused counts the tests to which something happened that is not promised to be
	// survived, by what it was.
	Excused map[string]int
}

// Play runs a plan. A mutant is nil but in tests of the invariants themselves.
func Play(plan *Plan, withTrail bool, mutant *Mutant) *Outcome {
	s := newSimulation(plan, mutant)
	if withTrail {
		s.trail = &[]string{}
		s.recorder.note = s.line
	}
	s.play()
	outcome := &s.outcome
	outcome.Violations = append(outcome.Violations, Judge(&s.history)...)
	outcome.Steps = len(s.history.Steps)
	outcome.Reasons, outcome.Excused = map[string]int{}, map[string]int{}
	for _, why := range s.history.Excused {
		outcome.Excused[why]++
	}
	for i := range s.history.Steps {
		outcome.Requests += s.history.Steps[i].Calls
	}
	for i := range s.history.Ends {
		st := &s.history.Ends[i].Record.Status
		outcome.Reasons[string(st.Reason)+" "+string(st.Condition(core.ConditionWorkspaceDeleted).Reason)]++
	}
	if s.trail != nil {
		outcome.Trail = *s.trail
	}
	return outcome
}

// simulation is a run on its way. One goroutine does everything.
type simulation struct {
	plan     *Plan
	mutant   *Mutant
	clock    *clock.Clock
	world    *world.World
	stage    *stage
	records  *records
	planes   *planes.Planes
	token    core.Secret
	injector *faults.Injector
	random   *rand.Rand
	history  History
	recorder *recorder
	outcome  Outcome
	trail    *[]string

	engines [2]*lifecycle.Engine
	// direct reads workspaces as a stream would deliver them.
	direct ports.CodeRunner
	tests  []*testRun

	todo []Event
	// armed are faults that wait for their call; windows what lasts.
	armed   []Event
	windows []window
	calm    bool
}

// testRun is a test on its way.
type testRun struct {
	number int
	id     uuid.UUID
	// due is when each engine wants to look again; never while the test is at rest.
	due   [2]time.Duration
	watch uuid.UUID
	// shown are the workspaces that its stream delivered last.
	shown   []core.Workspace
	arrived bool
	// changed is when the record last changed.
	changed  time.Duration
	revision string
	// atOnce counts the steps in a row that wanted the next one at once.
	atOnce int
}

// never is later than every run.
const never = time.Duration(1<<62 - 1)

// window is something that lasts.
type window struct {
	event Event
	until time.Duration
	end   func()
}

func newSimulation(plan *Plan, mutant *Mutant) *simulation {
	if mutant == nil {
		mutant = &Mutant{}
	}
	c := clock.New(start)
	s := &simulation{
		plan: plan, mutant: mutant, clock: c, world: world.New(c, world.Seed(uint16(plan.Seed))),
		planes: planes.New(), random: rand.New(rand.NewPCG(plan.Seed, 0x5eed)), todo: plan.Events,
	}
	s.stage = set(s.world, plan)
	s.records = &records{clock: c, rows: map[uuid.UUID]*core.Record{}}
	s.recorder = newRecorder(&s.history, c, s.world, s.plane)
	s.recorder.settleWindow = plan.timings().SettleWindow
	s.records.changed = s.recorder.changed
	s.history.Secrets = append(s.history.Secrets, canary)
	s.injector = faults.New(c, s.hook)
	s.putPlane()
	s.direct = runner.New(s.world, s.stage.operator)
	for i := range s.engines {
		s.startEngine(i)
	}
	for i := range plan.Tests {
		if !plan.Tests[i].Dropped {
			s.tests = append(s.tests, &testRun{number: i, id: testID(plan.Seed, i), due: [2]time.Duration{never, never}})
		}
	}
	return s
}

func (s *simulation) plane() core.ControlPlane {
	plane, _ := s.planes.ControlPlane(context.Background(), planeRef, ports.Live)
	return plane
}

// putPlane makes the control plane as it is at the start, with a token of its own.
func (s *simulation) putPlane() {
	s.renewToken(s.stage.operator)
	s.planes.Put(core.ControlPlane{
		Ref: planeRef, State: core.ControlPlaneUsable, Policy: s.stage.policy(),
		Connection: core.Connection{URL: deploymentURL, Token: s.token},
	})
}

// renewToken makes a session token for the control plane.
func (s *simulation) renewToken(user uuid.UUID) {
	token := s.world.MintToken(user)
	s.history.Secrets = append(s.history.Secrets, token)
	s.token = core.NewSecret(token)
}

// play lets everything go wrong, then settles the world, in both deployments, and looks
// at what is left.
func (s *simulation) play() {
	s.until(faultPhase)
	s.settle()
	s.until(s.clock.Monotonic() + settleLimit)
	rest := s.judgeEnds(s.tests)
	if len(rest) == 0 {
		return
	}
	s.world.People(uuid.Nil).SwapDeployment()
	s.line(uuid.Nil, "*", "the other deployment answers, to the end")
	s.tests = rest
	s.wakeAll()
	s.until(s.clock.Monotonic() + settleLimit)
	s.judgeEnds(rest)
}

// until lets time pass until the moment, or until nothing is left to happen.
func (s *simulation) until(end time.Duration) {
	for range maxSteps {
		now := s.clock.Monotonic()
		next, worldEvent := s.next(now)
		if s.calm && s.atRest(now) || next >= end {
			s.clock.Advance(min(next, end) - now)
			return
		}
		s.clock.Advance(max(0, next-now))
		s.world.Settle()
		if worldEvent {
			s.wakeWatchers()
		}
		s.happenings()
		for _, t := range s.tests {
			for i := range s.engines {
				if t.due[i] <= s.clock.Monotonic() {
					s.step(i, t)
				}
			}
		}
	}
	s.outcome.Violations = append(s.outcome.Violations, Violation{Check: "no end", What: fmt.Sprintf("no end after %d rounds", maxSteps)})
}

// next is when something happens next, and whether it is the world that changes then.
func (s *simulation) next(now time.Duration) (at time.Duration, worldEvent bool) {
	at = never
	watching := false
	for _, t := range s.tests {
		at = min(at, t.due[0], t.due[1])
		watching = watching || t.watch != uuid.Nil
		if !t.arrived {
			at = min(at, s.plan.Tests[t.number].Arrives)
		}
	}
	if !s.calm && len(s.todo) > 0 {
		at = min(at, s.todo[0].At)
	}
	for i := range s.windows {
		at = min(at, s.windows[i].until)
	}
	if watching {
		if event, ok := s.world.NextEvent(); ok {
			if due := now + event.Sub(s.clock.Now()); due <= at {
				at, worldEvent = due, true
			}
		}
	}
	return at, worldEvent
}

// wakeWatchers has streams deliver that something changed; now and then one misses it.
func (s *simulation) wakeWatchers() {
	for _, t := range s.tests {
		if t.watch != uuid.Nil && (s.calm || s.random.IntN(6) > 0) {
			t.due[0] = min(t.due[0], s.clock.Monotonic())
		}
	}
}

func (s *simulation) wakeAll() {
	for _, t := range s.tests {
		t.due[0], t.changed = s.clock.Monotonic(), s.clock.Monotonic()
	}
}
