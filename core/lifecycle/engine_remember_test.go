package lifecycle

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/fakes/sink"
	"github.com/assay-dev/assay/ports"
)

// evidenceFunc is an evidence sink.
type evidenceFunc func(context.Context, core.Evidence) error

func (f evidenceFunc) Evidence(ctx context.Context, evidence core.Evidence) error {
	return f(ctx, evidence)
}

func TestEvidence(t *testing.T) {
	ended := build(core.TransitionStart, core.JobFailed)
	ended.Agents = []core.Agent{agent(1, core.AgentConnected, core.AgentStartError)}
	read := []string{"load cached", "plane cached", "deployment", "operator", "workspace", "load live", "plane live", "save BuildFailed"}

	t.Run("is read before the first delete, and only once", func(t *testing.T) {
		kept := sink.NewEvidence(nil)
		r := newRig(t, failed(), func(c *Config) { c.Evidence = kept })
		r.coder.workspace.Latest = ended
		r.step()
		r.did(append(read[:8:8], "build log", "agent logs", "> delete", "save BuildFailed")...)
		r.coder.workspace.Latest = build(core.TransitionStop, core.JobSucceeded)
		r.step()
		if all := kept.All(); len(all) != 1 || len(all[0].Logs) != 2 || all[0].TestID != testID || len(all[0].Workspace.Latest.Agents) != 1 {
			t.Errorf("evidence %+v", all)
		}
		if e := kept.All()[0]; e.Record.ID != testID || e.Record.Status.Reason != core.ReasonBuildFailed || e.CoderVersion != coderVersion {
			t.Errorf("the evidence is of %+v on Coder %q", e.Record, e.CoderVersion)
		}
		for _, stored := range r.sink.All() {
			if stored.CoderVersion != coderVersion {
				t.Errorf("a transition on Coder %q", stored.CoderVersion)
			}
		}
		if _, pending := r.clock.NextTimer(); pending {
			t.Error("a timer is left behind")
		}
		if r.log.Len() != 0 {
			t.Errorf("log: %s", r.log.String())
		}
		for _, limit := range r.coder.limits {
			if limit != 1<<20 {
				t.Errorf("a log of up to %d bytes was asked for", limit)
			}
		}
	})
	t.Run("is read before a cancel too", func(t *testing.T) {
		kept := sink.NewEvidence(nil)
		r := newRig(t, failed(), func(c *Config) { c.Evidence = kept })
		r.coder.workspace.Latest = build(core.TransitionStart, core.JobRunning)
		r.step()
		r.did(append(read[:8:8], "build log", "> cancel")...)
	})
	t.Run("is not read without a sink", func(t *testing.T) {
		r := newRig(t, failed())
		r.coder.workspace.Latest = ended
		r.step()
		r.did(append(read[:8:8], "> delete", "save BuildFailed")...)
	})
	t.Run("is nobody's after a pass", func(t *testing.T) {
		kept := sink.NewEvidence(nil)
		r := newRig(t, ready(), func(c *Config) { c.Evidence = kept })
		r.coder.workspace.Latest = build(core.TransitionStart, core.JobSucceeded)
		r.step()
		if len(kept.All()) != 0 {
			t.Error("evidence of a test that did not fail")
		}
	})
	t.Run("its errors are ignored", func(t *testing.T) {
		kept := sink.NewEvidence(errLost)
		r := newRig(t, failed(), func(c *Config) { c.Evidence = kept })
		r.coder.workspace.Latest = ended
		r.coder.fail = map[string]error{"build log": unavailable, "agent logs": notFound}
		r.step()
		r.did(append(read[:8:8], "build log", "agent logs", "> delete", "save BuildFailed")...)
		if all := kept.All(); len(all) != 1 || len(all[0].Logs) != 0 {
			t.Errorf("evidence %+v", all)
		}
		for _, line := range []string{"evidence: build log not read", "evidence: agent logs not read", "evidence: not taken"} {
			if !strings.Contains(r.log.String(), line) {
				t.Errorf("the log does not say %q:\n%s", line, r.log.String())
			}
		}
	})
	t.Run("ends after ten seconds, and the delete follows all the same", func(t *testing.T) {
		var ended error
		r := newRig(t, failed(), func(c *Config) {
			c.Evidence = evidenceFunc(func(ctx context.Context, _ core.Evidence) error {
				ended = ctx.Err()
				return ended
			})
		})
		r.coder.workspace.Latest = build(core.TransitionStart, core.JobFailed)
		r.coder.during = map[string]func(){"build log": func() { r.clock.Advance(10 * time.Second) }}
		r.step()
		if !errors.Is(ended, context.Canceled) {
			t.Errorf("the sink's context: %v", ended)
		}
		r.did(append(read[:8:8], "build log", "> delete", "save BuildFailed")...)
	})
}

