package core

import "github.com/google/uuid"

// CatalogTemplate is a template that a test can name.
type CatalogTemplate struct {
	ID uuid.UUID `json:"id"`
	// Ref is "<organization>.<template>", as Spec.Template has it.
	Ref         string `json:"ref"`
	DisplayName string `json:"displayName,omitempty"`
	// ActiveVersion is the ID of the active version.
	ActiveVersion uuid.UUID `json:"activeVersion"`
	Deprecated    bool      `json:"deprecated,omitempty"`
}

// CatalogVersion is a version that a test can name.
type CatalogVersion struct {
	ID     uuid.UUID `json:"id"`
	Name   string    `json:"name"`
	Active bool      `json:"active,omitempty"`
	// Message is what its author wrote about it.
	Message string `json:"message,omitempty"`
	// Import is the state of its import.
	Import JobStatus `json:"import"`
}

// VersionInputs is what can be chosen for a version.
type VersionInputs struct {
	Parameters []CatalogParameter `json:"parameters"`
	Presets    []CatalogPreset    `json:"presets"`
}

// CatalogParameter is a static parameter of a version.
type CatalogParameter struct {
	Name        string `json:"name"`
	DisplayName string `json:"displayName,omitempty"`
	Description string `json:"description,omitempty"`
	// Type is "string", "number", "bool" or "list(string)".
	Type     string `json:"type"`
	Default  string `json:"default,omitempty"`
	Required bool   `json:"required,omitempty"`
	// Options are the only values that are allowed; none allows any.
	Options []CatalogOption `json:"options,omitempty"`
	// Ephemeral ones count for one build only.
	Ephemeral bool `json:"ephemeral,omitempty"`
}

// CatalogOption is an allowed value of a parameter.
type CatalogOption struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// CatalogPreset is a named set of values.
type CatalogPreset struct {
	Name       string      `json:"name"`
	Default    bool        `json:"default,omitempty"`
	Parameters []Parameter `json:"parameters"`
}
