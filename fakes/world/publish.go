package world

import (
	"bytes"
	"regexp"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
)

// PlanVersions sets how versions made through a front end go: the import, parameters
// and plans of the spec that plan returns for a version's name and its uploaded tar.
// Until then they import in 1.5 s and start one agent.
func (w *World) PlanVersions(plan func(name string, tar []byte) VersionSpec) {
	w.lock()
	defer w.unlock()
	w.published = plan
}

// file is an uploaded tar.
type file struct {
	owner uuid.UUID
	tar   []byte
}

// UploadFile stores a tar: the same content of the same user has the same ID.
func (w *World) UploadFile(actor uuid.UUID, tar []byte) uuid.UUID {
	w.lock()
	defer w.unlock()
	for id, f := range w.files {
		if f.owner == actor && bytes.Equal(f.tar, tar) {
			return id
		}
	}
	id := w.newID(idFile)
	w.files[id] = file{owner: actor, tar: bytes.Clone(tar)}
	w.record(Change{Actor: actor, Op: "upload file"}, nil)
	return id
}

// PublishVersion asks for a version made from an uploaded file.
type PublishVersion struct {
	Organization string
	// Template is uuid.Nil for a version that will make a new template.
	Template uuid.UUID
	Name     string
	Message  string
	File     uuid.UUID
	// Tags are the provisioner tags beside Coder's own. The deployment's daemons have
	// none, so that an import that wants one waits forever.
	Tags map[string]string
	// Variables are the names of the Terraform variables that are given a value.
	Variables []string
}

// PublishVersion makes a version and starts its import. It does not become active.
func (w *World) PublishVersion(actor uuid.UUID, request PublishVersion) (TemplateVersion, error) {
	w.lock()
	defer w.unlock()
	change := Change{Actor: actor, Op: "publish version", Name: request.Name}
	v, refused := w.tryPublish(actor, request)
	if v != nil {
		change.Version = v.id
	}
	w.record(change, refused)
	if refused != nil {
		return TemplateVersion{}, refused
	}
	return w.versionView(v), nil
}

func (w *World) tryPublish(actor uuid.UUID, request PublishVersion) (*version, *Error) {
	org := w.findOrganization(request.Organization)
	if org == nil || !w.mayReadOrganization(actor, org.id) {
		return nil, notFound()
	}
	if request.Name != "" && (len(request.Name) > 64 || !versionName.MatchString(request.Name)) {
		return nil, invalidField("name", "Validation failed for tag \"template_version_name\" with value: \""+request.Name+"\"")
	}
	if request.Template != uuid.Nil {
		if t := w.template(request.Template); t == nil || t.deleted || !w.mayReadTemplate(actor, t) {
			return nil, refuse(NotFound, "Template does not exist.")
		}
	}
	file, ok := w.files[request.File]
	if !ok || file.owner != actor && !w.mayManageTemplates(actor, org.id) {
		return nil, refuse(NotFound, "File not found.")
	}
	if !w.mayManageTemplates(actor, org.id) {
		// Found out within the transaction (seen).
		return nil, refuse(Internal, "Internal error creating template version.")
	}
	if request.Name == "" {
		request.Name = "v" + w.stamp().Format("20060102150405.000000")
	}
	if request.Template != uuid.Nil && w.versionNamed(request.Template, request.Name) != nil {
		return nil, refuse(Conflict, "A template version with name %q already exists for this template.", request.Name)
	}
	spec := VersionSpec{
		Import: ImportPlan{Queue: 100 * time.Millisecond, Run: 1400 * time.Millisecond},
		Start:  []BuildPlan{{Run: time.Second, Agents: []AgentPlan{ReadyAgent("main", 200*time.Millisecond, 100*time.Millisecond)}}},
		Stop:   []BuildPlan{{Run: time.Second}},
		Delete: []BuildPlan{{Run: time.Second}},
	}
	if w.published != nil {
		spec = w.published(request.Name, file.tar)
	}
	given := slices.Clone(request.Variables)
	if t := w.template(request.Template); t != nil && w.versions[t.active] != nil {
		// What is not given is as in the active version (seen).
		given = append(given, w.versions[t.active].given...)
	}
	for _, name := range spec.Variables {
		if !slices.Contains(given, name) {
			spec.Import.Ends, spec.Import.Error = core.JobFailed, "required template variables need values: "+name
		}
	}
	spec.Template, spec.Name = request.Template, request.Name
	if len(request.Tags) > 0 {
		spec.Tags = request.Tags
	}
	v := w.addVersion(org.id, actor, spec)
	v.message, v.file, v.given = request.Message, request.File, given
	return v, nil
}

// versionName is Coder's rule for the names of versions (source).
var versionName = regexp.MustCompile(`^[a-zA-Z0-9]+(?:[_.-][a-zA-Z0-9]+)*$`)

// TemplateRights is what POST /authcheck says about making versions of a template and
// promoting them.
func (w *World) TemplateRights(actor, templateID uuid.UUID) bool {
	w.lock()
	defer w.unlock()
	w.count("check rights")
	t := w.template(templateID)
	return t != nil && !t.deleted && w.mayManageTemplates(actor, t.organization)
}

