package lifecycle

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/ports"
	"github.com/assay-dev/assay/ports/portsmoq"
)

// delegate has every method of the stub do what the inner store does.
func delegate(stub *portsmoq.WorkspaceStoreMock, inner ports.WorkspaceStore) {
	stub.LoadFunc, stub.SaveFunc = inner.Load, inner.Save
	stub.TakeHoldFunc, stub.ReleaseHoldFunc = inner.TakeHold, inner.ReleaseHold
	stub.DeleteFunc, stub.HolderOfFunc = inner.Delete, inner.HolderOf
}

var errDisk = errors.New("the disk is full")

// TestASingleFailureOfTheStore fails one method of the store alone: the step says so and
// sends nothing, and the next one, when the store works again, goes on.
func TestASingleFailureOfTheStore(t *testing.T) {
	failsRecord := func(context.Context, core.Record) (core.Record, error) { return core.Record{}, errDisk }
	expired := func() Input {
		in := failed()
		ttl := 0
		in.Record.Spec.TTLSecondsAfterFinished = &ttl
		in.Record.Held = false
		conclude(core.ReasonBuildFailed, core.ConditionTrue, core.ReasonDeleted)(&in)
		in.Now = after(time.Hour)
		return in
	}
	cleaned := func() Input {
		in := expired()
		in.Record.Held = true
		return in
	}
	for _, row := range []struct {
		why   string
		given Input
		fail  func(*portsmoq.WorkspaceStoreMock)
	}{
		{"a record that cannot be loaded decides nothing", pending(), func(s *portsmoq.WorkspaceStoreMock) {
			s.LoadFunc = func(context.Context, uuid.UUID, ports.Freshness) (core.Record, error) { return core.Record{}, errDisk }
		}},
		{"what cannot be read live is not acted on", expired(), func(s *portsmoq.WorkspaceStoreMock) {
			load := s.LoadFunc
			s.LoadFunc = func(ctx context.Context, id uuid.UUID, fresh ports.Freshness) (core.Record, error) {
				if fresh == ports.Live {
					return core.Record{}, errDisk
				}
				return load(ctx, id, fresh)
			}
		}},
		{"a marker that cannot be stored announces nothing", pending(), func(s *portsmoq.WorkspaceStoreMock) { s.SaveFunc = failsRecord }},
		{"without its hold a test does not begin", fresh(), func(s *portsmoq.WorkspaceStoreMock) { s.TakeHoldFunc = failsRecord }},
		{"a hold that cannot be released stays", cleaned(), func(s *portsmoq.WorkspaceStoreMock) { s.ReleaseHoldFunc = failsRecord }},
		{"a record that cannot be deleted stays", expired(), func(s *portsmoq.WorkspaceStoreMock) {
			s.DeleteFunc = func(context.Context, core.Record) error { return errDisk }
		}},
	} {
		t.Run(row.why, func(t *testing.T) {
			stub := &portsmoq.WorkspaceStoreMock{}
			r := newRig(t, row.given, func(c *Config) { c.Store = stub })
			delegate(stub, r.store)
			before := r.record()
			row.fail(stub)
			if _, err := r.engine.Step(t.Context(), testID, nil); !errors.Is(err, errDisk) {
				t.Fatalf("step: %v, want the store's error", err)
			}
			if after := r.record(); after.Revision != before.Revision {
				t.Error("the record changed")
			}
			for _, io := range r.trail {
				if strings.HasPrefix(io, "> ") {
					t.Errorf("sent: %s", io)
				}
			}
			delegate(stub, r.store)
			r.step()
		})
	}
}
