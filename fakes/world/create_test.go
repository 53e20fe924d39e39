package world_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/fakes/world"
)

func TestCreateRefusals(t *testing.T) {
	one := 1
	s := newStage(world.VersionSpec{Parameters: []world.ParameterSpec{{Name: "cpus", Type: "number", Default: "2", Min: &one}}})
	version := func(spec world.VersionSpec) uuid.UUID {
		spec.Template, spec.Name = s.template, uuid.NewString()
		return s.AddVersion(spec).ID
	}
	archived := version(world.VersionSpec{})
	if err := s.People(uuid.Nil).Archive(archived); err != nil {
		t.Fatal(err)
	}
	foreign := s.AddTemplate(world.TemplateSpec{Organization: s.AddOrganization("other").ID, Name: "foreign"})
	hidden := s.AddVersion(world.VersionSpec{Template: foreign.ID, Name: "v1"}).ID
	deprecated := s.AddTemplate(world.TemplateSpec{Organization: s.org.ID, Name: "old"})
	old := s.AddVersion(world.VersionSpec{Template: deprecated.ID, Name: "v1"}).ID
	if err := s.People(uuid.Nil).Deprecate(deprecated.ID, "use another"); err != nil {
		t.Fatal(err)
	}
	other := s.AddUser(world.UserSpec{Username: "other", Organizations: []uuid.UUID{s.org.ID}}).ID
	stranger := s.AddUser(world.UserSpec{Username: "stranger"}).ID
	s.create(t, "taken")

	for _, c := range []struct {
		why   string
		actor uuid.UUID
		spec  world.CreateWorkspace
		want  world.Kind
	}{
		{"a member for itself", s.tester, world.CreateWorkspace{}, 0},
		{"a site owner for a dormant owner", s.operator, world.CreateWorkspace{Owner: s.AddUser(world.UserSpec{
			Username: "dormant", Status: world.UserDormant, Organizations: []uuid.UUID{s.org.ID},
		}).ID}, 0},
		{"a member for another member", other, world.CreateWorkspace{}, world.Forbidden},
		{"a member for somebody whom it cannot see", stranger, world.CreateWorkspace{}, world.NotFound},
		{"for nobody", s.operator, world.CreateWorkspace{Owner: uuid.New()}, world.NotFound},
		{"a taken name, in other letters", s.operator, world.CreateWorkspace{Name: "TAKEN"}, world.Conflict},
		{"a taken name of another owner", s.operator, world.CreateWorkspace{Owner: other, Name: "taken"}, 0},
		{"a reserved name", s.operator, world.CreateWorkspace{Name: "new"}, world.Invalid},
		{"a malformed name", s.operator, world.CreateWorkspace{Name: "a_b"}, world.Invalid},
		{"a long name", s.operator, world.CreateWorkspace{Name: strings.Repeat("a", 33)}, world.Invalid},
		{"no such version", s.operator, world.CreateWorkspace{Version: uuid.New()}, world.Invalid},
		{"a version that the caller cannot see", s.tester, world.CreateWorkspace{Version: hidden}, world.Invalid},
		{"an import that goes on", s.operator, world.CreateWorkspace{Version: version(world.VersionSpec{Import: world.ImportPlan{Run: time.Hour}})}, world.NotAcceptable},
		{"an import that failed", s.operator, world.CreateWorkspace{Version: version(world.VersionSpec{Import: world.ImportPlan{Ends: core.JobFailed}})}, world.Invalid},
		{"an archived version", s.operator, world.CreateWorkspace{Version: archived}, world.Internal},
		{"a deprecated template", s.operator, world.CreateWorkspace{Version: old}, world.Invalid},
		{"an authentication that is missing", s.operator, world.CreateWorkspace{Version: version(world.VersionSpec{
			ExternalAuth: []world.ExternalAuth{{Provider: "github"}},
		})}, world.Forbidden},
		{"an authentication that is optional", s.operator, world.CreateWorkspace{Version: version(world.VersionSpec{
			ExternalAuth: []world.ExternalAuth{{Provider: "github", Optional: true}},
		})}, 0},
		{"an unknown parameter", s.operator, world.CreateWorkspace{Parameters: []world.ParameterValue{{Name: "cpsu", Value: "1"}}}, 0},
		{"a value of another type", s.operator, world.CreateWorkspace{Parameters: []world.ParameterValue{{Name: "cpus", Value: "many"}}}, world.Invalid},
		{"a value out of range", s.operator, world.CreateWorkspace{Parameters: []world.ParameterValue{{Name: "cpus", Value: "0"}}}, world.Invalid},
		{"a time to live under a minute", s.operator, world.CreateWorkspace{TTL: time.Second}, world.Invalid},
	} {
		if c.spec.Owner == uuid.Nil {
			c.spec.Owner = s.tester
		}
		if c.spec.Version == uuid.Nil {
			c.spec.Version = s.version
		}
		if c.spec.Name == "" {
			c.spec.Name = "w" + strings.ReplaceAll(uuid.NewString(), "-", "")[:20]
		}
		before := len(s.Live())
		_, err := s.CreateWorkspace(c.actor, c.spec)
		wantKind(t, c.why, err, c.want)
		if made := len(s.Live()) - before; (made == 1) != (err == nil) {
			t.Errorf("%s: %d workspaces were made", c.why, made)
		}
	}
}