// ImportLog reads the log of a version's import.
func (w *World) ImportLog(actor, versionID uuid.UUID) ([]LogLine, error) {
	w.lock()
	defer w.unlock()
	w.count("read import log")
	v := w.readableVersion(actor, versionID)
	if v == nil {
		return nil, notFound()
	}
	return slices.Clone(v.logs), nil
}

// CancelImport marks the import of a version as canceled: one that nobody took has ended
// with that.
func (w *World) CancelImport(actor, versionID uuid.UUID) error {
	w.lock()
	defer w.unlock()
	refused := w.tryCancelImport(actor, versionID)
	w.record(Change{Actor: actor, Op: "cancel import", Version: versionID}, refused)
	if refused != nil {
		return refused
	}
	return nil
}

func (w *World) tryCancelImport(actor, versionID uuid.UUID) *Error {
	v := w.readableVersion(actor, versionID)
	switch {
	case v == nil:
		return notFound()
	case !v.job.completed.IsZero():
		return refuse(Invalid, "Job has already completed!")
	case !v.job.canceled.IsZero():
		return refuse(Invalid, "Job has already been marked as canceled!")
	case !w.mayManageTemplates(actor, v.organization):
		return refuse(Internal, "Internal error updating provisioner job.")
	}
	v.job.canceled, v.job.updated = w.stamp(), w.stamp()
	if v.next != nil {
		v.next.off = true
	}
	end := func() { v.job.completed, v.job.updated, v.updated = w.stamp(), w.stamp(), w.stamp() }
	if v.job.started.IsZero() {
		end()
		return nil
	}
	v.next = w.in(v.cancel, end)
	return nil
}

// CreateTemplate makes a template of a version that belongs to none yet.
func (w *World) CreateTemplate(actor, organization uuid.UUID, spec TemplateSpec, versionID uuid.UUID) (Template, error) {
	w.lock()
	defer w.unlock()
	spec.Organization = organization
	t, refused := w.tryCreateTemplate(actor, spec, versionID)
	w.record(Change{Actor: actor, Op: "create template", Name: spec.Name, Version: versionID}, refused)
	if refused != nil {
		return Template{}, refused
	}
	return w.templateView(t), nil
}

func (w *World) tryCreateTemplate(actor uuid.UUID, spec TemplateSpec, versionID uuid.UUID) (*template, *Error) {
	org, v := w.organization(spec.Organization), w.versions[versionID]
	switch {
	case org == nil || !w.mayReadOrganization(actor, org.id):
		return nil, notFound()
	case !w.mayManageTemplates(actor, org.id):
		return nil, forbidden()
	case !nameValid(spec.Name):
		return nil, invalidField("name", "Validation failed for tag \"template_name\" with value: \""+spec.Name+"\"")
	case w.templateNamed(org.id, spec.Name) != nil:
		return nil, refuse(Conflict, "Template with name %q already exists.", spec.Name)
	case v == nil || v.organization != org.id:
		return nil, refuse(NotFound, "Template version %q does not exist.", versionID)
	case v.archived:
		return nil, refuse(Invalid, "Template version %s is archived.", versionID)
	case v.template != uuid.Nil:
		return nil, refuse(Invalid, "Template version %s is already part of a template", versionID)
	}
	t := w.addTemplate(spec)
	t.active, v.template = v.id, t.id
	return t, nil
}

// Promote makes a version the active one, whatever was active (source: no
// precondition).
func (w *World) Promote(actor, templateID, versionID uuid.UUID) error {
	w.lock()
	defer w.unlock()
	refused := w.tryPromote(actor, templateID, versionID)
	w.record(Change{Actor: actor, Op: "promote", Version: versionID}, refused)
	if refused != nil {
		return refused
	}
	return nil
}

func (w *World) tryPromote(actor, templateID, versionID uuid.UUID) *Error {
	t, v := w.template(templateID), w.versions[versionID]
	switch {
	case t == nil || t.deleted || !w.mayReadTemplate(actor, t):
		return notFound()
	case v == nil:
		return refuse(NotFound, "Template version not found.")
	case v.template != t.id:
		return refuse(Invalid, "The provided template version doesn't belong to the specified template.")
	case v.job.status() != core.JobSucceeded:
		return refuse(Forbidden, "Only versions that have been built successfully can be promoted.")
	case v.archived:
		return refuse(Invalid, "The provided template version is archived.")
	case !w.mayManageTemplates(actor, t.organization):
		return refuse(Internal, "Internal error updating active template version.")
	}
	t.active, t.updated = v.id, w.stamp()
	return nil
}

// SetArchived archives a version or takes it back.
func (w *World) SetArchived(actor, versionID uuid.UUID, archived bool) error {
	w.lock()
	defer w.unlock()
	op := "unarchive version"
	if archived {
		op = "archive version"
	}
	refused := w.trySetArchived(actor, versionID, archived)
	w.record(Change{Actor: actor, Op: op, Version: versionID}, refused)
	if refused != nil {
		return refused
	}
	return nil
}

func (w *World) trySetArchived(actor, versionID uuid.UUID, archived bool) *Error {
	v := w.readableVersion(actor, versionID)
	switch {
	case v == nil || !w.mayManageTemplates(actor, v.organization):
		return notFound()
	case v.archived && archived:
		return refuse(Invalid, "Template version already archived")
	case !v.archived && !archived:
		return refuse(Invalid, "Template version already unarchived")
	}
	v.archived, v.updated = archived, w.stamp()
	return nil
}
