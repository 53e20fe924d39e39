package core

import "time"

// Access is what the token of a connection is good for.
type Access struct {
	// User is whose token it is.
	User User
	// ExpiresAt is when the token ends; zero when Coder does not tell.
	ExpiresAt time.Time
	// Lifetime is from its making to its end; zero when Coder does not tell.
	Lifetime time.Duration
	// Refreshes tells that Coder puts the end off while the token is used, as it does
	// with the session of a login, not with a token that was made to last.
	Refreshes bool
	// Denied are the actions on the owner's workspaces that a test needs and the user may
	// not do: "create", "read", "delete".
	Denied []string
}

// FirstUser is the user that a deployment without any gets, its site owner.
type FirstUser struct {
	Username, Email string
	Password        Secret
}
