package world_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/fakes/clock"
	"github.com/assay-dev/assay/fakes/world"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// stage is a deployment with an operator, a tester and a template with one version.
type stage struct {
	*world.World
	clock    *clock.Clock
	org      world.Organization
	operator uuid.UUID
	tester   uuid.UUID
	template uuid.UUID
	version  uuid.UUID
}

func newStage(spec world.VersionSpec) *stage {
	s := &stage{clock: clock.New(start)}
	s.World = world.New(s.clock)
	s.org = s.AddOrganization("acme")
	member := []uuid.UUID{s.org.ID}
	s.operator = s.AddUser(world.UserSpec{Username: "operator", SiteRoles: []string{world.RoleOwner}, Organizations: member}).ID
	s.tester = s.AddUser(world.UserSpec{Username: "tester", Organizations: member}).ID
	s.template = s.AddTemplate(world.TemplateSpec{Organization: s.org.ID, Name: "docker"}).ID
	spec.Template, spec.Name = s.template, "v1"
	s.version = s.AddVersion(spec).ID
	return s
}

func (s *stage) create(t *testing.T, name string) world.Workspace {
	t.Helper()
	ws, err := s.CreateWorkspace(s.operator, world.CreateWorkspace{Owner: s.tester, Version: s.version, Name: name})
	if err != nil {
		t.Fatalf("create %s: %v", name, err)
	}
	return ws
}

// look reads a workspace, deleted or not.
func (s *stage) look(t *testing.T, id uuid.UUID) world.Workspace {
	t.Helper()
	ws, err := s.Workspace(s.operator, id, true)
	if err != nil {
		t.Fatalf("read workspace: %v", err)
	}
	return ws
}

func (s *stage) build(t *testing.T, id uuid.UUID, transition core.Transition) world.Build {
	t.Helper()
	b, err := s.CreateBuild(s.operator, id, world.CreateBuild{Transition: transition})
	if err != nil {
		t.Fatalf("%s: %v", transition, err)
	}
	return b
}

// refusal is the kind of a refusal, 0 for none.
func refusal(err error) world.Kind {
	var refused *world.Error
	if errors.As(err, &refused) {
		return refused.Kind
	}
	return 0
}

func wantKind(t *testing.T, what string, err error, want world.Kind) {
	t.Helper()
	if got := refusal(err); got != want || (err == nil) != (want == 0) {
		t.Errorf("%s: %v, want kind %d", what, err, want)
	}
}
