// Package service is what can be done with tests on a server, whoever asks and however:
// the API and the page are two ways to it. It has no rule of the lifecycle; it checks who
// may ask, stores wishes, and reads.
package service

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/apps/http/access"
	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/ports"
)

// Store is what a Service needs of a store.
type Store interface {
	ports.TestRegistry
	ports.TestFinder
	ports.TestHistory
	ports.TestMaker
	ports.EvidenceKeeper
}

// Planes are the control planes that the server is configured with.
type Planes interface {
	ports.ControlPlanes
	// Names lists the control planes by name, removed ones included.
	Names() []string
}

// Runner has tests run by this server.
type Runner interface {
	// Take makes the test this server's, before it is stored. ports.ErrLeased: another
	// one's.
	Take(ctx context.Context, test uuid.UUID) error
	// Drop gives back a test that was taken and not stored.
	Drop(ctx context.Context, test uuid.UUID)
	// Drive has a test that was taken run.
	Drive(test uuid.UUID)
}

// KeyTime is how long an idempotency key is remembered.
const KeyTime = 24 * time.Hour

// Config is what a Service is made of.
type Config struct {
	Store  Store
	Planes Planes
	Runner Runner
	Feed   *Feed
	Dial   ports.Dialer
	Clock  ports.Clock
	Random io.Reader
}

// Service does what callers ask for. Its errors are *Error where the caller is to know why;
// anything else is trouble of the server's own.
type Service struct{ Config }

// New makes a Service. It does no I/O.
func New(config Config) (*Service, error) {
	if config.Store == nil || config.Planes == nil || config.Runner == nil || config.Feed == nil || config.Dial == nil ||
		config.Clock == nil || config.Random == nil {
		return nil, errors.New("service: every part must be set")
	}
	return &Service{config}, nil
}

// load reads a test that the caller may see. One that it may not see is not there.
func (s *Service) load(ctx context.Context, id uuid.UUID, needs access.Role) (core.Record, error) {
	record, err := s.Store.Load(ctx, id, ports.Live)
	if errors.Is(err, ports.ErrNotFound) {
		return core.Record{}, noSuchTest(id)
	}
	if err != nil {
		return core.Record{}, err
	}
	caller := access.CallerOf(ctx)
	if !caller.May(access.Viewer, record.Spec.ControlPlaneRef) {
		return core.Record{}, noSuchTest(id)
	}
	if !caller.May(needs, record.Spec.ControlPlaneRef) {
		return core.Record{}, forbidden(needs, record.Spec.ControlPlaneRef)
	}
	return record, nil
}
