package lifecycle

import (
	"context"
	"errors"
	"testing"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/ports"
)

// TestNothingIsKeptOfATestThatIsOver: an engine runs for months.
func TestNothingIsKeptOfATestThatIsOver(t *testing.T) {
	over := func() Input {
		in := failed()
		in.Record.Held = false
		workspaceIs(core.ConditionTrue, core.ReasonDeleted)(&in)
		return in
	}
	for _, row := range []struct {
		why  string
		test uuid.UUID
	}{
		{"a record with nothing left to do", testID},
		{"a record that is gone", otherID},
	} {
		r := newRig(t, over())
		r.engine.limited[row.test], r.engine.evidenced[row.test], r.engine.moved[row.test] = 3, true, true
		r.engine.limited[thirdID], r.engine.evidenced[thirdID], r.engine.moved[thirdID] = 1, true, true
		next, err := r.engine.Step(t.Context(), row.test, nil)
		if err != nil || !next.Done {
			t.Fatalf("%s: %+v, %v", row.why, next, err)
		}
		for what, kept := range map[string]int{"limits": len(r.engine.limited), "evidence": len(r.engine.evidenced), "moves": len(r.engine.moved)} {
			if kept != 1 {
				t.Errorf("%s: %d tests have %s, want only the other one", row.why, kept, what)
			}
		}
	}
}

func TestARecordThatMovedIsLoadedLiveOnce(t *testing.T) {
	r := newRig(t, failed())
	r.engine.moved[testID] = true
	for _, want := range []string{"load live", "load cached"} {
		r.trail = nil
		r.step()
		if r.trail[0] != want {
			t.Errorf("%s, want %s", r.trail[0], want)
		}
	}
}

// TestAnEngineNeedsNeitherLoggerNorSink has something to log and to tell, and nobody to
// hear it.
func TestAnEngineNeedsNeitherLoggerNorSink(t *testing.T) {
	r := newRig(t, pending(), func(c *Config) { c.Logger, c.Sink = nil, nil })
	r.coder.during = map[string]func(){"> create": func() {
		if err := r.store.RequestDeletion(t.Context(), testID); err != nil {
			t.Fatal(err)
		}
		if _, err := r.store.Store.ReleaseHold(t.Context(), r.record()); err != nil {
			t.Fatal(err)
		}
	}}
	if next := r.step(); !next.Done {
		t.Errorf("next %+v", next)
	}
}

func TestAWorkspaceIsNotWatchedWithoutAConnection(t *testing.T) {
	r := newRig(t, awaiting(), func(c *Config) {
		c.Dial = func(core.Connection) (ports.CodeRunner, error) { return nil, errLost }
	})
	if err := r.engine.WatchWorkspace(context.Background(), "main", workspaceID, nil); !errors.Is(err, errLost) {
		t.Errorf("error %v", err)
	}
}

// A stream is of a workspace that the record knows. What one says that somebody else
// began to watch, or that is left from before a restart, proves nothing about a create.
func TestAStreamConfirmsNoCreate(t *testing.T) {
	r := newRig(t, marked())
	named := ours()
	r.coder.named = &named
	streamed := ours()
	streamed.Deleted = true
	r.step(streamed)
	r.did("load cached", "plane cached", "deployment", "operator", "find", "workspace", "builds", "save WaitingForBuild")
}
