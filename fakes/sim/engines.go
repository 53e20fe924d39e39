package sim

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/core/lifecycle"
	"github.com/assay-dev/assay/fakes/faults"
	"github.com/assay-dev/assay/fakes/runner"
	"github.com/assay-dev/assay/fakes/scenario"
	"github.com/assay-dev/assay/fakes/sink"
	"github.com/assay-dev/assay/ports"
)

// startEngine starts an engine that remembers nothing.
func (s *simulation) startEngine(i int) {
	store := s.injector.Store(s.recorder.store(s.records))
	if s.mutant.Store != nil {
		store = s.mutant.Store(store)
	}
	timings := s.plan.timings()
	if s.mutant.Options != nil {
		timings = *s.mutant.Options
	}
	config := lifecycle.Config{
		Store: store, ControlPlanes: s.injector.ControlPlanes(s.planes), Dial: s.dial, Clock: s.clock, Random: randomBytes{s.random},
		Sink: s.injector.Sink(sinkFunc(s.transition)), Logger: slog.New(&logs{recorder: s.recorder}), Options: timings,
	}
	if s.plan.Evidence {
		config.Evidence = s.injector.Evidence(sink.NewEvidence(nil))
	}
	engine, err := lifecycle.New(config)
	if err != nil {
		panic(err) // nothing that a seed decides
	}
	s.engines[i] = engine
}

func (s *simulation) dial(connection core.Connection) (ports.CodeRunner, error) {
	inner := s.recorder.beneath(runner.WithToken(s.world, connection.Token))
	outer := s.recorder.above(s.injector.CodeRunner(inner))
	if s.mutant.Coder != nil {
		outer = s.mutant.Coder(outer)
	}
	return outer, nil
}

// randomBytes is a source of random bytes.
type randomBytes struct{ *rand.Rand }

func (r randomBytes) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(r.Uint32())
	}
	return len(p), nil
}

// sinkFunc is a ports.StatusSink.
type sinkFunc func(core.StoredTransition)

// Transition implements ports.StatusSink.
func (f sinkFunc) Transition(transition core.StoredTransition) { f(transition) }

func (s *simulation) transition(tr core.StoredTransition) {
	if s.trail == nil {
		return
	}
	for _, line := range scenario.Lines(tr) {
		s.line(tr.After.ID, " ", line)
	}
}

// line writes a line of the trail.
func (s *simulation) line(test uuid.UUID, mark, text string) {
	if s.trail == nil {
		return
	}
	who := "   "
	for _, t := range s.tests {
		if t.id == test {
			who = fmt.Sprintf("#%d ", t.number)
		}
	}
	*s.trail = append(*s.trail, fmt.Sprintf("%s %s %s%s", clockTime(s.clock.Monotonic()), mark, who, text))
}

// eventLine writes an event into the trail, if there is one.
func (s *simulation) eventLine(test uuid.UUID, e Event) {
	if s.trail != nil {
		s.line(test, "*", e.String())
	}
}

// step has an engine do a step of a test.
func (s *simulation) step(engine int, t *testRun) {
	seen := s.delivered(engine, t)
	next, err := s.guarded(engine, t.id, seen)
	now := s.clock.Monotonic()
	if row := s.records.rows[t.id]; row != nil && row.Revision != t.revision {
		t.revision, t.changed = row.Revision, now
	}
	if t.atOnce++; next.After > 0 || err != nil {
		t.atOnce = 0
	}
	switch {
	case err != nil, t.atOnce > spins:
		t.due[engine], t.atOnce = now+time.Second, 0
	case next.Done:
		t.due[engine] = never
	default:
		t.due[engine] = now + next.After
		if seen != nil {
			// A stream that brought something is relied on, and brings what it brings.
			t.due[engine] = now + max(next.After, next.Heard)
		}
	}
	if engine == 0 {
		t.watch = next.Watch
		if err != nil || next.Done {
			t.watch = uuid.Nil
		}
	}
}

// remembered is how many events a stream can deliver once more, or late.
const remembered = 4

// delivered is what a stream hands to a step: mostly nothing, sometimes the workspace as
// it is, and now and then an event that it delivered before or that a later one overtook.
func (s *simulation) delivered(engine int, t *testRun) *core.Workspace {
	if t.watch == uuid.Nil || engine != 0 || s.random.IntN(3) > 0 {
		return nil
	}
	if n := len(t.shown); n > 0 && s.random.IntN(4) == 0 {
		return &t.shown[s.random.IntN(n)]
	}
	workspace, err := s.direct.Workspace(context.Background(), t.watch)
	if err != nil {
		return nil
	}
	t.shown = append(t.shown[max(0, len(t.shown)-remembered+1):len(t.shown):len(t.shown)], workspace)
	return &workspace
}

// guarded does a step; a crash loses the engine, and a new one starts.
func (s *simulation) guarded(engine int, test uuid.UUID, seen *core.Workspace) (next lifecycle.Next, err error) {
	defer func() {
		switch crash := recover().(type) {
		case nil:
		case faults.Crash:
			s.outcome.Crashes++
			s.line(test, "*", "engine "+fmt.Sprint(engine)+" crashes: "+crash.Call.Op)
			s.startEngine(engine)
			next, err = lifecycle.Next{}, nil
		default:
			panic(crash)
		}
	}()
	return s.recorder.step(test, func() (lifecycle.Next, error) {
		return s.engines[engine].Step(context.Background(), test, seen)
	})
}
