package scenario

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/core/lifecycle"
	"github.com/assay-dev/assay/fakes/clock"
	"github.com/assay-dev/assay/fakes/planes"
	"github.com/assay-dev/assay/fakes/store"
	"github.com/assay-dev/assay/fakes/world"
	"github.com/assay-dev/assay/ports"
)

// The fixed points of every scenario.
var (
	// Start is when each story begins.
	Start = time.Date(2026, time.January, 5, 9, 0, 0, 0, time.UTC)
	// TestID is the ID of the test.
	TestID = uuid.MustParse("7e57ab1e-0000-4000-8000-000000000001")
)

// Bounds of a story that does not end by itself.
const (
	maxSteps    = 5000
	defaultTime = 3 * time.Hour
)

// Result is what a scenario came to.
type Result struct {
	Trail []string
	// Record is the test's record as it was stored last; it may be gone by now.
	Record core.Record
	// Steps counts the engine's steps.
	Steps int
	World *world.World
}

// Run tells the story of a script on the bare engine.
func Run(script *Script) (*Result, error) { return RunWith(script, Options{}) }

// RunWith tells the story of a script as Run does, with somebody looking on and
// interfering.
func RunWith(script *Script, options Options) (*Result, error) {
	r, err := newRun(script, options)
	if err != nil {
		return nil, err
	}
	if options.Front != nil {
		err = r.playThrough(options.Front)
	} else {
		err = r.play()
	}
	if err == nil && options.Settle > 0 {
		err = r.settle()
	}
	if err != nil {
		return nil, fmt.Errorf("at %s: %w", formatTime(r.clock.Now().Sub(Start)), err)
	}
	return &Result{Trail: r.trail.lines, Record: r.last, Steps: r.steps, World: r.world}, nil
}

// run is a story on its way.
type run struct {
	script  *Script
	options Options
	clock   *clock.Clock
	world   *world.World
	stage   *stage
	store   *store.Store
	records Records
	planes  Planes
	plane   core.ControlPlane
	faults  *faultPlan
	trail   *trail
	engine  *lifecycle.Engine
	random  *rand.ChaCha8

	spec  core.Spec
	test  uuid.UUID
	last  core.Record
	steps int
	// holdRemoved tells that somebody removed the hold by hand.
	holdRemoved bool
	// changed is when the record last changed; settling tells that the story is over.
	changed  time.Duration
	settling bool
	// todo are the statements of "at" that are still to come, in order.
	todo []statement
	end  time.Duration
	// passing: the time passes, and no step is under way. See noted.WatchWorkspace.
	passing atomic.Bool
}

func newRun(script *Script, options Options) (*run, error) {
	r := &run{script: script, options: options, clock: clock.New(Start), test: TestID, end: defaultTime}
	r.world = world.New(r.clock)
	r.store, r.planes = store.New(r.clock), planes.New()
	r.records = r.store
	if options.Front != nil {
		r.records, r.planes = options.Front.Records(), options.Front.Planes()
	}
	r.random = rand.NewChaCha8([32]byte{'a', 's', 's', 'a', 'y'})
	var err error
	if r.stage, err = set(r.world, script); err != nil {
		return nil, err
	}
	r.trail = &trail{start: Start, now: r.clock.Now, stage: r.stage}
	if err := r.setPlane(); err != nil {
		return nil, err
	}
	if err := r.setTest(); err != nil {
		return nil, err
	}
	if r.faults, err = newFaultPlan(r, script.of("fault")); err != nil {
		return nil, err
	}
	r.todo = script.of("at")
	slices.SortStableFunc(r.todo, func(a, b statement) int { return int(a.at - b.at) })
	for _, st := range script.of("until") {
		if r.end, err = parseTime(st.words[0]); err != nil {
			return nil, st.errorf("%v", err)
		}
	}
	if options.Front != nil {
		r.end += atOnce
	}
	if options.Begin != nil {
		options.Begin(&Story{run: r})
	}
	return r, r.startEngine()
}

// startEngine starts an engine that remembers nothing, as after a crash.
func (r *run) startEngine() error {
	var err error
	if r.engine, err = r.newEngine(r.faults); err == nil && r.options.Front != nil {
		err = r.options.Front.Start(r.engine)
	}
	return err
}

