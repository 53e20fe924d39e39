package lifecycle

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/ports"
	"github.com/assay-dev/assay/ports/portsmoq"
)

// TestAFactThatFindsNoRecord: the outcome of a create meets a conflict, and then the record
// cannot be loaded. It is a loss, and worth a line in the log, only if it is gone for good.
func TestAFactThatFindsNoRecord(t *testing.T) {
	for _, row := range []struct {
		why  string
		load error
		want error
		lost bool
	}{
		{"the record disappeared", ports.ErrNotFound, nil, true},
		{"the store is away: the marker is still there, and confirmed later", errDisk, errDisk, false},
	} {
		stub := &portsmoq.WorkspaceStoreMock{}
		r := newRig(t, pending(), func(c *Config) { c.Store = stub })
		delegate(stub, r.store)
		stub.SaveFunc = func(ctx context.Context, record core.Record) (core.Record, error) {
			if record.Status.WorkspaceID == uuid.Nil {
				return r.store.Save(ctx, record)
			}
			stub.LoadFunc = func(context.Context, uuid.UUID, ports.Freshness) (core.Record, error) { return core.Record{}, row.load }
			return core.Record{}, ports.ErrConflict
		}
		next, err := r.engine.Step(t.Context(), testID, nil)
		if !errors.Is(err, row.want) || next.Done != row.lost {
			t.Errorf("%s: %+v, %v", row.why, next, err)
		}
		if lost := strings.Contains(r.log.String(), workspaceID.String()); lost != row.lost {
			t.Errorf("%s: log %q", row.why, r.log.String())
		}
	}
}

// TestARememberedAnswerAges: the backoff after a failed delete build is by Coder's clock, of
// which a step may know only from a minute ago.
func TestARememberedAnswerAges(t *testing.T) {
	r := newRig(t, failed())
	r.coder.workspace.Latest = build(core.TransitionDelete, core.JobFailed) // 20 s after noon
	r.clock.Advance(50 * time.Second)
	if next := r.step(); next.After != 19*time.Second {
		t.Errorf("next %+v", next)
	}
	r.clock.Advance(19 * time.Second)
	r.trail = nil
	r.step()
	if slices.Contains(r.trail, "deployment") || !slices.Contains(r.trail, "> delete") {
		t.Errorf("I/O %q", r.trail)
	}
}
