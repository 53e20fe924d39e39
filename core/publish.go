package core

import (
	"time"

	"github.com/google/uuid"
)

// NewVersion describes a version to make for a template that exists.
type NewVersion struct {
	OrganizationID uuid.UUID
	TemplateID     uuid.UUID
	// FileID is the uploaded archive that the version is made of.
	FileID  uuid.UUID
	Name    string
	Message string
	// Tags are the provisioner tags that the import asks for beside Coder's own.
	Tags map[string]string
	// Variables are the values of the template's Terraform variables.
	Variables []Variable
}

// Variable is the value of one Terraform variable of a template, which can be a secret.
type Variable struct {
	Name  string
	Value Secret
}

// PublishedVersion is a version as whoever publishes it sees it.
type PublishedVersion struct {
	TemplateVersion
	Message string
	// CreatedBy is the user who made it, FileID the archive that it was made of.
	CreatedBy uuid.UUID
	FileID    uuid.UUID
	CreatedAt time.Time
	// ImportError is what the provisioner said of a failed import. It can hold what the
	// template printed: evidence for a person.
	ImportError string
	// Provisioners is how many daemons could take the pending import; -1 when Coder does
	// not say.
	Provisioners int
	// Tags are the provisioner tags that the import wants, as "key=value", sorted.
	Tags []string
}

// Done reports whether the import has ended.
func (v PublishedVersion) Done() bool {
	switch v.Import {
	case JobSucceeded, JobFailed, JobCanceled:
		return true
	default:
		return false
	}
}

// TemplateRights are what a user may do with a template.
type TemplateRights struct {
	// Push tells that it may make versions, Promote that it may change the active one.
	Push    bool
	Promote bool
}
