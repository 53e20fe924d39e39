package faults

import (
	"context"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/ports"
)

// Operations of the sinks.
const (
	TellTransition = "tell transition"
	TakeEvidence   = "take evidence"
)

// Sink wraps a StatusSink. It has no errors: of the faults only crashes, and what
// happens around a call, matter to it.
func (i *Injector) Sink(inner ports.StatusSink) ports.StatusSink {
	return &statusSink{injector: i, inner: inner}
}

type statusSink struct {
	injector *Injector
	inner    ports.StatusSink
}

func (s *statusSink) Transition(transition core.StoredTransition) {
	_, _ = do(s.injector, records, Call{Op: TellTransition, Changes: true}, "", func() (struct{}, error) {
		s.inner.Transition(transition)
		return struct{}{}, nil
	})
}

// Evidence wraps an EvidenceSink.
func (i *Injector) Evidence(inner ports.EvidenceSink) ports.EvidenceSink {
	return &evidenceSink{injector: i, inner: inner}
}

type evidenceSink struct {
	injector *Injector
	inner    ports.EvidenceSink
}

func (s *evidenceSink) Evidence(ctx context.Context, evidence core.Evidence) error {
	_, err := do(s.injector, records, Call{Op: TakeEvidence, Changes: true}, "", func() (struct{}, error) {
		return struct{}{}, s.inner.Evidence(ctx, evidence)
	})
	return err
}
