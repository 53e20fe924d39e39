package page

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/assay-dev/assay/apps/http/service"
	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/ports"
)

// sweepAge is the age from which on the page calls a workspace proven.
const sweepAge = 24 * time.Hour

// form is what a person typed to start a test.
type form struct {
	Name, Plane, Template, Version, Preset string
	// Minutes is the timeout.
	Minutes string
	Retain  bool
	// Values are by parameter; Lines are further ones, "name=value" each.
	Values map[string]string
	Lines  string
	// Key has the test be made once, however often the form is sent.
	Key string
}

type formBody struct {
	Form   form
	Planes []service.Plane
	// Templates, Versions and Inputs are what Coder offers for what is chosen so far.
	Templates []core.CatalogTemplate
	Versions  []core.CatalogVersion
	Inputs    core.VersionInputs
	// Offline says why Coder offers nothing.
	Offline string
	// Problems are by field; those of no field are under "".
	Problems map[string]string
}

// Problem is what is wrong with a field.
func (b formBody) Problem(field string) string { return b.Problems[field] }

// Value is what was typed for a parameter.
func (b formBody) Value(parameter string) string { return b.Form.Values[parameter] }

// OddPreset is the preset that was asked for, if Coder does not offer it: it is shown all
// the same, since it is what would be sent.
func (b formBody) OddPreset() string {
	offered := slices.ContainsFunc(b.Inputs.Presets, func(preset core.CatalogPreset) bool { return preset.Name == b.Form.Preset })
	if offered {
		return ""
	}
	return b.Form.Preset
}

// OddValue is the same for the value of a parameter that has options.
func (b formBody) OddValue(parameter core.CatalogParameter) string {
	value := b.Value(parameter.Name)
	if slices.ContainsFunc(parameter.Options, func(option core.CatalogOption) bool { return option.Value == value }) {
		return ""
	}
	return value
}

const valuePrefix = "value."

func readForm(r *http.Request) form {
	f := form{
		Name: r.FormValue("name"), Plane: r.FormValue("controlPlane"), Template: strings.TrimSpace(r.FormValue("template")),
		Version: strings.TrimSpace(r.FormValue("version")), Preset: r.FormValue("preset"), Minutes: r.FormValue("minutes"),
		Retain: r.FormValue("retain") != "", Lines: r.FormValue("lines"), Key: r.FormValue("key"), Values: map[string]string{},
	}
	for name, values := range r.Form {
		if parameter, ok := strings.CutPrefix(name, valuePrefix); ok && len(values) > 0 && values[0] != "" {
			f.Values[parameter] = values[0]
		}
	}
	f.Version, f.Minutes = firstOf(f.Version, "active"), firstOf(f.Minutes, "15")
	return f
}

func (p *Pages) newTest(w http.ResponseWriter, r *http.Request) error {
	return p.showForm(w, r, http.StatusOK, readForm(r), nil)
}

func (p *Pages) showForm(w http.ResponseWriter, r *http.Request, status int, f form, problems map[string]string) error {
	body := formBody{Form: f, Problems: problems}
	var err error
	if body.Planes, err = p.Service.ControlPlanes(r.Context()); err != nil {
		return err
	}
	body.Planes = slices.DeleteFunc(body.Planes, func(plane service.Plane) bool { return plane.Role == "viewer" || plane.State == "removed" })
	if len(body.Planes) > 0 && body.Form.Plane == "" {
		body.Form.Plane = body.Planes[0].Name
	}
	if body.Form.Key == "" {
		var bits [16]byte
		if _, err := io.ReadFull(p.Random, bits[:]); err != nil {
			return err
		}
		body.Form.Key = "page-" + hex.EncodeToString(bits[:])
	}
	if body.Form.Plane != "" {
		if err := p.offer(r.Context(), &body); err != nil {
			body.Offline = err.Error()
		}
	}
	return p.show(w, r, status, "new", frame{Title: "New test", Here: "new", Body: body})
}

