package sink_test

import (
	"errors"
	"testing"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/fakes/sink"
	"github.com/assay-dev/assay/ports"
	"github.com/assay-dev/assay/ports/porttest"
)

func TestContract(t *testing.T) {
	porttest.StatusSink(t, func(*testing.T) ports.StatusSink { return sink.New(nil) })
}

func TestTransitionsAreKeptInOrder(t *testing.T) {
	heard := 0
	s := sink.New(func(core.StoredTransition) { heard++ })
	one, other := uuid.New(), uuid.New()
	for i, id := range []uuid.UUID{one, other, one} {
		s.Transition(core.StoredTransition{After: core.Record{ID: id, Generation: int64(i)}})
	}
	of := s.Of(one)
	if len(of) != 2 || of[0].After.Generation != 0 || of[1].After.Generation != 2 {
		t.Errorf("transitions of one test: %v", of)
	}
	if len(s.All()) != 3 || heard != 3 {
		t.Errorf("%d kept, %d heard; want 3 of each", len(s.All()), heard)
	}
}

func TestEvidenceIsKeptEvenIfTheSinkFails(t *testing.T) {
	broken := errors.New("broken")
	e := sink.NewEvidence(broken)
	if err := e.Evidence(t.Context(), core.Evidence{TestID: uuid.New()}); !errors.Is(err, broken) {
		t.Errorf("error %v, want %v", err, broken)
	}
	if len(e.All()) != 1 {
		t.Error("the evidence is not kept")
	}
}
