package lifecycle

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/assay-dev/assay/core"
)

// TestA429SlowsTheDeployment: what Coder answers one test counts for all of its tests.
func TestA429SlowsTheDeployment(t *testing.T) {
	limited := &core.Failure{Class: core.FailureRateLimited, Op: "read workspace", Status: 429, RetryAfter: time.Minute}
	asks := func(r *rig) []string {
		return slices.DeleteFunc(slices.Clone(r.trail), func(did string) bool {
			return strings.HasPrefix(did, "load") || strings.HasPrefix(did, "plane") || strings.HasPrefix(did, "save")
		})
	}
	r := newRig(t, awaiting())
	r.coder.fail = map[string]error{"workspace": limited}
	r.step()
	r.coder.fail = nil
	r.trail = nil
	next := r.step()
	if asked := asks(r); len(asked) != 0 {
		t.Errorf("before the minute is over Coder is asked %q", asked)
	}
	if next.After != time.Minute {
		t.Errorf("after %s, want the minute that is left", next.After)
	}
	r.is("Running CoderUnavailable workspace")
	if got, want := r.record().Status.Message, "ask coder: Coder asked for fewer requests"; got != want {
		t.Errorf("message %q, want %q", got, want)
	}
	if err := r.engine.WatchWorkspace(t.Context(), "main", workspaceID, func(core.Workspace) {}); err == nil {
		t.Error("a stream was opened")
	}
	if _, err := r.engine.OwnedWorkspaces(t.Context(), "main", ownerID); err == nil {
		t.Error("a list was read")
	}
	if n := r.engine.limited[testID]; n != 1 {
		t.Errorf("the test's own backoff counts %d, want the one 429 that it met", n)
	}
	r.clock.Advance(time.Minute - 1)
	r.trail = nil
	r.step()
	if err := r.engine.WatchWorkspace(t.Context(), "main", workspaceID, func(core.Workspace) {}); err == nil {
		t.Error("a stream was opened at the end of the minute")
	}
	if asked := asks(r); len(asked) != 0 {
		t.Errorf("at the end of the minute Coder is asked %q", asked)
	}
	r.clock.Advance(1)
	r.step()
	if asked := asks(r); len(asked) == 0 {
		t.Error("the minute is over, and nobody asks")
	}
}

// TestACreateThatIsHeldBackIsNotSent: another test met a 429 between this one's reads and
// its create.
func TestACreateThatIsHeldBackIsNotSent(t *testing.T) {
	r := newRig(t, pending())
	r.coder.during = map[string]func(){"find": func() {
		for _, entry := range r.engine.dialed.entries {
			entry.slow.extend(r.clock.Monotonic() + time.Minute)
		}
	}}
	r.step()
	r.is("Pending CreateRetrying")
	if slices.Contains(r.trail, "> create") {
		t.Errorf("it was sent: %q", r.trail)
	}
}

// TestAStepThatMetTheLimitReadsOn: what became of its own request is read all the same.
func TestAStepThatMetTheLimitReadsOn(t *testing.T) {
	r := newRig(t, pending())
	r.coder.fail = map[string]error{"> create": &core.Failure{Class: core.FailureRateLimited, Op: "create workspace", Status: 429}}
	r.step()
	r.is("Pending CreateRetrying")
}

func TestTheLongestWaitCounts(t *testing.T) {
	var s slowness
	s.extend(time.Minute)
	s.extend(time.Second)
	if got := s.left(time.Second); got != 59*time.Second {
		t.Errorf("%s left, want 59s", got)
	}
}

// TestADeleteThatIsHeldBackIsNotSent and is sent later.
func TestADeleteThatIsHeldBackIsNotSent(t *testing.T) {
	r := newRig(t, failed())
	r.coder.workspace.Latest = build(core.TransitionStart, core.JobFailed)
	r.coder.during = map[string]func(){"workspace": func() {
		for _, entry := range r.engine.dialed.entries {
			entry.slow.extend(r.clock.Monotonic() + time.Minute)
		}
	}}
	if next := r.step(); next.After != time.Minute || slices.Contains(r.trail, "> delete") {
		t.Errorf("again after %s, did %q", next.After, r.trail)
	}
	r.coder.during = nil
	r.clock.Advance(time.Minute)
	r.step()
	if !slices.Contains(r.trail, "> delete") {
		t.Errorf("it is not sent: %q", r.trail)
	}
}
