package world

import (
	"strings"
	"time"

	"github.com/google/uuid"
)

// TemplateSpec describes a new template.
type TemplateSpec struct {
	Organization uuid.UUID
	Name         string
	// Classic selects the static parameter rules.
	Classic bool
	// ForbidCancel keeps everybody but site owners from canceling running jobs.
	ForbidCancel bool
}

// Template is a template as a caller who may read it sees it.
type Template struct {
	ID            uuid.UUID
	Name          string
	Organization  Organization
	ActiveVersion uuid.UUID
	// Deprecated is the message to the users of a deprecated template.
	Deprecated   string
	Classic      bool
	ForbidCancel bool
	CreatedAt    time.Time
	UpdatedAt    time.Time
}

type template struct {
	id           uuid.UUID
	name         string
	organization uuid.UUID
	active       uuid.UUID
	deprecated   string
	classic      bool
	forbidCancel bool
	deleted      bool
	created      time.Time
	updated      time.Time
}

// AddTemplate makes a template without versions.
func (w *World) AddTemplate(spec TemplateSpec) Template {
	w.lock()
	defer w.unlock()
	return w.templateView(w.addTemplate(spec))
}

func (w *World) addTemplate(spec TemplateSpec) *template {
	t := &template{
		id: w.newID(idTemplate), name: spec.Name, organization: spec.Organization, classic: spec.Classic,
		forbidCancel: spec.ForbidCancel, created: w.stamp(), updated: w.stamp(),
	}
	w.templates = append(w.templates, t)
	return t
}

// Template reads a template.
func (w *World) Template(actor, id uuid.UUID) (Template, error) {
	w.lock()
	defer w.unlock()
	w.count("read template")
	t := w.template(id)
	if t == nil || t.deleted || !w.mayReadTemplate(actor, t) {
		return Template{}, notFound()
	}
	return w.templateView(t), nil
}

// Templates lists the templates that the actor may read, of one organization unless it
// is uuid.Nil.
func (w *World) Templates(actor, organization uuid.UUID) []Template {
	w.lock()
	defer w.unlock()
	w.count("list templates")
	var views []Template
	for _, t := range w.templates {
		if !t.deleted && w.mayReadTemplate(actor, t) && (organization == uuid.Nil || t.organization == organization) {
			views = append(views, w.templateView(t))
		}
	}
	return views
}

// TemplateByName reads a template of an organization by name, without regard to case.
func (w *World) TemplateByName(actor, organization uuid.UUID, name string) (Template, error) {
	w.lock()
	defer w.unlock()
	w.count("find template")
	t := w.templateNamed(organization, name)
	if t == nil || !w.mayReadTemplate(actor, t) {
		return Template{}, notFound()
	}
	return w.templateView(t), nil
}

func (w *World) template(id uuid.UUID) *template {
	for _, t := range w.templates {
		if t.id == id {
			return t
		}
	}
	return nil
}

func (w *World) templateNamed(organization uuid.UUID, name string) *template {
	for _, t := range w.templates {
		if !t.deleted && t.organization == organization && strings.EqualFold(t.name, name) {
			return t
		}
	}
	return nil
}

func (w *World) templateView(t *template) Template {
	return Template{
		ID: t.id, Name: t.name, Organization: w.organization(t.organization).view(), ActiveVersion: t.active,
		Deprecated: t.deprecated, Classic: t.classic, ForbidCancel: t.forbidCancel, CreatedAt: t.created, UpdatedAt: t.updated,
	}
}

func orElse(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}