func TestEvidenceLeavesNothingRunning(t *testing.T) {
	var handed context.Context
	r := newRig(t, failed(), func(c *Config) {
		c.Evidence = evidenceFunc(func(ctx context.Context, _ core.Evidence) error { handed = ctx; return ctx.Err() })
	})
	r.coder.workspace.Latest = build(core.TransitionStart, core.JobFailed)
	r.step()
	if handed.Err() == nil {
		t.Error("what a sink began goes on after the step")
	}
}

func TestIdentityIsRemembered(t *testing.T) {
	asked := func(r *rig) bool {
		defer func() { r.trail = nil }()
		for _, io := range r.trail {
			if io == "deployment" {
				return true
			}
		}
		return false
	}
	t.Run("for a minute once the workspace is known", func(t *testing.T) {
		r := newRig(t, awaiting())
		for _, row := range []struct {
			why   string
			pass  time.Duration
			asked bool
		}{
			{"at first", 0, true}, {"again", 0, false}, {"after a minute", time.Minute, false}, {"later", time.Second, true},
		} {
			r.clock.Advance(row.pass)
			r.step()
			if got := asked(r); got != row.asked {
				t.Errorf("%s: asked who answers: %t", row.why, got)
			}
		}
	})
	t.Run("not before: a proof of absence rests on it", func(t *testing.T) {
		r := newRig(t, marked())
		for range 2 {
			r.step()
			if !asked(r) {
				t.Error("not asked who answers")
			}
		}
	})
	t.Run("not for another connection", func(t *testing.T) {
		r := newRig(t, awaiting())
		r.step()
		r.trail = nil
		r.planes.Edit("main", func(plane *core.ControlPlane) { plane.Connection.Token = core.NewSecret("renewed") })
		r.step()
		if !asked(r) {
			t.Error("not asked who answers")
		}
	})
	t.Run("not when it failed", func(t *testing.T) {
		r := newRig(t, awaiting())
		r.coder.fail = map[string]error{"operator": unavailable}
		r.step()
		r.trail = nil
		r.step()
		if !asked(r) {
			t.Error("not asked who answers")
		}
	})
}

func TestDialing(t *testing.T) {
	t.Run("one runner a connection", func(t *testing.T) {
		dials := 0
		r := newRig(t, awaiting())
		r.engine.dialed.dial = func(core.Connection) (ports.CodeRunner, error) { dials++; return r.coder, nil }
		r.step()
		r.step()
		if dials != 1 {
			t.Errorf("dialed %d times", dials)
		}
		r.planes.Edit("main", func(plane *core.ControlPlane) { plane.Connection.URL = "https://other.example.com" })
		r.step()
		if dials != 2 || len(r.engine.dialed.entries) != 2 {
			t.Errorf("dialed %d times, %d kept", dials, len(r.engine.dialed.entries))
		}
		// One that nobody used for a while is dropped when the next one is dialed.
		r.clock.Advance(dialedMaxIdle + time.Second)
		r.planes.Edit("main", func(plane *core.ControlPlane) { plane.Connection.URL = "https://third.example.com" })
		r.step()
		if len(r.engine.dialed.entries) != 1 {
			t.Errorf("%d kept", len(r.engine.dialed.entries))
		}
	})
	t.Run("a connection that cannot be tried is the control plane's problem", func(t *testing.T) {
		r := newRig(t, awaiting(), func(c *Config) {
			c.Dial = func(core.Connection) (ports.CodeRunner, error) { return nil, errors.New("bad certificate") }
		})
		r.step()
		r.is("Running ControlPlaneNotReady workspace")
	})
}

