package service_test

import (
	"context"
	"crypto/rand"
	"errors"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/adapters/sqlstore"
	"github.com/assay-dev/assay/apps/http/access"
	"github.com/assay-dev/assay/apps/http/service"
	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/fakes/clock"
	"github.com/assay-dev/assay/fakes/planes"
	"github.com/assay-dev/assay/ports"
)

// TestTheLeaseOfATestThatIsNotMade shows that a server keeps no lease of a test that it
// does not run: nobody else could run it either.
func TestTheLeaseOfATestThatIsNotMade(t *testing.T) {
	full := errors.New("the disk is full")
	for _, row := range []struct {
		name string
		keys [2]string
		fail bool
		why  string
	}{
		{"repeated", [2]string{"k", "k"}, false, "the first test is returned, the second was never there"},
		{"key of another request", [2]string{"other", "other"}, false, "it is refused"},
		{"store fails", [2]string{"", ""}, true, "it may be stored all the same"},
		{"store fails with a key", [2]string{"a", "b"}, true, "the same"},
	} {
		t.Run(row.name, func(t *testing.T) {
			made := newMaker(t)
			ctx := access.WithCaller(t.Context(), access.Caller{Name: "bot", Roles: map[string]access.Role{"main": access.Tester}})
			asked := service.NewTest{Spec: core.Spec{Template: "acme.docker", Version: core.VersionSelector{Active: true}, ControlPlaneRef: "main"}}
			if _, created, err := made.Create(ctx, asked, row.keys[0]); err != nil || !created {
				t.Fatalf("the first: created %v, error %v", created, err)
			}
			if row.keys[0] == "other" {
				asked.Name = "another"
			}
			if row.fail {
				made.store.err = full
			}
			_, created, err := made.Create(ctx, asked, row.keys[1])
			if created || row.fail && !errors.Is(err, full) {
				t.Fatalf("the second: created %v, error %v", created, err)
			}
			if len(made.runner.taken) != 1 || !slices.Equal(made.runner.taken, made.runner.driven) {
				t.Errorf("leases of %v, tests %v run; want one of each: %s", made.runner.taken, made.runner.driven, row.why)
			}
		})
	}
}

type maker struct {
	*service.Service
	store  *failingStore
	runner *leases
}

func newMaker(t *testing.T) *maker {
	t.Helper()
	virtual := clock.New(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	opened, err := sqlstore.Open(t.Context(), filepath.Join(t.TempDir(), "server.db"), virtual)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = opened.Close() })
	m := &maker{store: &failingStore{Store: opened}, runner: &leases{}}
	m.Service, err = service.New(service.Config{
		Store: m.store, Planes: onePlane{planes.New(core.ControlPlane{Ref: "main", State: core.ControlPlaneUsable})}, Runner: m.runner,
		Feed: service.NewFeed(opened, virtual, nil), Clock: virtual, Random: rand.Reader,
		Dial: func(core.Connection) (ports.CodeRunner, error) { return nil, errors.New("nobody is asked") },
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

type onePlane struct{ *planes.Planes }

// Names implements service.Planes.
func (onePlane) Names() []string { return []string{"main"} }

// failingStore fails to make tests from a moment on.
type failingStore struct {
	*sqlstore.Store
	err error
}

func (s *failingStore) Create(ctx context.Context, record core.Record) (core.Record, error) {
	if s.err != nil {
		return core.Record{}, s.err
	}
	return s.Store.Create(ctx, record)
}

func (s *failingStore) CreateOnce(ctx context.Context, record core.Record, key ports.IdempotencyKey, keep time.Duration) (core.Record, bool, error) {
	if s.err != nil {
		return core.Record{}, false, s.err
	}
	return s.Store.CreateOnce(ctx, record, key, keep)
}

// leases is a service.Runner that remembers.
type leases struct{ taken, driven []uuid.UUID }

func (l *leases) Take(_ context.Context, test uuid.UUID) error {
	l.taken = append(l.taken, test)
	return nil
}

func (l *leases) Drop(_ context.Context, test uuid.UUID) {
	l.taken = slices.DeleteFunc(l.taken, func(id uuid.UUID) bool { return id == test })
}

func (l *leases) Drive(test uuid.UUID) { l.driven = append(l.driven, test) }
