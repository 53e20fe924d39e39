package world

import (
	"fmt"
	"time"
)

// Kind is why the deployment refuses. Its value is the HTTP status that Coder's API
// answers with.
type Kind int

// The kinds of refusal.
const (
	Invalid       Kind = 400
	Unauthorized  Kind = 401
	Forbidden     Kind = 403
	NotFound      Kind = 404
	NotAcceptable Kind = 406
	Conflict      Kind = 409
	Gone          Kind = 410
	Precondition  Kind = 412
	Expectation   Kind = 417
	TooEarly      Kind = 425
	RateLimited   Kind = 429
	Internal      Kind = 500
)

// Error is a refusal, with the texts that Coder's API gives.
type Error struct {
	Kind Kind
	// Message is Coder's short message. It can name objects, never values.
	Message string
	// Detail can hold what a template or a person wrote.
	Detail string
	// Fields are the validation errors, which can hold values.
	Fields []FieldError
	// RetryAfter is set for RateLimited.
	RetryAfter time.Duration
}

// FieldError is one validation error.
type FieldError struct{ Field, Detail string }

// Error is the short message with its kind.
func (e *Error) Error() string { return fmt.Sprintf("%s (%d)", e.Message, int(e.Kind)) }

func refuse(kind Kind, format string, args ...any) *Error {
	return &Error{Kind: kind, Message: fmt.Sprintf(format, args...)}
}

// notFound is the one answer for what never existed and for what the actor may not
// read (seen).
func notFound() *Error {
	return refuse(NotFound, "Resource not found or you do not have access to this resource")
}

func forbidden() *Error {
	return &Error{Kind: Forbidden, Message: "Forbidden.", Detail: "You don't have permission to view this content."}
}

func invalidField(field, detail string) *Error {
	return &Error{Kind: Invalid, Message: "Validation failed.", Fields: []FieldError{{Field: field, Detail: detail}}}
}
