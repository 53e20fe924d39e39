package report

import (
	"time"

	"github.com/google/uuid"
)

// Push tells of a version that was made from a folder.
type Push struct {
	// Template is the template as ORGANIZATION.NAME.
	Template   string    `json:"template"`
	TemplateID uuid.UUID `json:"templateId,omitzero"`
	// Version is the new version; without an ID where none was made.
	Version PushedVersion `json:"version"`
	Message string        `json:"message,omitempty"`
	// Import is Coder's word for the state of its import, "succeeded" for a good one.
	Import string `json:"import,omitempty"`
	// ImportError is what Coder says of a failed import, masked.
	ImportError string `json:"importError,omitempty"`
	// ActiveBefore is the version that was active before the upload.
	ActiveBefore PushedVersion `json:"activeBefore,omitzero"`
	CreatedAt    time.Time     `json:"createdAt,omitzero"`
	// Error says why the push did not end well.
	Error string `json:"error,omitempty"`
	// ExitCode is set where a push ended by itself.
	ExitCode *int `json:"exitCode,omitempty"`
}

// PushedVersion names a version.
type PushedVersion struct {
	Name string    `json:"name,omitempty"`
	ID   uuid.UUID `json:"id,omitzero"`
}

// Promotion tells whether a version was made the active one.
type Promotion struct {
	Template string        `json:"template"`
	Version  PushedVersion `json:"version"`
	// Active tells that the version is the active one at the end; Changed that this run
	// made it so.
	Active  bool `json:"active"`
	Changed bool `json:"changed"`
	// Was is the version that was active before, Now the one that is at the end; empty
	// where it is not known.
	Was PushedVersion `json:"was,omitzero"`
	Now PushedVersion `json:"now,omitzero"`
	// Reason says in words why the version was not promoted.
	Reason string `json:"reason,omitempty"`
	// ExitCode is set where a promotion ended by itself.
	ExitCode *int `json:"exitCode,omitempty"`
}
