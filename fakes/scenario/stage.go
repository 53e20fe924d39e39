package scenario

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/fakes/world"
)

// The statements of the keyword coder:
//
//	organization NAME [grants ROLE]
//	user NAME [login TYPE] [status STATUS] [service-account] [role SITEROLE]
//	     [in ORGANIZATION [as ROLE]]... [links PROVIDER]
//	template ORGANIZATION.NAME [classic] [deprecated] [no-cancel]
//	version NAME [active] [archived] [external-agent]
//	     [import DURATION ok|fails|canceled] [external-auth PROVIDER [optional]]
//	parameter NAME [required] [number MIN MAX] [options A|B] [default VALUE]
//	preset NAME PARAMETER=VALUE...
//	start|stop|delete build CLAUSES, one statement for each further build
//	prebuild PRESET: a prebuilt workspace of the version above, ready to be claimed
//	workspace NAME owner USER [version NAME]: one that is there before the test; the
//	    name "ours" is the test's own
//
// A version belongs to the template above it, and so on. The first template's
// organization is made when it is not named before. Unless they are written down,
// there are the site owner "operator", whose token the control plane has, and the
// plain member "tester" of every organization.
//
// The clauses of a build, separated by commas, with times that count from the
// clause before (agents': from the end of the build):
//
//	[queued D] [runs] D ok|fails [CODE]|hangs|forever
//	never picked up | no provisioner
//	cancel takes D | cancel fails D
//	agent connects +D | agent never connects D | sub-agent connects +D
//	script ok +D | script fails +D | script times out +D
//	disconnects +D | reconnects +D | shuts down +D
type stage struct {
	world *world.World
	// names of what was made
	organizations map[string]uuid.UUID
	users         map[string]uuid.UUID
	versions      map[string]uuid.UUID
	templates     map[string]uuid.UUID

	template    world.TemplateSpec
	templateKey string
	deprecated  bool
	version     *world.VersionSpec
	archived    bool
	// later is what must wait until everything is made.
	later []func() error
}

