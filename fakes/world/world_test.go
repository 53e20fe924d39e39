package world_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/fakes/world"
)

func TestWatchersHearEachChangeAtItsTime(t *testing.T) {
	s := newStage(minute)
	id := s.create(t, "w").ID
	var heard []string
	cancel := s.Subscribe(id, func() {
		b := s.look(t, id).Latest
		agent := ""
		if len(b.Agents) > 0 {
			agent = " " + string(b.Agents[0].Lifecycle)
		}
		heard = append(heard, s.clock.Monotonic().String()+" "+string(b.Transition)+" "+string(b.Job.Status)+agent)
	})
	s.clock.Advance(time.Minute)
	s.build(t, id, core.TransitionDelete)
	s.clock.Advance(time.Minute)
	cancel()
	cancel()
	s.build(t, id, core.TransitionDelete)
	want := []string{
		"10s start running", "30s start succeeded created", "32s start succeeded starting", "35s start succeeded ready",
		"1m0s delete pending", "1m1s delete running", "1m6s delete succeeded",
	}
	if diff := cmp.Diff(want, heard); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	if _, armed := s.clock.NextTimer(); armed || s.Subscriptions() != 0 {
		t.Error("without a watcher the world sets no timer")
	}
}

func TestNextEvent(t *testing.T) {
	s := newStage(minute)
	if next, ok := s.NextEvent(); ok {
		t.Errorf("next event at %v in a world at rest", next)
	}
	id := s.create(t, "w").ID
	s.clock.Jump(time.Hour)
	var at []time.Duration
	for {
		next, ok := s.NextEvent()
		if !ok {
			break
		}
		at = append(at, next.Sub(start.Add(time.Hour)))
		s.clock.AdvanceTo(next)
	}
	if diff := cmp.Diff([]time.Duration{10 * time.Second, 30 * time.Second, 32 * time.Second, 35 * time.Second}, at); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if created := s.look(t, id).Latest.Agents[0].CreatedAt; !created.Equal(start.Add(30 * time.Second)) {
		t.Errorf("agent made at %v: the clock's jump is not the deployment's", created)
	}
}

func TestTheSameStoryHasTheSameIDs(t *testing.T) {
	story := func() []uuid.UUID {
		s := newStage(minute)
		ws := s.create(t, "w")
		s.clock.Advance(time.Minute)
		return []uuid.UUID{ws.ID, ws.Latest.ID, s.look(t, ws.ID).Latest.Agents[0].ID, s.tester, s.version}
	}
	if diff := cmp.Diff(story(), story()); diff != "" {
		t.Errorf("IDs differ:\n%s", diff)
	}
	if world.New(newStage(minute).clock, world.Seed(7)).Deployment().ID == world.New(newStage(minute).clock).Deployment().ID {
		t.Error("another seed gives other IDs")
	}
}

func TestTrail(t *testing.T) {
	s := newStage(world.VersionSpec{Stop: []world.BuildPlan{{Run: time.Minute}}})
	ws := s.create(t, "w")
	s.clock.Advance(time.Second)
	if _, err := s.People(uuid.Nil).Stop(ws.ID); err != nil {
		t.Fatal(err)
	}
	_, err := s.CreateBuild(s.operator, ws.ID, world.CreateBuild{Transition: core.TransitionDelete})
	wantKind(t, "delete while it stops", err, world.Conflict)
	type row struct {
		op     string
		people bool
		kind   world.Kind
	}
	var got []row
	for _, c := range s.ChangesSince(0) {
		r := row{op: c.Op, people: c.ByPeople}
		if c.Refused != nil {
			r.kind = c.Refused.Kind
		}
		if c.Workspace != ws.ID || c.Owner != s.tester {
			t.Errorf("%s is about workspace %v of %v", c.Op, c.Workspace, c.Owner)
		}
		got = append(got, r)
	}
	want := []row{{"create", false, 0}, {"stop", true, 0}, {"delete", false, world.Conflict}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(row{})); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	if requests := s.Requests(); requests["create"] != 1 || requests["delete"] != 1 || requests["stop"] != 0 {
		t.Errorf("requests %v: what people did is not counted", requests)
	}
}

func TestRateLimit(t *testing.T) {
	s := newStage(world.VersionSpec{})
	s.clock.AdvanceTo(start.Truncate(time.Minute).Add(time.Minute))
	ask := func(caller, path string) world.Kind {
		_, err := s.Admit(caller, path)
		return refusal(err)
	}
	for n := range 512 {
		if ask("a", "/workspaces") != 0 {
			t.Fatalf("request %d is refused", n+1)
		}
	}
	if ask("a", "/workspaces") != world.RateLimited {
		t.Error("the 513th of a minute is refused")
	}
	if ask("a", "/users/me") != 0 || ask("b", "/workspaces") != 0 {
		t.Error("other paths and other callers have limits of their own")
	}
	s.clock.Advance(90 * time.Second)
	// Half of the last window still counts.
	allowed := 0
	for ask("a", "/workspaces") == 0 {
		allowed++
	}
	if allowed != 256 {
		t.Errorf("%d requests are let in half a window later, want 256", allowed)
	}
	for range 60 {
		if ask("a", "/users/login") != 0 {
			t.Fatal("a login within its limit is refused")
		}
	}
	if ask("a", "/users/login") != world.RateLimited {
		t.Error("the 61st login of a minute is refused")
	}
}

func TestPeople(t *testing.T) {
	s := newStage(world.VersionSpec{})
	people := s.People(uuid.Nil)
	ws := s.create(t, "w")
	s.Settle()
	wantKind(t, "delete a user with workspaces", people.DeleteUser(s.tester), world.Expectation)
	wantKind(t, "delete a template with workspaces", people.DeleteTemplate(s.template), world.Invalid)
	wantKind(t, "rename the workspace", people.Rename(ws.ID, "renamed"), 0)
	wantKind(t, "rename the owner", people.RenameUser(s.tester, "tested"), 0)
	wantKind(t, "rename the template", people.RenameTemplate(s.template, "podman"), 0)
	wantKind(t, "rename the organization", people.RenameOrganization(s.org.ID, "emca"), 0)
	got := s.look(t, ws.ID)
	if got.Name != "renamed" || got.Owner.Username != "tested" || got.Template.Name != "podman" || got.Organization.Name != "emca" {
		t.Errorf("renamed to %s/%s of %s/%s", got.Owner.Username, got.Name, got.Organization.Name, got.Template.Name)
	}
	if _, err := people.Delete(ws.ID); err != nil {
		t.Fatal(err)
	}
	s.clock.Advance(time.Second)
	wantKind(t, "delete the template", people.DeleteTemplate(s.template), 0)
	_, err := s.Workspace(s.operator, ws.ID, true)
	wantKind(t, "read a workspace whose template is deleted", err, world.Forbidden)
	token := s.MintToken(s.tester)
	if _, err := s.Authenticate(token); err != nil {
		t.Error(err)
	}
	wantKind(t, "suspend the owner", people.SuspendUser(s.tester), 0)
	_, err = s.Authenticate(token)
	wantKind(t, "act while suspended", err, world.Unauthorized)
	before := s.Deployment().ID
	people.ReplaceDeployment()
	if s.Deployment().ID == before || len(s.All()) != 0 {
		t.Error("another deployment has another ID and none of the workspaces")
	}
}