// newEngine makes an engine that meets the faults of the plan.
func (r *run) newEngine(plan *faultPlan) (*lifecycle.Engine, error) {
	var inner ports.WorkspaceStore = r.records
	if r.options.Store != nil {
		inner = r.options.Store(inner)
	}
	config := lifecycle.Config{
		Store: plan.injector.Store(inner), ControlPlanes: plan.injector.ControlPlanes(r.planes), Dial: plan.dial,
		Clock: r.clock, Random: r.random, Sink: plan.injector.Sink(&tellBoth{r.trail, r.options.Sink}), Logger: r.options.Logger,
	}
	// What a story tells of polls must not depend on how a front end hears of changes.
	config.Options.HeardPoll = config.Options.WithDefaults().RunningPoll
	if r.options.Evidence != nil {
		config.Evidence = plan.injector.Evidence(r.options.Evidence)
	}
	return lifecycle.New(config)
}

// play does a step whenever one is due, until nothing is left to happen.
func (r *run) play() error {
	for range maxSteps {
		next, err := r.step()
		if err != nil {
			return err
		}
		r.look()
		if next.Done && len(r.todo) == 0 {
			r.trail.add(" ", r.ending())
			return nil
		}
		if next.Done {
			next.After = r.end
		}
		if over, err := r.sleep(next); err != nil {
			return err
		} else if over {
			r.trail.add(" ", r.ending())
			return nil
		}
	}
	return fmt.Errorf("no end after %d steps", maxSteps)
}

// look reads the record as it is stored now.
func (r *run) look() {
	if record, err := r.record(); err == nil {
		if record.Revision != r.last.Revision {
			r.changed = r.clock.Monotonic()
		}
		r.last = record
	}
}

// step does one step; a crash loses the engine, and a new one starts.
func (r *run) step() (lifecycle.Next, error) {
	r.steps++
	next, err := r.faults.guard(func() (lifecycle.Next, error) {
		return r.stepOf(r.engine)
	})
	if errors.Is(err, errCrashed) {
		return lifecycle.Next{}, r.crashed()
	}
	if err != nil && r.faults.injected(err) {
		return lifecycle.Next{After: time.Second}, nil
	}
	return next, err
}

func (r *run) crashed() error {
	r.trail.people("the engine crashes and starts again")
	return r.startEngine()
}

// stepOf does one step of an engine.
func (r *run) stepOf(engine *lifecycle.Engine) (lifecycle.Next, error) {
	step := func() (lifecycle.Next, error) { return engine.Step(context.Background(), r.test, nil) }
	if r.options.Step != nil {
		return r.options.Step(step)
	}
	return step()
}

// sleep lets time pass until the engine wants to look again, something happens to
// the workspace that it watches, or people do something; true when the story is
// over.
func (r *run) sleep(next lifecycle.Next) (over bool, err error) {
	until := r.until(next)
	if r.over(until) {
		return true, nil
	}
	return false, r.pass(until - r.clock.Monotonic())
}

// until is when the bare engine does its next step.
func (r *run) until(next lifecycle.Next) time.Duration {
	elapsed := r.clock.Monotonic()
	until := elapsed + next.After
	if next.Watch != uuid.Nil {
		if event, ok := r.world.NextEvent(); ok {
			until = min(until, elapsed+max(0, event.Sub(r.clock.Now())))
		}
	}
	if len(r.todo) > 0 && r.todo[0].at <= until {
		until = max(elapsed, r.todo[0].at)
	}
	return until
}

// over tells whether the story ends before the step at this time.
func (r *run) over(until time.Duration) bool {
	if until > r.end || lifecycle.AtRest(r.last) && len(r.todo) == 0 && len(r.script.of("until")) == 0 {
		return true
	}
	return r.settling && r.last.Status.Phase.Final() && r.clock.Monotonic()-r.changed > settled
}

// pass lets time pass, and people do what they do then.
func (r *run) pass(d time.Duration) error {
	r.clock.Advance(d)
	r.world.Settle()
	for len(r.todo) > 0 && r.todo[0].at <= r.clock.Monotonic() {
		st := r.todo[0]
		r.todo = r.todo[1:]
		r.trail.people(st.rest(0))
		if err := r.people(st); err != nil && !r.options.Lenient {
			return st.errorf("%v", err)
		} else if err != nil {
			r.trail.people("in vain: " + err.Error())
		}
		if r.options.Front != nil && st.inCoder() {
			r.options.Front.Wake()
		}
	}
	return nil
}

// ending says how the story ends.
func (r *run) ending() string {
	record, err := r.record()
	switch {
	case err != nil:
		return "the record is gone"
	case lifecycle.AtRest(record):
		return "rests: " + string(record.Status.Condition(core.ConditionWorkspaceDeleted).Reason)
	case record.Held:
		return "goes on"
	default:
		return "done"
	}
}

