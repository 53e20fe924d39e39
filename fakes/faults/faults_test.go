package faults_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/fakes/clock"
	"github.com/assay-dev/assay/fakes/faults"
	"github.com/assay-dev/assay/fakes/planes"
	"github.com/assay-dev/assay/fakes/runner"
	"github.com/assay-dev/assay/fakes/store"
	"github.com/assay-dev/assay/fakes/world"
	"github.com/assay-dev/assay/fakes/world/worldtest"
	"github.com/assay-dev/assay/ports"
	"github.com/assay-dev/assay/ports/porttest"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

type stage struct {
	clock    *clock.Clock
	world    *world.World
	injector *faults.Injector
	runner   ports.CodeRunner
	request  core.CreateRequest
}

func newStage(hook faults.Hook) *stage {
	s := &stage{clock: clock.New(start)}
	s.world = world.New(s.clock)
	org := s.world.AddOrganization("acme")
	tester := s.world.AddUser(world.UserSpec{Username: "tester", Organizations: []uuid.UUID{org.ID}})
	template := s.world.AddTemplate(world.TemplateSpec{Organization: org.ID, Name: "docker"})
	version := s.world.AddVersion(world.VersionSpec{Template: template.ID, Name: "v1"})
	s.request = core.CreateRequest{
		OwnerID: tester.ID, OrganizationID: org.ID, TemplateID: template.ID, VersionID: version.ID, Name: "w",
	}
	s.injector = faults.New(s.clock, hook)
	s.runner = s.injector.CodeRunner(runner.New(s.world, tester.ID))
	return s
}

func TestFaultsOfACreate(t *testing.T) {
	for _, c := range []struct {
		why   string
		fault faults.Fault
		want  core.FailureClass
		ok    bool
		// made is how many create requests Coder got at once, and later.
		made, later int
		passed      time.Duration
	}{
		{why: "no fault", ok: true, made: 1, later: 1},
		{why: "fails", fault: faults.Fault{Kind: faults.Fail}, want: core.FailureUncertain},
		{why: "is refused", fault: faults.Fault{Kind: faults.Refuse}, want: core.FailureNoEffect},
		{why: "loses its answer", fault: faults.Fault{Kind: faults.Lose}, want: core.FailureUncertain, made: 1, later: 1},
		{why: "hangs", fault: faults.Fault{Kind: faults.Hang}, want: core.FailureUncertain, passed: faults.RequestTimeout},
		{why: "hangs after its effect", fault: faults.Fault{Kind: faults.HangLose}, want: core.FailureUncertain, made: 1, later: 1, passed: faults.RequestTimeout},
		{why: "comes late", fault: faults.Fault{Kind: faults.Late, Delay: time.Minute}, want: core.FailureUncertain, later: 1},
		{why: "comes twice", fault: faults.Fault{Kind: faults.Duplicate, Delay: time.Minute}, ok: true, made: 1, later: 2},
		{why: "gets somebody else's answer", fault: faults.Fault{Kind: faults.Mismatch}, want: core.FailureMismatch, made: 1, later: 1},
		{why: "is limited", fault: faults.Fault{Kind: faults.RateLimit, Delay: 7 * time.Second}, want: core.FailureRateLimited},
		{why: "is unauthorized", fault: faults.Fault{Kind: faults.Unauthorized}, want: core.FailureUnauthorized},
	} {
		s := newStage(faults.Rules{{Op: faults.CreateWorkspace, Fault: c.fault}}.Hook)
		_, err := s.runner.CreateWorkspace(t.Context(), s.request)
		var failure *core.Failure
		switch {
		case c.ok != (err == nil):
			t.Errorf("%s: error %v", c.why, err)
		case err != nil && (!errors.As(err, &failure) || failure.Class != c.want || !strings.Contains(err.Error(), faults.Sentinel)):
			t.Errorf("%s: %v, want %s with the sentinel", c.why, err, c.want)
		case failure != nil && failure.Class == core.FailureRateLimited && failure.RetryAfter != c.fault.Delay:
			t.Errorf("%s: retry after %v", c.why, failure.RetryAfter)
		}
		if got := s.world.Requests()["create"]; got != c.made {
			t.Errorf("%s: Coder got %d requests, want %d", c.why, got, c.made)
		}
		if got := s.clock.Monotonic(); got != c.passed {
			t.Errorf("%s: %v passed, want %v", c.why, got, c.passed)
		}
		s.clock.Advance(time.Hour)
		if got := s.world.Requests()["create"]; got != c.later {
			t.Errorf("%s: later, Coder got %d requests, want %d", c.why, got, c.later)
		}
	}
}

func TestALateCreateSurvivesItsCaller(t *testing.T) {
	s := newStage(faults.Rules{{Op: faults.CreateWorkspace, Fault: faults.Fault{Kind: faults.Late, Delay: time.Minute}}}.Hook)
	ctx, cancel := context.WithCancel(t.Context())
	_, _ = s.runner.CreateWorkspace(ctx, s.request)
	cancel()
	if _, err := s.runner.CreateWorkspace(ctx, s.request); core.AsFailure(err).Class != core.FailureNoEffect {
		t.Errorf("a create of a caller that is gone: %v", err)
	}
	s.clock.Advance(time.Hour)
	if len(s.world.Live()) != 1 {
		t.Error("what was sent is not taken back by the end of its caller")
	}
}

