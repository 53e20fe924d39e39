package world

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"

	"github.com/google/uuid"
)

// ParameterSpec is one parameter of a version, with its rules.
type ParameterSpec struct {
	Name string
	// Type is "string" (the zero value too), "number", "bool" or "list(string)".
	Type string
	// Default is the value when none is given; a parameter that is Required has none.
	Default  string
	Required bool
	// Options, if there are any, are the only values.
	Options []string
	// Regex must match a string; RegexError is what Coder says otherwise.
	Regex      string
	RegexError string
	// Min and Max bound a number; nil for no bound.
	Min *int
	Max *int
}

// ParameterValue is a value for a parameter.
type ParameterValue struct{ Name, Value string }

// EvaluatedParameter is a parameter as Coder's dynamic evaluation sees it.
type EvaluatedParameter struct {
	Spec  ParameterSpec
	Value string
	// Problem is what the rules have against the value; nil for nothing.
	Problem *ParameterProblem
}

// ParameterProblem is what a parameter's rules have against a value.
type ParameterProblem struct {
	// Missing tells that there is no value and that one is required.
	Missing bool
	// Text can repeat the value.
	Text string
}

// Parameters lists a version's parameters with their static rules.
func (w *World) Parameters(actor, versionID uuid.UUID) ([]ParameterSpec, error) {
	w.lock()
	defer w.unlock()
	w.count("read parameters")
	v, refused := w.importedVersion(actor, versionID)
	if refused != nil {
		return nil, refused
	}
	return slices.Clone(v.parameters), nil
}

// Presets lists a version's presets.
func (w *World) Presets(actor, versionID uuid.UUID) ([]Preset, error) {
	w.lock()
	defer w.unlock()
	w.count("read presets")
	v := w.readableVersion(actor, versionID)
	if v == nil {
		return nil, notFound()
	}
	return slices.Clone(v.presets), nil
}

// OwnerField is the field of the refusal of EvaluateParameters that is about the owner:
// over HTTP that is a diagnostic, not a 404 (source).
const OwnerField = "owner_id"

// EvaluateParameters is the dynamic evaluation of a version's parameters for an owner.
// Like Coder's it says nothing about names that the version does not define.
func (w *World) EvaluateParameters(actor, versionID, ownerID uuid.UUID, values map[string]string) ([]EvaluatedParameter, error) {
	w.lock()
	defer w.unlock()
	w.count("evaluate parameters")
	v, refused := w.importedVersion(actor, versionID)
	if refused != nil {
		return nil, refused
	}
	if owner := w.user(ownerID); owner == nil || !w.mayReadMember(actor, owner) {
		return nil, &Error{Kind: NotFound, Message: "Owner not found", Fields: []FieldError{{Field: OwnerField}}}
	}
	evaluated := make([]EvaluatedParameter, 0, len(v.parameters))
	for _, spec := range v.parameters {
		value, given := values[spec.Name]
		e := EvaluatedParameter{Spec: spec, Value: value}
		if !given {
			e.Value = spec.Default
		}
		e.Problem = spec.Judge(e.Value, given, false)
		evaluated = append(evaluated, e)
	}
	return evaluated, nil
}

// importedVersion refuses a version whose import did not end.
func (w *World) importedVersion(actor, versionID uuid.UUID) (*version, *Error) {
	v := w.readableVersion(actor, versionID)
	if v == nil {
		return nil, notFound()
	}
	if v.job.completed.IsZero() {
		return nil, refuse(TooEarly, "Template version job has not finished")
	}
	return v, nil
}

// resolve judges the values given for a new workspace. Names that the version does not
// define are ignored, with a build that uses the default (seen).
func (v *version) resolve(classic bool, given []ParameterValue, preset *Preset) ([]ParameterValue, *Error) {
	values := map[string]string{}
	for _, p := range given {
		values[p.Name] = p.Value
	}
	if preset != nil {
		// Coder gives the preset the last word, whatever is asked for beside it (source).
		maps.Copy(values, preset.Values)
	}
	resolved := make([]ParameterValue, 0, len(v.parameters))
	for _, spec := range v.parameters {
		value, ok := values[spec.Name]
		if problem := spec.Judge(value, ok, classic); problem != nil {
			message := "Unable to validate parameters"
			if classic {
				message = fmt.Sprintf("Unable to validate parameter %q", spec.Name)
			}
			return nil, &Error{Kind: Invalid, Message: message, Detail: problem.Text, Fields: []FieldError{{spec.Name, problem.Text}}}
		}
		if !ok || classic && value == "" {
			value = spec.Default
		}
		resolved = append(resolved, ParameterValue{spec.Name, value})
	}
	return resolved, nil
}

// Judge says what the rules have against a value, or against none being given. Under the
// classic flow an empty value is none, and the type of a number without bounds is not
// looked at (source).
func (s ParameterSpec) Judge(value string, given, classic bool) *ParameterProblem {
	if !given || classic && value == "" {
		if s.Required {
			return &ParameterProblem{Missing: true, Text: "required parameter not provided"}
		}
		return nil // the default is the template's own business
	}
	if text := s.against(value, classic); text != "" {
		return &ParameterProblem{Text: text}
	}
	return nil
}

// against is what the rules say against a value; empty for nothing.
func (s ParameterSpec) against(value string, classic bool) string {
	if len(s.Options) > 0 && !slices.Contains(s.Options, value) {
		return fmt.Sprintf("value %q must be one of the options %q", value, s.Options)
	}
	switch s.Type {
	case "number":
		return s.againstNumber(value, classic)
	case "bool":
		if value != "true" && value != "false" {
			return fmt.Sprintf("value %q is not a boolean", value)
		}
	case "list(string)":
		var list []string
		if json.Unmarshal([]byte(value), &list) != nil {
			return fmt.Sprintf("value %q is not a list of strings", value)
		}
	default:
		if s.Regex != "" && !regexp.MustCompile(s.Regex).MatchString(value) {
			return orElse(s.RegexError, fmt.Sprintf("value %q does not match %s", value, s.Regex))
		}
	}
	return ""
}

func (s ParameterSpec) againstNumber(value string, classic bool) string {
	if classic && s.Min == nil && s.Max == nil {
		return ""
	}
	number, err := strconv.Atoi(value)
	if err != nil {
		return fmt.Sprintf("value %q is not a number", value)
	}
	if s.Min != nil && number < *s.Min || s.Max != nil && number > *s.Max {
		return fmt.Sprintf("value %d is out of range", number)
	}
	return ""
}

// preset finds a preset by ID.
func (v *version) preset(id uuid.UUID) *Preset {
	for i := range v.presets {
		if v.presets[i].ID == id {
			return &v.presets[i]
		}
	}
	return nil
}

// matchingPreset is the preset that Coder takes when none is asked for: the largest of
// those whose every value is given (source).
func (v *version) matchingPreset(given []ParameterValue) *Preset {
	var best *Preset
	for i := range v.presets {
		preset := &v.presets[i]
		missing := slices.ContainsFunc(preset.Sorted(), func(p ParameterValue) bool { return !slices.Contains(given, p) })
		if !missing && len(preset.Values) > 0 && (best == nil || len(preset.Values) > len(best.Values)) {
			best = preset
		}
	}
	return best
}
