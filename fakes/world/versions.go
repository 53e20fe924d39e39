package world

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
)

// VersionSpec describes a new version of a template.
type VersionSpec struct {
	Template uuid.UUID
	Name     string
	// Active makes it the template's active version.
	Active     bool
	Import     ImportPlan
	Parameters []ParameterSpec
	Presets    []PresetSpec
	// Variables are the Terraform variables without a default: an import that is given
	// no value for one fails.
	Variables        []string
	ExternalAuth     []ExternalAuth
	HasExternalAgent bool
	// Tags are what its import and its builds ask of a provisioner. An import that no
	// daemon takes stays pending.
	Tags map[string]string
	// Start, Stop and Delete are how the builds of a workspace go: the first plan for
	// its first build of the kind, and so on, the last for all that follow.
	Start  []BuildPlan
	Stop   []BuildPlan
	Delete []BuildPlan
	// StartWith goes before Start for start builds with this value of a parameter.
	StartWith map[ParameterValue][]BuildPlan
}

// ImportPlan says how a version's import goes. The zero plan is an import that
// succeeded before the version was added.
type ImportPlan struct {
	Queue time.Duration
	Run   time.Duration
	// Ends is JobSucceeded (the zero value too), JobFailed or JobCanceled.
	Ends core.JobStatus
	// Error is the error of a failed import.
	Error string
	// Log is what the provisioner prints, one line a log entry.
	Log string
	// Cancel is how long a running import goes on after somebody canceled it.
	Cancel time.Duration
}

// PresetSpec is a preset of a version.
type PresetSpec struct {
	Name string
	// Values win over what is asked for beside the preset.
	Values map[string]string
}

// Sorted is Values in the order of their names.
func (p PresetSpec) Sorted() []ParameterValue {
	values := make([]ParameterValue, 0, len(p.Values))
	for _, name := range slices.Sorted(maps.Keys(p.Values)) {
		values = append(values, ParameterValue{name, p.Values[name]})
	}
	return values
}

// Preset is a preset with its ID.
type Preset struct {
	ID uuid.UUID
	PresetSpec
}

// ExternalAuth is an external authentication that a version asks for.
type ExternalAuth struct {
	Provider string
	Optional bool
	// Authenticated tells that the user asked about has linked it.
	Authenticated bool
}

// TemplateVersion is a version as a caller who may read it sees it.
type TemplateVersion struct {
	ID           uuid.UUID
	Name         string
	Template     uuid.UUID
	Organization Organization
	CreatedBy    uuid.UUID
	Message      string
	// File is what the version was made of; uuid.Nil for one that was just added.
	File             uuid.UUID
	Archived         bool
	Import           Job
	HasExternalAgent bool
	CreatedAt        time.Time
	UpdatedAt        time.Time
}

type version struct {
	id           uuid.UUID
	name         string
	template     uuid.UUID
	organization uuid.UUID
	creator      uuid.UUID
	message      string
	file         uuid.UUID
	// given are the Terraform variables that it has a value for.
	given    []string
	archived bool
	job      *job
	// next is what the import will do by itself, unless it is canceled first.
	next             *event
	cancel           time.Duration
	logs             []LogLine
	parameters       []ParameterSpec
	presets          []Preset
	externalAuth     []ExternalAuth
	hasExternalAgent bool
	tags             map[string]string
	plans            map[core.Transition][]BuildPlan
	startWith        map[ParameterValue][]BuildPlan
	created          time.Time
	updated          time.Time
	order            uint64
}

// AddVersion makes a version and starts its import. The first version of a template is
// its active one in any case.
func (w *World) AddVersion(spec VersionSpec) TemplateVersion {
	w.lock()
	defer w.unlock()
	t := w.template(spec.Template)
	v := w.addVersion(t.organization, uuid.Nil, spec)
	if spec.Active || t.active == uuid.Nil {
		t.active = v.id
	}
	return w.versionView(v)
}

func (w *World) addVersion(organization, creator uuid.UUID, spec VersionSpec) *version {
	v := &version{
		id: w.newID(idVersion), name: spec.Name, template: spec.Template, organization: organization, creator: creator,
		parameters: spec.Parameters, externalAuth: spec.ExternalAuth, hasExternalAgent: spec.HasExternalAgent,
		tags: spec.Tags,
		plans: map[core.Transition][]BuildPlan{
			core.TransitionStart: spec.Start, core.TransitionStop: spec.Stop, core.TransitionDelete: spec.Delete,
		},
		startWith: spec.StartWith, created: w.stamp(), updated: w.stamp(), order: w.ids[idVersion],
	}
	for _, preset := range spec.Presets {
		v.presets = append(v.presets, Preset{ID: w.newID(idPreset), PresetSpec: PresetSpec{Name: preset.Name, Values: maps.Clone(preset.Values)}})
	}
	w.versions[v.id] = v
	w.importVersion(v, spec.Import)
	return v
}