func TestStaleReads(t *testing.T) {
	s := newStage(faults.Rules{{Op: faults.FindWorkspace, First: 2, Fault: faults.Fault{Kind: faults.Stale}}}.Hook)
	found := func() bool {
		t.Helper()
		lookup, err := s.runner.FindWorkspace(t.Context(), s.request.OwnerID, "w")
		if err != nil {
			t.Fatal(err)
		}
		return lookup.Workspace != nil
	}
	var got []bool
	got = append(got, found())
	if _, err := s.runner.CreateWorkspace(t.Context(), s.request); err != nil {
		t.Fatal(err)
	}
	got = append(got, found(), found())
	if diff := cmp.Diff([]bool{false, false, true}, got); diff != "" {
		t.Errorf("found (-want +got):\n%s", diff)
	}
}

func TestCrashes(t *testing.T) {
	for kind, made := range map[faults.Kind]int{faults.CrashBefore: 0, faults.CrashAfter: 1} {
		s := newStage(faults.Rules{{First: 2, Fault: faults.Fault{Kind: kind}}}.Hook)
		crash := func() (crash any) {
			defer func() { crash = recover() }()
			_, _ = s.runner.Deployment(t.Context())
			_, _ = s.runner.CreateWorkspace(t.Context(), s.request)
			return nil
		}()
		got, ok := crash.(faults.Crash)
		if !ok || got.Call.Op != faults.CreateWorkspace || got.Call.Total != 2 || got.Call.N != 1 {
			t.Errorf("crash %v, want one at the second call", crash)
		}
		if n := s.world.Requests()["create"]; n != made {
			t.Errorf("kind %d: Coder got %d requests, want %d", kind, n, made)
		}
	}
}

func TestFaultsOfTheStoreAndTheControlPlanes(t *testing.T) {
	s := newStage(nil)
	registry := store.New(s.clock)
	record, err := registry.Create(t.Context(), porttest.NewRecord())
	if err != nil {
		t.Fatal(err)
	}
	var hidden []string
	s.injector.OnDone(func(call faults.Call, err error) {
		if err != nil {
			hidden = append(hidden, call.Op)
		}
	})
	faulty := s.injector.Store(registry)
	with := func(fault faults.Fault) { s.injector.SetHook(func(faults.Call) faults.Fault { return fault }) }

	with(faults.Fault{Kind: faults.Conflict})
	if _, err := faulty.TakeHold(t.Context(), record); !errors.Is(err, ports.ErrConflict) {
		t.Errorf("conflict: %v", err)
	}
	with(faults.Fault{Kind: faults.Lose})
	if _, err := faulty.TakeHold(t.Context(), record); err == nil || errors.Is(err, ports.ErrConflict) {
		t.Errorf("lost answer: %v", err)
	}
	if stored, _ := registry.Load(t.Context(), record.ID, ports.Live); !stored.Held {
		t.Error("the hold was taken, only its confirmation was lost")
	}
	with(faults.Fault{Meanwhile: func() { _ = registry.RequestDeletion(t.Context(), record.ID) }})
	stored, err := faulty.Load(t.Context(), record.ID, ports.Live)
	if err != nil || !stored.DeletionRequested() {
		t.Errorf("what happens meanwhile happens before: %v, error %v", stored.DeletionRequestedAt, err)
	}
	with(faults.Fault{Kind: faults.Fail})
	if _, err := s.injector.ControlPlanes(planes.New()).ControlPlane(t.Context(), "main", ports.Live); err == nil {
		t.Error("a failing read of a control plane succeeds")
	}
	if diff := cmp.Diff([]string{faults.TakeHold, faults.TakeHold, faults.ReadControlPlane}, hidden); diff != "" {
		t.Errorf("calls that failed (-want +got):\n%s", diff)
	}
}

func TestWithoutFaultsTheContractsHold(t *testing.T) {
	t.Run("coder", func(t *testing.T) {
		porttest.CodeRunner(t, func(*testing.T) porttest.Deployment {
			d := worldtest.New()
			injector := faults.New(d.Clock, nil)
			dial := injector.Dialer(runner.NewDirectory().Dial)
			d.Door = func(token core.Secret) ports.CodeRunner { return injector.CodeRunner(runner.WithToken(d.World, token)) }
			d.Closed, _ = dial(core.Connection{URL: "https://nobody.example.com"})
			return d
		})
	})
	t.Run("store", func(t *testing.T) {
		porttest.WorkspaceStore(t, func(*testing.T) porttest.StoreFixture {
			c := clock.New(start)
			registry := store.New(c)
			return porttest.StoreFixture{
				Store: faults.New(c, nil).Store(registry),
				Create: func(t *testing.T, record core.Record) core.Record {
					t.Helper()
					created, err := registry.Create(t.Context(), record)
					if err != nil {
						t.Fatal(err)
					}
					return created
				},
				RequestDeletion: func(t *testing.T, id uuid.UUID) {
					t.Helper()
					if err := registry.RequestDeletion(t.Context(), id); err != nil {
						t.Fatal(err)
					}
				},
			}
		})
	})
}
