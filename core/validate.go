package core

import (
	"errors"
	"fmt"
	"regexp"
	"unicode/utf8"

	"github.com/google/uuid"
)

// Name rules of lifecycle section 2, as Coder applies them.
const (
	// NamePattern is the rule for organization and template names, 1 to
	// MaxNameLength characters.
	NamePattern   = `^[a-zA-Z0-9]+(-[a-zA-Z0-9]+)*$`
	MaxNameLength = 32
	// VersionNamePattern is the rule for version names, 1 to
	// MaxVersionNameLength characters.
	VersionNamePattern   = `^[a-zA-Z0-9]+([_.-][a-zA-Z0-9]+)*$`
	MaxVersionNameLength = 64
)

var (
	namePattern        = regexp.MustCompile(NamePattern)
	versionNamePattern = regexp.MustCompile(VersionNamePattern)
	// reservedNames are compared as written: "New" is legal.
	reservedNames = map[string]bool{"new": true, "create": true}
)

// FieldError says which field of a spec breaks which rule. Its text never
// repeats a parameter's value.
type FieldError struct {
	// Field is the path of the field, for example "parameters[2].name".
	Field string
	// Value is what was given; empty where it must not be shown.
	Value string
	// Rule says what the field must be.
	Rule string
}

// Error names the field, the value if it may be shown, and the rule.
func (e *FieldError) Error() string {
	if e.Value == "" {
		return fmt.Sprintf("%s: %s", e.Field, e.Rule)
	}
	return fmt.Sprintf("%s: %q: %s", e.Field, e.Value, e.Rule)
}

// Validate reports every rule of lifecycle section 2 that the spec breaks, as
// joined *FieldError values, or nil. Defaults must have been filled in.
func (s Spec) Validate() error {
	var errs []error
	fail := func(field, value, rule string) {
		errs = append(errs, &FieldError{Field: field, Value: value, Rule: rule})
	}
	if _, err := ParseTemplateRef(s.Template); err != nil {
		errs = append(errs, err)
	}
	s.Version.validate(fail)
	validateParameters(s.Parameters, fail)
	if !utf8.ValidString(s.Preset) {
		fail("preset", "", notUTF8)
	} else if utf8.RuneCountInString(s.Preset) > MaxParameterNameLength {
		fail("preset", "", fmt.Sprintf("must have at most %d characters", MaxParameterNameLength))
	}
	if s.TimeoutSeconds < MinTimeoutSeconds || s.TimeoutSeconds > MaxTimeoutSeconds {
		fail("timeoutSeconds", fmt.Sprint(s.TimeoutSeconds),
			fmt.Sprintf("must be %d to %d seconds", MinTimeoutSeconds, MaxTimeoutSeconds))
	}
	if s.InputsTimeoutSeconds < 0 || s.InputsTimeoutSeconds > s.TimeoutSeconds {
		fail("inputsTimeoutSeconds", fmt.Sprint(s.InputsTimeoutSeconds),
			"must be 1 second to timeoutSeconds, or unset for no bound of its own")
	}
	if s.TTLSecondsAfterFinished != nil && *s.TTLSecondsAfterFinished < 0 {
		fail("ttlSecondsAfterFinished", fmt.Sprint(*s.TTLSecondsAfterFinished), "must be 0 or more")
	}
	if s.ControlPlaneRef == "" {
		fail("controlPlaneRef", "", "must name a control plane")
	}
	return errors.Join(errs...)
}

func (v VersionSelector) validate(fail func(field, value, rule string)) {
	set := 0
	for _, given := range []bool{v.Name != "", v.ID != "", v.Active} {
		if given {
			set++
		}
	}
	if set != 1 {
		fail("version", "", fmt.Sprintf("must set exactly one of name, id, active; %d are set", set))
		return
	}
	if v.Name != "" && (len(v.Name) > MaxVersionNameLength || !versionNamePattern.MatchString(v.Name)) {
		fail("version.name", v.Name, fmt.Sprintf("must be 1 to %d letters and digits, parts joined by single '_', '.' or '-'", MaxVersionNameLength))
	}
	if v.ID != "" {
		if id, err := uuid.Parse(v.ID); err != nil || len(v.ID) != 36 || id == uuid.Nil {
			fail("version.id", v.ID, "must be a UUID such as 3f2a7c1e-0000-4000-8000-000000000001")
		}
	}
}

// notUTF8 is the rule that other bytes break: JSON would store something else than was
// given.
const notUTF8 = "must be UTF-8"

func validateParameters(parameters []Parameter, fail func(field, value, rule string)) {
	if len(parameters) > MaxParameters {
		fail("parameters", "", fmt.Sprintf("must be at most %d, are %d", MaxParameters, len(parameters)))
	}
	seen := make(map[string]bool, len(parameters))
	for i, p := range parameters {
		field := fmt.Sprintf("parameters[%d]", i)
		if !utf8.ValidString(p.Name) {
			fail(field+".name", "", notUTF8)
		} else if n := utf8.RuneCountInString(p.Name); n < 1 || n > MaxParameterNameLength {
			fail(field+".name", "", fmt.Sprintf("must have 1 to %d characters, has %d", MaxParameterNameLength, n))
		} else if seen[p.Name] {
			fail(field+".name", p.Name, "is given twice; names must be unique")
		}
		seen[p.Name] = true
		if !utf8.ValidString(p.Value) {
			fail(field+".value", "", notUTF8)
		} else if n := utf8.RuneCountInString(p.Value); n > MaxParameterValueLength {
			fail(field+".value", "", fmt.Sprintf("must have at most %d characters, has %d", MaxParameterValueLength, n))
		}
	}
}

// nameRule returns what an organization's or template's name breaks, or "".
func nameRule(name string) string {
	switch {
	case len(name) < 1 || len(name) > MaxNameLength || !namePattern.MatchString(name):
		return fmt.Sprintf("must be 1 to %d letters and digits, parts joined by single '-'", MaxNameLength)
	case reservedNames[name]:
		return fmt.Sprintf("must not be %q: Coder reserves it", name)
	default:
		return ""
	}
}