// set makes the deployment of the script.
func set(w *world.World, script *Script) (*stage, error) {
	s := &stage{
		world: w, organizations: map[string]uuid.UUID{}, users: map[string]uuid.UUID{},
		versions: map[string]uuid.UUID{}, templates: map[string]uuid.UUID{},
	}
	statements := script.of("coder")
	for _, st := range statements {
		if st.words[0] == "organization" || st.words[0] == "template" {
			name, _, _ := strings.Cut(st.word(1), ".")
			s.organization(name, st)
		}
	}
	for _, st := range statements {
		if st.words[0] == "user" {
			if err := s.user(st); err != nil {
				return nil, err
			}
		}
	}
	s.defaultUsers()
	for _, st := range statements {
		if err := s.statement(st); err != nil {
			return nil, err
		}
	}
	if err := s.endTemplate(); err != nil {
		return nil, err
	}
	for _, f := range s.later {
		if err := f(); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *stage) organization(name string, st statement) {
	if _, known := s.organizations[name]; known {
		return
	}
	roles := []string{world.MemberRole}
	if len(st.words) == 4 && st.words[2] == "grants" {
		roles = append(roles, st.words[3])
	}
	s.organizations[name] = s.world.AddOrganization(name, roles...).ID
}

func (s *stage) defaultUsers() {
	if _, written := s.users["operator"]; !written {
		s.users["operator"] = s.world.AddUser(world.UserSpec{Username: "operator", SiteRoles: []string{world.RoleOwner}}).ID
	}
	if _, written := s.users["tester"]; !written {
		var all []uuid.UUID
		for _, id := range s.organizations {
			all = append(all, id)
		}
		s.users["tester"] = s.world.AddUser(world.UserSpec{Username: "tester", Organizations: all}).ID
	}
}

func (s *stage) user(st statement) error {
	spec := world.UserSpec{Username: st.word(1)}
	type grant struct {
		organization uuid.UUID
		role         string
	}
	var grants []grant
	var links []string
	for i := 2; i < len(st.words); i++ {
		switch word := st.words[i]; word {
		case "service-account":
			spec.ServiceAccount = true
			continue
		case "login", "status", "role", "in", "as", "links":
			i++
			if i == len(st.words) {
				return st.errorf("%s needs a value", word)
			}
			value := st.words[i]
			switch word {
			case "login":
				spec.LoginType = value
			case "status":
				spec.Status = value
			case "role":
				spec.SiteRoles = append(spec.SiteRoles, value)
			case "links":
				links = append(links, value)
			case "in":
				spec.Organizations = append(spec.Organizations, s.organizations[value])
			case "as":
				if len(spec.Organizations) == 0 {
					return st.errorf("as comes before in")
				}
				grants = append(grants, grant{spec.Organizations[len(spec.Organizations)-1], value})
			}
		default:
			return st.errorf("unknown word %q", word)
		}
	}
	user := s.world.AddUser(spec).ID
	for _, g := range grants {
		s.world.AddMember(g.organization, user, g.role)
	}
	for _, provider := range links {
		s.world.LinkExternalAuth(user, provider, true)
	}
	s.users[spec.Username] = user
	return nil
}

func (s *stage) statement(st statement) error {
	switch st.words[0] {
	case "organization", "user":
		return nil
	case "template":
		return s.beginTemplate(st)
	case "version":
		return s.beginVersion(st)
	case "workspace":
		return s.workspace(st)
	case "prebuild":
		return s.prebuild(st)
	}
	if s.version == nil {
		return st.errorf("comes before a version")
	}
	switch st.words[0] {
	case "parameter":
		return s.parameter(st)
	case "preset":
		preset := world.PresetSpec{Name: st.word(1), Values: map[string]string{}}
		for _, pair := range st.words[min(2, len(st.words)):] {
			name, value, _ := strings.Cut(pair, "=")
			preset.Values[name] = value
		}
		s.version.Presets = append(s.version.Presets, preset)
		return nil
	case "start", "stop", "delete":
		plan, err := parsePlan(st)
		if err != nil {
			return err
		}
		switch st.words[0] {
		case "start":
			s.version.Start = append(s.version.Start, plan)
		case "stop":
			s.version.Stop = append(s.version.Stop, plan)
		default:
			s.version.Delete = append(s.version.Delete, plan)
		}
		return nil
	default:
		return st.errorf("unknown statement")
	}
}

func (s *stage) beginTemplate(st statement) error {
	if err := s.endTemplate(); err != nil {
		return err
	}
	organization, name, _ := strings.Cut(st.word(1), ".")
	s.template = world.TemplateSpec{Organization: s.organizations[organization], Name: name}
	if name == "" {
		return st.errorf("needs ORGANIZATION.NAME")
	}
	s.templateKey, s.deprecated = st.words[1], false
	for _, word := range st.words[2:] {
		switch word {
		case "classic":
			s.template.Classic = true
		case "no-cancel":
			s.template.ForbidCancel = true
		case "deprecated":
			s.deprecated = true
		default:
			return st.errorf("unknown word %q", word)
		}
	}
	id := s.world.AddTemplate(s.template).ID
	s.templates[s.templateKey] = id
	if s.deprecated {
		s.later = append(s.later, func() error { return s.world.People(uuid.Nil).Deprecate(id, "use another one") })
	}
	return nil
}

func (s *stage) beginVersion(st statement) error {
	if err := s.endVersion(); err != nil {
		return err
	}
	if s.templateKey == "" {
		return st.errorf("comes before a template")
	}
	s.version = &world.VersionSpec{Template: s.templates[s.templateKey], Name: st.word(1)}
	for i := 2; i < len(st.words); i++ {
		switch word := st.words[i]; word {
		case "active":
			s.version.Active = true
		case "archived":
			s.archived = true
		case "external-agent":
			s.version.HasExternalAgent = true
		case "import":
			if i+2 >= len(st.words) {
				return st.errorf("import needs a duration and how it ends")
			}
			d, err := time.ParseDuration(st.words[i+1])
			if err != nil {
				return st.errorf("%v", err)
			}
			ends, known := map[string]core.JobStatus{"ok": core.JobSucceeded, "fails": core.JobFailed, "canceled": core.JobCanceled}[st.words[i+2]]
			if !known {
				return st.errorf("import ends ok, fails or canceled")
			}
			s.version.Import = world.ImportPlan{Run: d, Ends: ends}
			i += 2
		case "external-auth":
			i++
			auth := world.ExternalAuth{Provider: st.word(i)}
			if i+1 < len(st.words) && st.words[i+1] == "optional" {
				auth.Optional = true
				i++
			}
			s.version.ExternalAuth = append(s.version.ExternalAuth, auth)
		default:
			return st.errorf("unknown word %q", word)
		}
	}
	return nil
}

func (s *stage) endTemplate() error {
	err := s.endVersion()
	s.templateKey = ""
	return err
}

// endVersion makes the version now that all of it is known.
func (s *stage) endVersion() error {
	if s.version == nil {
		return nil
	}
	made := s.world.AddVersion(*s.version)
	s.versions[s.version.Name] = made.ID
	if s.archived {
		if err := s.world.People(uuid.Nil).Archive(made.ID); err != nil {
			return fmt.Errorf("archive version %s: %w", s.version.Name, err)
		}
	}
	s.version, s.archived = nil, false
	return nil
}

func (s *stage) parameter(st statement) error {
	p := world.ParameterSpec{Name: st.word(1)}
	for i := 2; i < len(st.words); i++ {
		switch word := st.words[i]; word {
		case "required":
			p.Required = true
		case "default":
			i++
			p.Default = st.word(i)
		case "options":
			i++
			p.Options = strings.Split(st.word(i), "|")
		case "number":
			low, err1 := strconv.Atoi(st.word(i + 1))
			high, err2 := strconv.Atoi(st.word(i + 2))
			if err1 != nil || err2 != nil {
				return st.errorf("number needs a minimum and a maximum")
			}
			p.Type, p.Min, p.Max = "number", &low, &high
			i += 2
		default:
			return st.errorf("unknown word %q", word)
		}
	}
	s.version.Parameters = append(s.version.Parameters, p)
	return nil
}

// workspace makes a workspace that is there before the test begins.
func (s *stage) workspace(st statement) error {
	if err := s.endTemplate(); err != nil {
		return err
	}
	spec := world.CreateWorkspace{Name: st.word(1)}
	if spec.Name == "ours" {
		spec.Name = core.WorkspaceName(TestID)
	}
	for i := 2; i+1 < len(st.words); i += 2 {
		switch st.words[i] {
		case "owner":
			spec.Owner = s.users[st.words[i+1]]
		case "version":
			spec.Version = s.versions[st.words[i+1]]
		default:
			return st.errorf("unknown word %q", st.words[i])
		}
	}
	s.later = append(s.later, func() error {
		_, err := s.world.People(uuid.Nil).Create(spec)
		return err
	})
	return nil
}

// prebuild has Coder make a prebuilt workspace.
func (s *stage) prebuild(st statement) error {
	if s.version == nil {
		return st.errorf("comes before a version")
	}
	name := s.version.Name
	if err := s.endVersion(); err != nil {
		return err
	}
	s.later = append(s.later, func() error {
		presets, err := s.world.Presets(s.users["operator"], s.versions[name])
		if err != nil {
			return err
		}
		for _, preset := range presets {
			if preset.Name == st.word(1) {
				_, err := s.world.People(uuid.Nil).MakePrebuild(s.versions[name], preset.ID, "prebuilt")
				return err
			}
		}
		return st.errorf("no such preset")
	})
	return nil
}

// userName is the name of a user for the trail.
func (s *stage) userName(id uuid.UUID) string { return nameOf(s.users, id) }

func (s *stage) versionName(id uuid.UUID) string { return nameOf(s.versions, id) }

func nameOf(names map[string]uuid.UUID, id uuid.UUID) string {
	for name, known := range names {
		if known == id {
			return name
		}
	}
	return id.String()
}