func TestRateLimitBackoff(t *testing.T) {
	limited := &core.Failure{Class: core.FailureRateLimited, Op: "read workspace", Status: 429}
	within := func(d, around time.Duration) bool { return d >= around*8/10 && d <= around*12/10 }
	r := newRig(t, awaiting())
	r.coder.fail = map[string]error{"workspace": limited}
	for _, around := range []time.Duration{2 * time.Second, 4 * time.Second, 8 * time.Second} {
		next := r.step()
		if !within(next.After, around) {
			t.Errorf("after %s, want about %s", next.After, around)
		}
		r.clock.Advance(next.After)
	}
	r.coder.fail = nil
	r.step()
	r.coder.fail = map[string]error{"workspace": limited}
	if next := r.step(); !within(next.After, 2*time.Second) {
		t.Errorf("any other outcome resets it: %s", next.After)
	}
	r.clock.Advance(3 * time.Second)
	limited.RetryAfter = 100 * time.Second
	if next := r.step(); next.After != 100*time.Second {
		t.Errorf("what Coder asks for is done: %s", next.After)
	}
	r.clock.Advance(limited.RetryAfter)
	r.coder.fail = nil
	r.coder.workspace.Deleted = true
	for range 4 {
		r.step()
	}
	if n := len(r.engine.limited) + len(r.engine.evidenced); n != 0 {
		t.Errorf("%d things are remembered about a test that is done", n)
	}
}

func TestWatchWorkspace(t *testing.T) {
	ctx := context.Background()
	r := newRig(t, awaiting())
	var got core.Workspace
	if err := r.engine.WatchWorkspace(ctx, "main", workspaceID, func(w core.Workspace) { got = w }); err != nil || got.ID != workspaceID {
		t.Errorf("got %s, %v", got.ID, err)
	}
	r.coder.fail = map[string]error{"watch": unavailable}
	if err := r.engine.WatchWorkspace(ctx, "main", workspaceID, func(core.Workspace) {}); !errors.Is(err, unavailable) {
		t.Errorf("why the stream ended: %v", err)
	}
	if err := r.engine.WatchWorkspace(ctx, "other", workspaceID, nil); err == nil {
		t.Error("an unknown control plane was watched")
	}
	r.planes.Fail(errLost)
	if err := r.engine.WatchWorkspace(ctx, "main", workspaceID, nil); !errors.Is(err, errLost) {
		t.Errorf("error %v", err)
	}
}

// TestOwnedWorkspaces: the owner is read the first time, and after a list that failed.
func TestOwnedWorkspaces(t *testing.T) {
	r := newRig(t, awaiting())
	r.coder.owned = []core.Workspace{ours()}
	list := func(want error, asks ...string) {
		t.Helper()
		r.trail = nil
		owned, err := r.engine.OwnedWorkspaces(t.Context(), "main", ownerID)
		if !errors.Is(err, want) || want == nil && (len(owned) != 1 || owned[0].ID != workspaceID) {
			t.Errorf("%d workspaces, error %v, want ours and %v", len(owned), err, want)
		}
		if got := slices.DeleteFunc(r.trail, func(did string) bool { return strings.HasPrefix(did, "plane") }); !slices.Equal(got, asks) {
			t.Errorf("asked %q, want %q", got, asks)
		}
	}
	list(nil, "owner", "owned")
	list(nil, "owned")
	r.coder.fail = map[string]error{"owned": unavailable}
	list(unavailable, "owned")
	r.coder.fail = map[string]error{"owner": notFound}
	list(notFound, "owner")
	r.coder.fail = nil
	list(nil, "owner", "owned")
	r.planes.Fail(errLost)
	list(errLost)
}
