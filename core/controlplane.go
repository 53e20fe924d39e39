package core

import (
	"fmt"
	"io"
	"unique"

	"github.com/google/uuid"
)

// ControlPlane is the Coder deployment that a test runs against, with its policy,
// as a ControlPlanes port finds it.
type ControlPlane struct {
	// Ref is the name that Spec.ControlPlaneRef uses.
	Ref   string
	State ControlPlaneState
	// Message says why the state is not ControlPlaneUsable and what to do.
	Message    string
	Policy     Policy
	Connection Connection
}

// ControlPlaneState says whether a control plane can be used.
type ControlPlaneState int

// The states of a control plane.
const (
	// ControlPlaneUnready: it exists but names no usable URL, or whether it exists
	// could not be read. The zero value: nothing is known to be usable.
	ControlPlaneUnready ControlPlaneState = iota
	// ControlPlaneUsable: Connection can be dialed.
	ControlPlaneUsable
	// ControlPlaneNoAccess: it has no operator access, or its token is missing or
	// empty.
	ControlPlaneNoAccess
	// ControlPlaneLeaving: it is being deleted, and for a short time Connection can
	// still be dialed, for cleanup alone. It is gone afterwards.
	ControlPlaneLeaving
	// ControlPlaneGone: it is missing or being deleted. Outside Kubernetes only an
	// explicit, stored removal means gone.
	ControlPlaneGone
)

// Policy is what the people who run a control plane allow. All is false by
// default.
type Policy struct {
	// OwnerUserID is the Coder user that owns the test workspaces, as written.
	OwnerUserID string `json:"ownerUserID,omitempty"`
	// AllowRetain lets a test keep its workspace.
	AllowRetain bool `json:"allowRetain,omitempty"`
	// AllowPrivilegedOwner waives the rules about the owner's roles. Each start
	// build hands the owner's session token to the template's Terraform.
	AllowPrivilegedOwner bool `json:"allowPrivilegedOwner,omitempty"`
	// AllowPersonalOwner waives the rule about the owner's login type.
	AllowPersonalOwner bool `json:"allowPersonalOwner,omitempty"`
}

// Owner is OwnerUserID parsed, or uuid.Nil when it is empty or not a UUID.
func (p Policy) Owner() uuid.UUID {
	id, err := uuid.Parse(p.OwnerUserID)
	if err != nil {
		return uuid.Nil
	}
	return id
}

// Connection is what dialing a deployment takes.
type Connection struct {
	// URL is the address of the deployment, for example "https://coder.example.com".
	URL string
	// Token is the operator user's session token.
	Token Secret
	// CACertificates are extra certificate authorities in PEM; empty means the
	// system's.
	CACertificates string
	// ServerName overrides the name that the certificate must be for.
	ServerName string
}

// Secret is a string that prints as "[redacted]" in every format, JSON and logs
// included; as an address where it is an unexported field of something printed, which
// package fmt cannot ask. Only Reveal gives it out. Equal secrets compare equal.
type Secret struct{ value unique.Handle[string] }

// redacted stands for every secret.
const redacted = "[redacted]"

// NewSecret wraps a secret value.
func NewSecret(value string) Secret {
	if value == "" {
		return Secret{}
	}
	return Secret{value: unique.Make(value)}
}

// Reveal returns the secret, for the one place that sends it.
func (s Secret) Reveal() string {
	if s.Empty() {
		return ""
	}
	return s.value.Value()
}

// Empty reports whether there is no secret.
func (s Secret) Empty() bool { return s == Secret{} }

// String hides the secret.
func (s Secret) String() string { return redacted }

// Format hides the secret from every verb, those for numbers and %#v included.
func (s Secret) Format(state fmt.State, _ rune) { _, _ = io.WriteString(state, redacted) }

// MarshalText hides the secret from encoders.
func (s Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }
