package core

import "github.com/google/uuid"

// NewUser is a user that is to be made, active and without roles.
type NewUser struct {
	Username string
	// Email is empty for a service account.
	Email string
	// Password is empty for a service account.
	Password Secret
	// ServiceAccount makes a machine's user, which cannot log in. It takes a license.
	ServiceAccount bool
	// Organizations are those that the user becomes a member of; at least one.
	Organizations []uuid.UUID
}