// importVersion runs the import job as planned.
func (w *World) importVersion(v *version, plan ImportPlan) {
	v.job, v.cancel = w.newJob(coderTags(v.creator, v.tags)), plan.Cancel
	if _, available := w.matched(v.organization, v.job.tags); available == 0 {
		return
	}
	pick := func() {
		v.job.started, v.job.updated = w.stamp(), w.stamp()
		v.say(w.stamp(), "Initializing the backend...\nReading the template...")
	}
	end := func() {
		v.say(w.stamp(), plan.Log)
		v.job.completed, v.job.updated, v.updated = w.stamp(), w.stamp(), w.stamp()
		switch plan.Ends {
		case core.JobFailed:
			v.job.errorText = orElse(plan.Error, "terraform plan: exit status 1")
		case core.JobCanceled:
			v.job.canceled = w.stamp()
		}
	}
	if plan.Queue == 0 && plan.Run == 0 {
		pick()
		end()
		return
	}
	v.next = w.in(plan.Queue, func() {
		pick()
		v.next = w.in(plan.Run, end)
	})
}

// say adds lines to the log of an import.
func (v *version) say(at time.Time, text string) {
	for line := range strings.Lines(text) {
		v.logs = append(v.logs, LogLine{At: at, Text: strings.TrimSuffix(line, "\n")})
	}
}

// VersionNamed finds a version of a template by its exact name, without any rights.
func (w *World) VersionNamed(template uuid.UUID, name string) (TemplateVersion, bool) {
	w.lock()
	defer w.unlock()
	if v := w.versionNamed(template, name); v != nil {
		return w.versionView(v), true
	}
	return TemplateVersion{}, false
}

// TemplateVersion reads a version by its ID.
func (w *World) TemplateVersion(actor, id uuid.UUID) (TemplateVersion, error) {
	w.lock()
	defer w.unlock()
	w.count("read version")
	v := w.readableVersion(actor, id)
	if v == nil {
		return TemplateVersion{}, notFound()
	}
	return w.versionView(v), nil
}

// VersionByName reads a version of a template by its exact name.
func (w *World) VersionByName(actor, templateID uuid.UUID, name string) (TemplateVersion, error) {
	w.lock()
	defer w.unlock()
	w.count("find version")
	t := w.template(templateID)
	if t == nil || t.deleted || !w.mayReadTemplate(actor, t) {
		return TemplateVersion{}, notFound()
	}
	v := w.versionNamed(templateID, name)
	if v == nil {
		return TemplateVersion{}, refuse(NotFound, "No template version found by name %q.", name)
	}
	return w.versionView(v), nil
}

// Versions lists the versions of a template, oldest first.
func (w *World) Versions(actor, templateID uuid.UUID) ([]TemplateVersion, error) {
	w.lock()
	defer w.unlock()
	w.count("list versions")
	t := w.template(templateID)
	if t == nil || t.deleted || !w.mayReadTemplate(actor, t) {
		return nil, notFound()
	}
	var found []*version
	for _, v := range w.versions {
		if v.template == templateID {
			found = append(found, v)
		}
	}
	slices.SortFunc(found, func(a, b *version) int { return int(a.order) - int(b.order) })
	views := make([]TemplateVersion, 0, len(found))
	for _, v := range found {
		views = append(views, w.versionView(v))
	}
	return views, nil
}

// ExternalAuths lists what a version asks of a user: Forbidden for another one for whom
// the actor may not make workspaces.
func (w *World) ExternalAuths(actor, versionID, userID uuid.UUID) ([]ExternalAuth, error) {
	w.lock()
	defer w.unlock()
	w.count("read external auth")
	v := w.readableVersion(actor, versionID)
	if v == nil {
		return nil, notFound()
	}
	if actor != userID && !w.mayChangeWorkspaces(actor, userID, v.organization) {
		return nil, forbidden()
	}
	return w.externalAuths(v, userID), nil
}

func (w *World) externalAuths(v *version, user uuid.UUID) []ExternalAuth {
	auths := slices.Clone(v.externalAuth)
	for i := range auths {
		auths[i].Authenticated = w.links[externalLink{user, auths[i].Provider}]
	}
	return auths
}

func (w *World) versionNamed(template uuid.UUID, name string) *version {
	for _, v := range w.versions {
		if v.template == template && v.name == name {
			return v
		}
	}
	return nil
}

// readableVersion is nil for a version that is not there or not for the actor to see.
// One without a template is seen by those who manage templates.
func (w *World) readableVersion(actor, id uuid.UUID) *version {
	v := w.versions[id]
	if v == nil {
		return nil
	}
	if t := w.template(v.template); t != nil && w.mayReadTemplate(actor, t) || w.mayManageTemplates(actor, v.organization) {
		return v
	}
	return nil
}

func (w *World) versionView(v *version) TemplateVersion {
	imported := v.job.view()
	imported.Provisioners, imported.Available = 0, 0
	if imported.Status == core.JobPending {
		imported.Provisioners, imported.Available = w.matched(v.organization, v.job.tags)
	}
	return TemplateVersion{
		ID: v.id, Name: v.name, Template: v.template, Organization: w.organization(v.organization).view(), CreatedBy: v.creator,
		Message: v.message, File: v.file,
		Archived: v.archived, Import: imported, HasExternalAgent: v.hasExternalAgent, CreatedAt: v.created, UpdatedAt: v.updated,
	}
}
