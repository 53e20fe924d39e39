package sweep_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/core/lifecycle"
	"github.com/assay-dev/assay/core/sweep"
	"github.com/assay-dev/assay/fakes/clock"
	"github.com/assay-dev/assay/fakes/planes"
	"github.com/assay-dev/assay/fakes/runner"
	"github.com/assay-dev/assay/fakes/store"
	"github.com/assay-dev/assay/fakes/world"
	"github.com/assay-dev/assay/ports"
)

// testID is a test whose workspace is left, under the name that follows.
var testID = uuid.MustParse("61737361-7920-4465-b374-206279746573")

// scene is a Coder in memory with one workspace that a lost test made, and an empty state
// file.
type scene struct {
	*world.World
	t         *testing.T
	clock     *clock.Clock
	store     *store.Store
	tester    world.User
	version   world.TemplateVersion
	workspace world.Workspace
	sweep     *sweep.Sweep
}

func newScene(t *testing.T) *scene {
	t.Helper()
	virtual := clock.New(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	s := &scene{World: world.New(virtual), t: t, clock: virtual, store: store.New(virtual)}
	s.tester = s.AddUser(world.UserSpec{Username: "tester"})
	template := s.AddTemplate(world.TemplateSpec{Organization: s.tester.Memberships[0].Organization.ID, Name: "docker"})
	s.version = s.AddVersion(world.VersionSpec{Template: template.ID, Name: "v1", Active: true})
	s.workspace = s.make(core.WorkspaceName(testID))
	s.clock.Advance(2 * time.Hour)
	s.sweep = &sweep.Sweep{Coder: runner.New(s.World, s.tester.ID), Records: s.store.List, OlderThan: time.Hour}
	return s
}

func (s *scene) make(name string) world.Workspace {
	s.t.Helper()
	ws, err := s.CreateWorkspace(s.tester.ID, world.CreateWorkspace{Owner: s.tester.ID, Version: s.version.ID, Name: name})
	if err != nil {
		s.t.Fatal(err)
	}
	return ws
}

// proven looks, and returns the one finding, which must be proven.
func (s *scene) proven() (sweep.View, sweep.Finding) {
	s.t.Helper()
	view, err := s.sweep.Look(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	if len(view.Findings) != 1 || view.Findings[0].Verdict != sweep.Proven {
		s.t.Fatalf("findings %+v, want one that is proven", view.Findings)
	}
	return view, view.Findings[0]
}

func (s *scene) claim(view sweep.View, found sweep.Finding) (core.Record, error) {
	return sweep.Claim(s.t.Context(), s.store, func(context.Context, uuid.UUID) error { return nil },
		view, found, "main", s.clock.Now(), rand.NewChaCha8([32]byte{}))
}

// TestClaimIsFinishedByTheLifecycle has the engine step a claim: the workspace goes, and
// then the record.
func TestClaimIsFinishedByTheLifecycle(t *testing.T) {
	s := newScene(t)
	view, found := s.proven()
	record, err := s.claim(view, found)
	if err != nil {
		t.Fatal(err)
	}
	if record.ID == testID || core.WorkspaceName(record.ID) != s.workspace.Name || record.Spec.Template != "coder.docker" {
		t.Errorf("claim %s of %s: want an ID of its own whose workspace has the name", record.ID, record.Spec.Template)
	}
	if err := record.Spec.Validate(); err != nil {
		t.Errorf("its spec is one that nobody could have given: %v", err)
	}
	directory := runner.NewDirectory()
	directory.Put("https://coder.example.com", s.World)
	known := planes.New()
	known.Put(core.ControlPlane{
		Ref: "main", State: core.ControlPlaneUsable, Policy: core.Policy{OwnerUserID: s.tester.ID.String()},
		Connection: core.Connection{URL: "https://coder.example.com", Token: core.NewSecret(s.MintToken(s.tester.ID))},
	})
	engine, err := lifecycle.New(lifecycle.Config{
		Store: s.store, ControlPlanes: known, Dial: directory.Dial, Clock: s.clock, Random: rand.NewChaCha8([32]byte{}),
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		next, err := engine.Step(t.Context(), record.ID, nil)
		if err != nil {
			t.Fatal(err)
		}
		if next.Done {
			break
		}
		s.clock.Advance(next.After)
	}
	if len(s.Live()) != 0 {
		t.Errorf("workspaces %v are left", s.Live())
	}
	if records, err := s.store.List(t.Context()); err != nil || len(records) != 0 {
		t.Errorf("records %v are left, error %v", records, err)
	}
}

func TestClaimTakesAFreeID(t *testing.T) {
	s := newScene(t)
	view, found := s.proven()
	first, err := s.claim(view, found)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.claim(view, found); !errors.Is(err, ports.ErrClaimed) {
		t.Errorf("error %v, want that it is claimed already", err)
	}

	// The ID that the same randomness makes is taken by a test that made no workspace.
	s = newScene(t)
	finished := core.Record{ID: first.ID, Generation: 1, CreatedAt: s.clock.Now()}
	finished.Status.Phase = core.PhaseFailed
	finished.Status.SetCondition(s.clock.Now(), core.Condition{
		Type: core.ConditionWorkspaceDeleted, Status: core.ConditionTrue, Reason: core.ReasonNotCreated,
	})
	if _, err := s.store.Create(t.Context(), finished); err != nil {
		t.Fatal(err)
	}
	view, found = s.proven()
	second, err := s.claim(view, found)
	if err != nil || second.ID == first.ID || core.WorkspaceName(second.ID) != s.workspace.Name {
		t.Errorf("claim %s, error %v; want another ID of the same name than %s", second.ID, err, first.ID)
	}
}

func TestClaimWithoutLease(t *testing.T) {
	s := newScene(t)
	view, found := s.proven()
	_, err := sweep.Claim(t.Context(), s.store, func(context.Context, uuid.UUID) error { return ports.ErrLeased },
		view, found, "main", s.clock.Now(), rand.NewChaCha8([32]byte{}))
	if records, _ := s.store.List(t.Context()); !errors.Is(err, ports.ErrLeased) || len(records) != 0 {
		t.Errorf("error %v, records %v; want nothing stored without the lease", err, records)
	}
	found.Workspace.Name = "mine"
	if _, err := s.claim(view, found); err == nil {
		t.Error("a workspace with a name of its own was claimed")
	}
}

// TestLookSeesTestsThatComeAndGo has a test be in the state file only before or only after
// the list of workspaces is read.
func TestLookSeesTestsThatComeAndGo(t *testing.T) {
	for _, first := range []bool{true, false} {
		s := newScene(t)
		reads := 0
		s.sweep.Records = func(context.Context) ([]core.Record, error) {
			reads++
			if (reads == 1) == first {
				return []core.Record{{ID: testID}}, nil
			}
			return nil, nil
		}
		view, err := s.sweep.Look(t.Context())
		if err != nil || len(view.Findings) != 1 || view.Findings[0].Verdict != sweep.Claimed {
			t.Errorf("test known before %v: findings %+v, error %v; want it claimed", first, view.Findings, err)
		}
	}
}

func TestLookAgain(t *testing.T) {
	s := newScene(t)
	view, found := s.proven()
	again, gone, err := s.sweep.LookAgain(t.Context(), view, s.workspace.ID)
	if err != nil || gone || again.Verdict != sweep.Proven || again.StartBuild.ID != found.StartBuild.ID {
		t.Errorf("verdict %s, gone %v, error %v; want it as before", again.Verdict, gone, err)
	}
	if _, err := s.People(uuid.Nil).Delete(s.workspace.ID); err != nil {
		t.Fatal(err)
	}
	s.clock.Advance(time.Hour)
	if _, gone, err := s.sweep.LookAgain(t.Context(), view, s.workspace.ID); err != nil || !gone {
		t.Errorf("gone %v, error %v; want it gone", gone, err)
	}
	if _, _, err := s.sweep.LookAgain(t.Context(), view, uuid.New()); err == nil {
		t.Error("a workspace that cannot be read has a verdict")
	}
}

// reading fails some reads.
type reading struct {
	ports.CodeRunner
	builds, list error
}

func (r reading) Builds(ctx context.Context, workspace uuid.UUID) ([]core.Build, error) {
	if r.builds != nil {
		return nil, r.builds
	}
	return r.CodeRunner.Builds(ctx, workspace)
}

func (r reading) OwnedWorkspaces(ctx context.Context, owner core.User) ([]core.Workspace, error) {
	if r.list != nil {
		return nil, r.list
	}
	return r.CodeRunner.OwnedWorkspaces(ctx, owner)
}

func TestLookWhenReadsFail(t *testing.T) {
	refused := func(class core.FailureClass) error { return &core.Failure{Class: class, Op: "read", Message: "no"} }
	for _, row := range []struct {
		name   string
		reader reading
		want   sweep.Verdict
		gone   bool
		failed bool
		why    string
	}{
		{"builds missing", reading{builds: refused(core.FailureNotFound)}, sweep.Unsure, false, false, "a 404 proves nothing"},
		{"builds of another", reading{builds: refused(core.FailureMismatch)}, sweep.Unsure, false, false, "who made it is unknown"},
		{"builds gone", reading{builds: refused(core.FailureGone)}, "", true, false, "it was deleted meanwhile"},
		{"builds unavailable", reading{builds: refused(core.FailureUnavailable)}, "", false, true, "half a report would look like a whole one"},
		{"list unavailable", reading{list: refused(core.FailureUnavailable)}, "", false, true, "nothing is known"},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := newScene(t)
			row.reader.CodeRunner = runner.New(s.World, s.tester.ID)
			s.sweep.Coder = row.reader
			view, err := s.sweep.Look(t.Context())
			switch {
			case (err != nil) != row.failed:
				t.Errorf("error %v: %s", err, row.why)
			case row.failed:
			case row.gone && len(view.Findings) != 0:
				t.Errorf("findings %+v, want none: %s", view.Findings, row.why)
			case !row.gone && (len(view.Findings) != 1 || view.Findings[0].Verdict != row.want):
				t.Errorf("findings %+v, want one that is %s: %s", view.Findings, row.want, row.why)
			}
		})
	}
}

func TestLookAtAnotherUser(t *testing.T) {
	for _, row := range []struct {
		role string
		may  bool
		why  string
	}{
		{world.RoleOwner, true, "a site owner reads all"},
		{"user-admin", false, "it reads users, not their workspaces"},
	} {
		s := newScene(t)
		admin := s.AddUser(world.UserSpec{Username: "admin", SiteRoles: []string{row.role}})
		s.sweep.Coder, s.sweep.Owner = runner.New(s.World, admin.ID), s.tester.ID
		view, err := s.sweep.Look(t.Context())
		if row.may != (err == nil) || !row.may && !errors.Is(err, sweep.ErrMayNotRead) {
			t.Errorf("%s: error %v: %s", row.role, err, row.why)
		}
		if row.may && (len(view.Findings) != 1 || view.Findings[0].Verdict != sweep.Foreign) {
			t.Errorf("%s: findings %+v, want what the tester made to be foreign", row.role, view.Findings)
		}
	}
}
