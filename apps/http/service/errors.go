package service

import (
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/apps/http/access"
	"github.com/assay-dev/assay/core"
)

// Kind says what a caller can do about an Error.
type Kind int

// The kinds.
const (
	// Invalid: the request breaks a rule; Field says where.
	Invalid Kind = iota
	// NotFound: there is no such thing, or the caller may not see it.
	NotFound
	// Forbidden: the caller may not do this.
	Forbidden
	// Conflict: it cannot be done as things stand.
	Conflict
	// Unavailable: something that the server needs does not answer; later it may.
	Unavailable
)

// Error tells a caller why a request was not done. Nothing was changed.
type Error struct {
	Kind Kind
	// Message says what is in the way, and the way out. It holds no value of a parameter.
	Message string
	// Fields are what breaks rules; none where no field is to blame.
	Fields []Field
	// Cause is the error of a port that led to it; nil for most.
	Cause error
}

// Field is a part of a request that breaks a rule.
type Field struct {
	// Name is the field as the request spells it: "version.name".
	Name string `json:"name"`
	// Rule says what it must be.
	Rule string `json:"rule"`
}

// Unwrap is the cause.
func (e *Error) Unwrap() error { return e.Cause }

func (e *Error) Error() string {
	text := e.Message
	for _, field := range e.Fields {
		text += "; " + field.Name + ": " + field.Rule
	}
	return text
}

func noSuchTest(id uuid.UUID) error {
	return &Error{Kind: NotFound, Message: fmt.Sprintf("there is no test %s, or you may not see it", id)}
}

func noSuchPlane(name string) error {
	return &Error{Kind: NotFound, Message: fmt.Sprintf("there is no control plane %q, or you may not see it", name)}
}

func forbidden(needs access.Role, plane string) error {
	return &Error{
		Kind:    Forbidden,
		Message: fmt.Sprintf("this needs the role %s on control plane %q; ask whoever runs this server for it", needs, plane),
	}
}

// invalid is what is wrong with a spec, for a caller.
func invalid(err error) error {
	found := &Error{Kind: Invalid, Message: "the test breaks rules; nothing was stored"}
	for _, one := range unjoined(err) {
		var field *core.FieldError
		if errors.As(one, &field) {
			found.Fields = append(found.Fields, Field{field.Field, field.Rule})
			continue
		}
		found.Message += ": " + one.Error()
	}
	return found
}

func unjoined(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	return []error{err}
}

func badField(name, rule string) error {
	return &Error{Kind: Invalid, Message: "the request breaks a rule; nothing was changed", Fields: []Field{{name, rule}}}
}
