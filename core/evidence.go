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
	// Record is the test's, as it was when this was read.
	Record Record
	// CoderVersion is the version of Coder that answered, such as "v2.36.1".
	CoderVersion string
	Logs         []Log
	// Workspace is the state seen last, with its agents.
	Workspace Workspace
}

// LogLine is one line of a build's or an import's log. IDs rise.
type LogLine struct {
	ID    int64
	Stage string
	Text  string
}

// Excerpt is the end of one log, for a person: printable, with the known secrets masked.
type Excerpt struct {
	Title string
	Lines []string
	// More tells that the log began before the first line.
	More bool
}

// StoredTransition tells a StatusSink what changed in a record, after it was
// stored.
type StoredTransition struct {
	At     time.Time
	Before Record
	After  Record
	// CoderVersion is the version of Coder that answered in this step, such as
	// "v2.36.1"; empty where none was asked.
	CoderVersion string
}
