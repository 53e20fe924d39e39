package porttest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/ports"
)

// StatusSink shows that a sink takes whatever a store can hold, from many tests at
// once, without blocking and without changing what it was given.
func StatusSink(t *testing.T, open func(t *testing.T) ports.StatusSink) {
	t.Helper()
	t.Run("odd transitions", func(t *testing.T) {
		t.Log("contract: each stored transition is taken, the first and the last ones included")
		sink := open(t)
		full := NewRecord()
		full.Status = fullStatus()
		future := NewRecord()
		future.Status.Phase, future.Status.Reason = "Paused", "ReasonOfTheFuture"
		for _, transition := range []core.StoredTransition{
			{},
			{After: NewRecord()},
			{Before: full, After: full},
			{Before: full, After: future},
			{Before: full, After: core.Record{ID: full.ID}},
		} {
			transition.At = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
			returns(t, func() { sink.Transition(transition) })
		}
	})
	t.Run("many at once", func(t *testing.T) {
		t.Log("contract: Transition must not block; tests run at once, so it is called at once")
		sink := open(t)
		returns(t, func() {
			var done sync.WaitGroup
			for range 8 {
				done.Go(func() {
					before := NewRecord()
					for i := range 50 {
						after := before
						after.Status.DeleteAttempts = i
						after.Status.Reason = core.ReasonWaitingForBuild
						sink.Transition(core.StoredTransition{Before: before, After: after})
						before = after
					}
				})
			}
			done.Wait()
		})
	})
	t.Run("values", func(t *testing.T) {
		t.Log("contract: records are values; a sink changes nothing in what it was given")
		sink := open(t)
		record := NewRecord()
		record.Status = fullStatus()
		want := record
		want.Spec.Parameters = append([]core.Parameter(nil), record.Spec.Parameters...)
		want.Status.Conditions = append([]core.Condition(nil), record.Status.Conditions...)
		returns(t, func() { sink.Transition(core.StoredTransition{After: record}) })
		if diff := cmp.Diff(want, record); diff != "" {
			t.Errorf("the sink changed the record (-want +got):\n%s", diff)
		}
	})
}

// EvidenceSink shows that a sink takes odd evidence and returns when its context
// is done.
func EvidenceSink(t *testing.T, open func(t *testing.T) ports.EvidenceSink) {
	t.Helper()
	t.Run("odd evidence", func(t *testing.T) {
		t.Log("contract: whatever was read is taken")
		sink := open(t)
		for _, evidence := range []core.Evidence{
			{},
			{TestID: uuid.New(), Logs: []core.Log{{Source: "build"}}},
			{TestID: uuid.New(), Logs: []core.Log{{Source: "build", Text: "\x00\xff\x1b[31m\r\n", Truncated: true}}},
		} {
			returns(t, func() {
				if err := sink.Evidence(t.Context(), evidence); err != nil {
					t.Errorf("evidence: %v", err)
				}
			})
		}
	})
	t.Run("canceled", func(t *testing.T) {
		t.Log("contract: it returns when ctx is done")
		sink := open(t)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		returns(t, func() { _ = sink.Evidence(ctx, core.Evidence{TestID: uuid.New()}) })
	})
}

// returns fails the test when f does not return.
func returns(t *testing.T, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	await(t, done, "a sink to return")
}
