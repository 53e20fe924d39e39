// Package access says who may do what on a server: callers and their roles, how they
// prove who they are, and the bounds that hold for all of them.
package access

import (
	"context"
	"slices"
)

// Role is what a caller may do on a control plane. A larger one includes the smaller ones.
type Role int

// The roles.
const (
	// NoRole may do nothing.
	NoRole Role = iota
	// Viewer may look at tests, transitions and evidence.
	Viewer
	// Tester may also make, stop and retain tests.
	Tester
	// Admin may also look for left workspaces, and release records by hand.
	Admin
)

var roleNames = [...]string{NoRole: "none", Viewer: "viewer", Tester: "tester", Admin: "admin"}

// String is the role's name.
func (r Role) String() string { return roleNames[r] }

// ParseRole reads a role's name; false for anything else, "none" included.
func ParseRole(name string) (Role, bool) {
	i := slices.Index(roleNames[:], name)
	return Role(max(i, 0)), i > 0
}

// EveryPlane stands for all control planes in a Caller's roles.
const EveryPlane = "*"

// Caller is somebody who proved who they are.
type Caller struct {
	// Name is shown to people and stands in the audit.
	Name string
	// Roles are by the control plane's name, or EveryPlane.
	Roles map[string]Role
}

// May reports whether the caller has the role, or a larger one, on the control plane.
func (c Caller) May(role Role, plane string) bool {
	return max(c.Roles[plane], c.Roles[EveryPlane]) >= role
}

// MaySomewhere reports whether there is a control plane on which the caller has the role.
func (c Caller) MaySomewhere(role Role) bool {
	for _, has := range c.Roles {
		if has >= role {
			return true
		}
	}
	return false
}

// Planes are the control planes on which the caller has the role; all reports that it is
// every one.
func (c Caller) Planes(role Role) (all bool, names []string) {
	for plane, has := range c.Roles {
		if has >= role {
			names = append(names, plane)
		}
	}
	slices.Sort(names)
	return slices.Contains(names, EveryPlane), names
}

type callerKey struct{}

// WithCaller returns a context that carries the caller.
func WithCaller(ctx context.Context, caller Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, caller)
}

// CallerOf is the caller that the context carries; one who may nothing where it carries
// none.
func CallerOf(ctx context.Context) Caller {
	caller, _ := ctx.Value(callerKey{}).(Caller)
	return caller
}
