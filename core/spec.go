package core

import (
	"strings"
	"time"

	"github.com/google/uuid"
)

// Bounds and defaults of a Spec (lifecycle section 2).
const (
	// DefaultTimeoutSeconds is the timeout of a spec that names none.
	DefaultTimeoutSeconds = 900
	// MinTimeoutSeconds and MaxTimeoutSeconds bound Spec.TimeoutSeconds.
	MinTimeoutSeconds = 60
	MaxTimeoutSeconds = 7200
	// MaxParameters is the largest number of parameters in a spec.
	MaxParameters = 64
	// MaxParameterNameLength and MaxParameterValueLength count characters.
	MaxParameterNameLength  = 128
	MaxParameterValueLength = 4096
)

// Spec says what a test tests. It never changes once a record was made from it.
type Spec struct {
	// Template is "<organization>.<template>"; see ParseTemplateRef for its rule.
	Template string `json:"template"`
	// Version selects the template version; exactly one of its fields is set.
	Version VersionSelector `json:"version"`
	// Parameters are given to the workspace. They are stored in plain text:
	// never put secrets here. Up to MaxParameters, names unique.
	Parameters []Parameter `json:"parameters,omitempty"`
	// Preset optionally names a preset of the version. Parameters win over it.
	Preset string `json:"preset,omitempty"`
	// TimeoutSeconds bounds the run up to the recorded result, in seconds from
	// the start: MinTimeoutSeconds to MaxTimeoutSeconds. Cleanup goes on after it.
	TimeoutSeconds int `json:"timeoutSeconds,omitempty"`
	// InputsTimeoutSeconds bounds the waits that come before the create request,
	// in seconds: 1 to TimeoutSeconds. Zero means no bound but TimeoutSeconds.
	InputsTimeoutSeconds int `json:"inputsTimeoutSeconds,omitempty"`
	// TTLSecondsAfterFinished, when set, deletes the record of a finished test
	// this many seconds after its workspace is gone: 0 or more.
	TTLSecondsAfterFinished *int `json:"ttlSecondsAfterFinished,omitempty"`
	// ControlPlaneRef names the control plane that the test runs against.
	ControlPlaneRef string `json:"controlPlaneRef"`
}

// VersionSelector selects one version of a template. Exactly one field is set.
type VersionSelector struct {
	// Name is the name of a version of the template.
	Name string `json:"name,omitempty"`
	// ID is the ID of a version, as a UUID string.
	ID string `json:"id,omitempty"`
	// Active selects the version that is active when Coder is first asked.
	Active bool `json:"active,omitempty"`
}

// String returns the selector as the CLI's --version takes it.
func (v VersionSelector) String() string {
	switch {
	case v.Active:
		return "active"
	case v.ID != "":
		return v.ID
	default:
		return v.Name
	}
}

// uuidLength is the length of a UUID in its usual form. uuid.Parse takes others too, and
// one of them, 32 hex digits, is a plausible name: a checksum.
const uuidLength = 36

// ParseVersion reads a selector as people write it: "active", an ID, or a name. A version
// that is itself named "active", or like a UUID, can be given by its ID only.
func ParseVersion(text string) VersionSelector {
	if text == "active" {
		return VersionSelector{Active: true}
	}
	if id, err := uuid.Parse(text); err == nil && len(text) == uuidLength {
		return VersionSelector{ID: id.String()}
	}
	return VersionSelector{Name: text}
}

// Parameter is one value for a parameter of the template version.
type Parameter struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// TemplateRef is the parsed form of Spec.Template. Coder looks both names up
// without regard to case.
type TemplateRef struct {
	Organization string
	Template     string
}

// ParseTemplateRef splits "<organization>.<template>". The error is a
// *FieldError for the field "template".
func ParseTemplateRef(ref string) (TemplateRef, error) {
	organization, template, found := strings.Cut(ref, ".")
	if !found {
		return TemplateRef{}, &FieldError{
			Field: "template", Value: ref,
			Rule: `must be "<organization>.<template>", for example "coder.docker"`,
		}
	}
	for _, part := range []struct{ what, name string }{
		{"organization", organization}, {"template", template},
	} {
		if rule := nameRule(part.name); rule != "" {
			return TemplateRef{}, &FieldError{
				Field: "template", Value: ref, Rule: "its " + part.what + " name " + rule,
			}
		}
	}
	return TemplateRef{Organization: organization, Template: template}, nil
}

// WithDefaults returns the spec with the defaults of lifecycle section 2 filled in.
func (s Spec) WithDefaults() Spec {
	if s.TimeoutSeconds == 0 {
		s.TimeoutSeconds = DefaultTimeoutSeconds
	}
	return s
}

// Timeout is TimeoutSeconds as a duration.
func (s Spec) Timeout() time.Duration { return time.Duration(s.TimeoutSeconds) * time.Second }

// InputsTimeout is InputsTimeoutSeconds as a duration; zero means unbounded.
func (s Spec) InputsTimeout() time.Duration {
	return time.Duration(s.InputsTimeoutSeconds) * time.Second
}

// VersionID is Version.ID parsed, or uuid.Nil when the spec names none.
func (s Spec) VersionID() uuid.UUID {
	id, err := uuid.Parse(s.Version.ID)
	if err != nil {
		return uuid.Nil
	}
	return id
}
