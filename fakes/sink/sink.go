// Package sink records what a ports.StatusSink and a ports.EvidenceSink are told.
package sink

import (
	"context"
	"slices"
	"sync"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/ports"
)

// Sink records transitions. It is safe for concurrent use.
type Sink struct {
	mu          sync.Mutex
	transitions []core.StoredTransition
	on          func(core.StoredTransition)
}

var _ ports.StatusSink = (*Sink)(nil)

// New makes an empty Sink. On, unless nil, is called with each transition too.
func New(on func(core.StoredTransition)) *Sink { return &Sink{on: on} }

// Transition implements ports.StatusSink.
func (s *Sink) Transition(transition core.StoredTransition) {
	s.mu.Lock()
	s.transitions = append(s.transitions, transition)
	s.mu.Unlock()
	if s.on != nil {
		s.on(transition)
	}
}

// All lists every transition so far.
func (s *Sink) All() []core.StoredTransition {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.transitions)
}

// Of lists the transitions of one test.
func (s *Sink) Of(test uuid.UUID) []core.StoredTransition {
	return slices.DeleteFunc(s.All(), func(t core.StoredTransition) bool { return t.After.ID != test })
}

// Evidence records evidence. It is safe for concurrent use.
type Evidence struct {
	mu   sync.Mutex
	all  []core.Evidence
	fail error
}

var _ ports.EvidenceSink = (*Evidence)(nil)

// NewEvidence makes an empty Evidence whose calls end with fail.
func NewEvidence(fail error) *Evidence { return &Evidence{fail: fail} }

// Evidence implements ports.EvidenceSink.
func (e *Evidence) Evidence(_ context.Context, evidence core.Evidence) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, evidence)
	return e.fail
}

// All lists all evidence so far.
func (e *Evidence) All() []core.Evidence {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.all)
}
