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
	if next.After < time.Minute || next.After > time.Minute*12/10 {
		t.Errorf("after %s, want a minute and up to a fifth of it", next.After)
	}
	r.is("Running CoderUnavailable workspace")
	if err := r.engine.WatchWorkspace(t.Context(), "main", workspaceID, func(core.Workspace) {}); err == nil {
		t.Error("a stream was opened")
	}
	if _, err := r.engine.OwnedWorkspaces(t.Context(), "main", ownerID); err == nil {
		t.Error("a list was read")
	}
	r.clock.Advance(time.Minute)
	r.trail = nil
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
			entry.slowUntil(r.clock.Monotonic() + time.Minute)
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
