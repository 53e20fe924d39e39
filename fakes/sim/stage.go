package sim

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/fakes/world"
)

// start is when every run begins.
var start = time.Date(2026, time.January, 5, 9, 0, 0, 0, time.UTC)

// deploymentURL is where the deployment answers, and planeRef what the tests call it.
const (
	deploymentURL = "https://coder.example.com"
	planeRef      = "main"
)

// stage is the deployment of a plan, and who and what is on it.
type stage struct {
	plan         *Plan
	world        *world.World
	organization uuid.UUID
	template     uuid.UUID
	// operator sends the requests; operators has another one beside it.
	operator  uuid.UUID
	operators [2]uuid.UUID
	// owner owns the workspaces; others has another one beside it.
	owner  uuid.UUID
	owners [2]uuid.UUID
	// versions are those that the tests test, by their numbers, and otherVersion is one of
	// another template.
	versions     []uuid.UUID
	otherVersion uuid.UUID
}

// testID is the ID of the test of this number.
func testID(seed uint64, number int) uuid.UUID {
	var id uuid.UUID
	binary.BigEndian.PutUint64(id[:8], seed)
	id[0], id[6], id[8], id[9] = 0x7e, 0x40|id[6]&0x0f, 0x80, byte(number)
	binary.BigEndian.PutUint16(id[10:12], uint16(number+1))
	return id
}

// set makes the deployment of a plan.
func set(w *world.World, plan *Plan) *stage {
	s := &stage{plan: plan, world: w}
	w.LimitRate(0)
	s.organization = w.AddOrganization("acme").ID
	in := []uuid.UUID{s.organization}
	for i := range s.operators {
		s.operators[i] = w.AddUser(world.UserSpec{Username: fmt.Sprintf("operator-%d", i), Organizations: in}).ID
		s.owners[i] = w.AddUser(world.UserSpec{Username: fmt.Sprintf("tester-%d", i), Organizations: in}).ID
		s.grant(s.operators[i], true)
	}
	s.operator, s.owner = s.operators[0], s.owners[0]
	if plan.OwnWorkspaces {
		s.owner = s.operator
	}
	s.template = w.AddTemplate(world.TemplateSpec{
		Organization: s.organization, Name: "docker", Classic: plan.Classic, ForbidCancel: plan.ForbidCancel,
	}).ID
	for i := range plan.Tests {
		s.versions = append(s.versions, s.version(i))
	}
	other := w.AddTemplate(world.TemplateSpec{Organization: s.organization, Name: "other"})
	s.otherVersion = w.AddVersion(world.VersionSpec{Template: other.ID, Name: "v0"}).ID
	return s
}

// grant gives an operator user its rights, or takes them.
func (s *stage) grant(user uuid.UUID, rights bool) {
	var site, own []string
	switch {
	case !rights:
		site = []string{}
	case s.plan.OrganizationAdmin:
		site, own = []string{"user-admin"}, []string{"organization-admin"}
	default:
		site = []string{world.RoleOwner}
	}
	s.world.ChangeUser(user, world.UserSpec{SiteRoles: site})
	s.world.AddMember(s.organization, user, own...)
}

// version makes the version of a test, with the prebuilt workspace that the test wants.
func (s *stage) version(number int) uuid.UUID {
	t := &s.plan.Tests[number]
	var auth []world.ExternalAuth
	if t.Odd == oddAuth {
		auth = append(auth, world.ExternalAuth{Provider: authProvider})
	}
	v := s.world.AddVersion(world.VersionSpec{
		Template: s.template, Name: versionName(number), Import: t.Import, ExternalAuth: auth, HasExternalAgent: t.Odd == oddAgent,
		Parameters: []world.ParameterSpec{{Name: "note", Default: canary + " default"}},
		Presets:    []world.PresetSpec{{Name: "fast", Values: map[string]string{"note": parameterValue}}},
		Start:      []world.BuildPlan{t.Start}, Delete: t.Deletes,
		Stop: []world.BuildPlan{{Run: 3 * time.Second}},
	})
	if t.Prebuilt {
		if _, err := s.prebuild(number); err != nil {
			panic(err) // nothing that a seed decides
		}
	}
	return v.ID
}

const parameterValue = canary + " value"

func versionName(number int) string { return fmt.Sprintf("v%d", number) }

// prebuild has Coder make a prebuilt workspace of a test's version.
func (s *stage) prebuild(number int) (world.Workspace, error) {
	version, ok := s.world.VersionNamed(s.template, versionName(number))
	if !ok {
		return world.Workspace{}, fmt.Errorf("no version %d", number)
	}
	presets, err := s.world.Presets(s.operator, version.ID)
	if err != nil {
		return world.Workspace{}, err
	}
	name := fmt.Sprintf("prebuilt-%d-%d", number, len(s.world.Changes()))
	return s.world.People(uuid.Nil).MakePrebuild(version.ID, presets[0].ID, name)
}

// spec is what a test tests.
func (s *stage) spec(number int) core.Spec {
	t := &s.plan.Tests[number]
	spec := core.Spec{
		Template: "acme.docker", ControlPlaneRef: planeRef, TimeoutSeconds: int(t.Timeout / time.Second),
		InputsTimeoutSeconds: int(t.InputsTimeout / time.Second),
		Parameters:           []core.Parameter{{Name: "note", Value: parameterValue}},
	}
	switch t.Select {
	case "id":
		spec.Version.ID = s.versions[number].String()
	case "active":
		spec.Version.Active = true
	default:
		spec.Version.Name = versionName(number)
	}
	if t.Prebuilt {
		spec.Preset = "fast"
	}
	switch t.Odd {
	case oddParameter:
		spec.Parameters = append(spec.Parameters, core.Parameter{Name: "nothing", Value: parameterValue})
	case oddPreset:
		spec.Preset = "nothing"
	case oddVersion:
		spec.Version = core.VersionSelector{Name: "nothing"}
	case oddTemplate:
		spec.Version = core.VersionSelector{ID: s.otherVersion.String()}
	case oddSpelling:
		spec.Template = "ACME.Docker"
	}
	if t.TTL >= 0 {
		seconds := int(t.TTL / time.Second)
		spec.TTLSecondsAfterFinished = &seconds
	}
	return spec
}

// policy is the control plane's at the start.
func (s *stage) policy() core.Policy {
	return core.Policy{
		OwnerUserID: s.owner.String(), AllowRetain: s.plan.AllowRetain, AllowPrivilegedOwner: s.plan.OwnWorkspaces,
	}
}