func (r *run) record() (core.Record, error) {
	return r.records.Load(context.Background(), r.test, ports.Live)
}

// connection is what the control plane has when it is usable.
func (r *run) connection() core.Connection {
	return core.Connection{
		URL:   "https://coder.example.com",
		Token: core.NewSecret(r.world.MintToken(r.stage.users["operator"])),
	}
}

func (r *run) setPlane() error {
	r.plane = core.ControlPlane{
		Ref: "main", State: core.ControlPlaneUsable, Connection: r.connection(),
		Policy: core.Policy{OwnerUserID: r.stage.users["tester"].String()},
	}
	put := true
	for _, st := range r.script.of("plane") {
		for _, word := range st.words {
			switch word {
			case "owner=none":
				r.plane.Policy.OwnerUserID = ""
			case "owner=text":
				r.plane.Policy.OwnerUserID = "tester"
			case "owner=nobody":
				r.plane.Policy.OwnerUserID = "00000000-0000-4000-8000-00000000dead"
			case "allow-retain":
				r.plane.Policy.AllowRetain = true
			case "allow-privileged-owner":
				r.plane.Policy.AllowPrivilegedOwner = true
			case "allow-personal-owner":
				r.plane.Policy.AllowPersonalOwner = true
			case "no-access":
				r.plane.State = core.ControlPlaneNoAccess
			case "unready":
				r.plane.State = core.ControlPlaneUnready
			case "absent":
				put = false
			default:
				return st.errorf("unknown word %q", word)
			}
		}
	}
	if put {
		r.planes.Put(r.plane)
	}
	return nil
}

// onPlane changes the control plane.
func (r *run) onPlane(st statement) error {
	switch st.rest(1) {
	case "gone":
		r.planes.Remove(r.plane.Ref)
		return nil
	case "back":
		r.plane.State = core.ControlPlaneUsable
	case "unready":
		r.plane.State = core.ControlPlaneUnready
	case "no-access":
		r.plane.State = core.ControlPlaneNoAccess
	case "leaves":
		r.plane.State = core.ControlPlaneLeaving
	case "rotates":
		r.plane.Connection = r.connection()
	case "allows retain":
		r.plane.Policy.AllowRetain = true
	case "forbids retain":
		r.plane.Policy.AllowRetain = false
	default:
		return st.errorf("unknown")
	}
	r.planes.Put(r.plane)
	return nil
}

// setTest stores the record of the test.
func (r *run) setTest() error {
	r.spec.ControlPlaneRef = r.plane.Ref
	policy := ""
	for _, st := range r.script.of("test") {
		for _, word := range st.words {
			name, value, ok := strings.Cut(word, "=")
			if !ok {
				return st.errorf("%q is no NAME=VALUE", word)
			}
			if name == "policy" {
				policy = value
				continue
			}
			if err := r.setSpec(name, value); err != nil {
				return st.errorf("%v", err)
			}
		}
	}
	r.spec = r.spec.WithDefaults()
	if err := r.spec.Validate(); err != nil {
		return fmt.Errorf("the test's spec: %w", err)
	}
	_, err := r.records.Create(context.Background(), core.Record{
		ID: r.test, Generation: 1, CreatedAt: Start, Spec: r.spec, DeletionPolicy: policy,
	})
	return err
}

func (r *run) setSpec(name, value string) error {
	seconds := func() (int, error) {
		d, err := time.ParseDuration(value)
		return int(d / time.Second), err
	}
	var err error
	switch {
	case name == "template":
		r.spec.Template = value
	case name == "version" && value == "active":
		r.spec.Version.Active = true
	case name == "version" && strings.HasPrefix(value, "id:"):
		r.spec.Version.ID = r.stage.versions[value[3:]].String()
	case name == "version":
		r.spec.Version.Name = value
	case name == "timeout":
		r.spec.TimeoutSeconds, err = seconds()
	case name == "inputs-timeout":
		r.spec.InputsTimeoutSeconds, err = seconds()
	case name == "ttl":
		var ttl int
		ttl, err = seconds()
		r.spec.TTLSecondsAfterFinished = &ttl
	case name == "preset":
		r.spec.Preset = value
	case strings.HasPrefix(name, "param."):
		r.spec.Parameters = append(r.spec.Parameters, core.Parameter{Name: name[6:], Value: value})
	default:
		err = fmt.Errorf("unknown field %q", name)
	}
	return err
}