// offer asks Coder for what can be chosen.
func (p *Pages) offer(ctx context.Context, body *formBody) (err error) {
	if body.Templates, err = p.Service.Templates(ctx, body.Form.Plane); err != nil {
		return err
	}
	chosen := slices.IndexFunc(body.Templates, func(t core.CatalogTemplate) bool { return strings.EqualFold(t.Ref, body.Form.Template) })
	if chosen < 0 {
		return nil
	}
	found := body.Templates[chosen]
	if body.Versions, err = p.Service.Versions(ctx, body.Form.Plane, found.ID); err != nil {
		return err
	}
	// Another version's parameters would be a mistake: one that Coder does not list, such as
	// one that is just typed, has none here.
	version := found.ActiveVersion
	if body.Form.Version != "active" {
		listed := slices.IndexFunc(body.Versions, func(one core.CatalogVersion) bool {
			return one.Name == body.Form.Version || one.ID.String() == body.Form.Version
		})
		if listed < 0 {
			return nil
		}
		version = body.Versions[listed].ID
	}
	body.Inputs, err = p.Service.Inputs(ctx, body.Form.Plane, version)
	return err
}

func (p *Pages) create(w http.ResponseWriter, r *http.Request) error {
	f := readForm(r)
	asked, problems := f.asked()
	if len(problems) == 0 {
		test, _, err := p.Service.Create(r.Context(), asked, f.Key)
		var known *service.Error
		switch {
		case err == nil:
			http.Redirect(w, r, "/tests/"+test.ID.String(), http.StatusSeeOther)
			return nil
		case !errors.As(err, &known):
			return err
		}
		problems = map[string]string{}
		for _, field := range known.Fields {
			name := fieldOf(field.Name)
			problems[name] = strings.TrimPrefix(problems[name]+"; ", "; ") + field.Rule
		}
		switch {
		case errors.Is(err, ports.ErrKeyReused):
			// Somebody came back to a form that was sent, and changed it.
			problems[""], f.Key = "A test was made with this form already. Send it again to make another one, with what it says now.", ""
		case len(known.Fields) == 0:
			problems[""] = known.Message
		}
	}
	return p.showForm(w, r, http.StatusUnprocessableEntity, f, problems)
}

// fieldOf is the field of the form that a field of the request is on.
func fieldOf(name string) string {
	switch {
	case strings.HasPrefix(name, "parameters"):
		return "lines"
	case strings.HasPrefix(name, "version"):
		return "version"
	case name == "controlPlaneRef":
		return "controlPlane"
	case name == "timeoutSeconds":
		return "minutes"
	case slices.Contains([]string{"name", "template", "preset", "retain"}, name):
		return name
	default:
		return ""
	}
}

// asked is the test that the form asks for, or what is wrong with it.
func (f form) asked() (asked service.NewTest, problems map[string]string) {
	problems = map[string]string{}
	minutes, err := strconv.Atoi(f.Minutes)
	if err != nil || minutes < 1 || minutes > core.MaxTimeoutSeconds/60 {
		problems["minutes"] = fmt.Sprintf("must be a whole number of minutes, 1 to %d", core.MaxTimeoutSeconds/60)
	}
	asked = service.NewTest{Name: f.Name, Retain: f.Retain, Spec: core.Spec{
		Template: f.Template, Version: core.ParseVersion(f.Version), Preset: f.Preset, TimeoutSeconds: minutes * 60, ControlPlaneRef: f.Plane,
	}}
	for name, value := range f.Values {
		asked.Spec.Parameters = append(asked.Spec.Parameters, core.Parameter{Name: name, Value: value})
	}
	slices.SortFunc(asked.Spec.Parameters, func(a, b core.Parameter) int { return strings.Compare(a.Name, b.Name) })
	for line := range strings.Lines(strings.ReplaceAll(f.Lines, "\r\n", "\n")) {
		line = strings.TrimSuffix(line, "\n")
		if strings.TrimSpace(line) == "" {
			continue
		}
		name, value, found := strings.Cut(line, "=")
		if !found {
			problems["lines"] = "each line must be name=value"
			continue
		}
		asked.Spec.Parameters = append(asked.Spec.Parameters, core.Parameter{Name: strings.TrimSpace(name), Value: value})
	}
	return asked, problems
}
