package core

import (
	"time"

	"github.com/google/uuid"
)

// Log is text that Coder keeps about a build or an agent's script. It can hold
// whatever the template printed: it is evidence for a person who asked for it and
// never enters a record, a log line or a metric.
type Log struct {
	// Source says where the text is from: "build", or the display name of a script.
	Source string
	// AgentID is set for an agent's script.
	AgentID uuid.UUID
	Text    string
	// Truncated tells that the beginning was cut to keep the bound.
	Truncated bool
}

// Evidence is what was read about a failed test before its workspace went.
type Evidence struct {
	TestID uuid.UUID
	Logs   []Log
	// Workspace is the state seen last, with its agents.
	Workspace Workspace
}

// StoredTransition tells a StatusSink what changed in a record, after it was
// stored.
type StoredTransition struct {
	At     time.Time
	Before Record
	After  Record
}