func TestANameIsFreeAgainOnceDeleted(t *testing.T) {
	s := newStage(world.VersionSpec{})
	first := s.create(t, "w")
	s.Settle()
	s.build(t, first.ID, core.TransitionDelete)
	s.clock.Advance(time.Second)
	_, err := s.WorkspaceByName(s.operator, s.tester, "w", false)
	wantKind(t, "find the deleted one", err, world.NotFound)
	if found, err := s.WorkspaceByName(s.operator, s.tester, "W", true); err != nil || found.ID != first.ID {
		t.Errorf("found %v, error %v: with deleted ones it is found", found.ID, err)
	}
	second := s.create(t, "w")
	if found, err := s.WorkspaceByName(s.operator, s.tester, "w", true); err != nil || found.ID != second.ID {
		t.Errorf("found %v, error %v: a live one wins", found.ID, err)
	}
}

func TestPrebuilds(t *testing.T) {
	s := newStage(world.VersionSpec{
		Parameters: []world.ParameterSpec{{Name: "size", Required: true}},
		Presets:    []world.PresetSpec{{Name: "small", Values: map[string]string{"size": "s"}}},
	})
	presets, err := s.Presets(s.operator, s.version)
	if err != nil {
		t.Fatal(err)
	}
	people := s.People(uuid.Nil)
	made, err := people.MakePrebuild(s.version, presets[0].ID, "prebuild-1")
	if err != nil || made.Owner.ID != core.PrebuildsUserID || !made.Prebuild {
		t.Fatalf("prebuild %+v, error %v", made, err)
	}
	s.Settle()
	// A create request whose parameters match the preset claims it as well.
	claimed, err := s.CreateWorkspace(s.operator, world.CreateWorkspace{
		Owner: s.tester, Version: s.version, Name: "mine", Parameters: []world.ParameterValue{{Name: "size", Value: "s"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if claimed.ID != made.ID || claimed.Name != "mine" || claimed.Owner.ID != s.tester || claimed.Latest.Number != 2 || claimed.Prebuild {
		t.Errorf("claimed %s %q of %s, build %d; want the prebuild with a second build", claimed.ID, claimed.Name, claimed.Owner.Username, claimed.Latest.Number)
	}
	builds, _ := s.Builds(s.operator, claimed.ID)
	if builds[1].Initiator.ID != core.PrebuildsUserID || builds[0].Initiator.ID != s.operator {
		t.Error("the first build is by the prebuilds user, the second by the claimer")
	}
	again := s.create2(t, presets[0].ID)
	if again.ID == made.ID || again.Latest.Number != 1 {
		t.Error("there was but one prebuild")
	}
}

func (s *stage) create2(t *testing.T, preset uuid.UUID) world.Workspace {
	t.Helper()
	ws, err := s.CreateWorkspace(s.operator, world.CreateWorkspace{Owner: s.tester, Version: s.version, Name: "another", Preset: preset})
	if err != nil {
		t.Fatal(err)
	}
	return ws
}
