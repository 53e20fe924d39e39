package core

import (
	"errors"
	"fmt"
	"time"
)

// FailureClass is the domain's word for why a request to Coder failed. Adapters
// classify; the lifecycle never sees a status code's or a client's own types.
type FailureClass int

// The failure classes. A 4xx counts as Coder's word only when the answer carries
// Coder's version header and a JSON message; otherwise a proxy said it, and it is
// FailureUnavailable for a read and FailureUncertain for a change.
const (
	// FailureUnavailable: a read got no usable answer (network, 5xx, a proxy). The
	// zero value: the least that can be said.
	FailureUnavailable FailureClass = iota
	// FailureUncertain: a change was sent and may have taken effect (5xx, timeout,
	// reset, a proxy's answer).
	FailureUncertain
	// FailureNoEffect: a change was never sent (the dial or the TLS handshake
	// failed).
	FailureNoEffect
	// FailureUnauthorized: Coder's 401, the token is not accepted.
	FailureUnauthorized
	// FailureNotFound: Coder's 404. For a workspace it proves nothing: Coder gives
	// the same answer for what never existed and for what the caller may not read.
	FailureNotFound
	// FailureGone: Coder's 410, the workspace is deleted.
	FailureGone
	// FailureConflict: Coder's 409.
	FailureConflict
	// FailureImporting: Coder's 406, the version is still being imported.
	FailureImporting
	// FailureForbidden: Coder's 403.
	FailureForbidden
	// FailureRejected: any other 4xx of Coder.
	FailureRejected
	// FailureRateLimited: Coder's 429; RetryAfter carries its delay.
	FailureRateLimited
	// FailureMismatch: the answer does not name what was asked for.
	FailureMismatch
)

var failureNames = map[FailureClass]string{
	FailureUnavailable: "unavailable", FailureUncertain: "uncertain", FailureNoEffect: "no effect",
	FailureUnauthorized: "unauthorized", FailureNotFound: "not found", FailureGone: "gone",
	FailureConflict: "conflict", FailureImporting: "importing", FailureForbidden: "forbidden",
	FailureRejected: "rejected", FailureRateLimited: "rate limited", FailureMismatch: "mismatch",
}

// String names the class in lower case.
func (c FailureClass) String() string {
	if name, ok := failureNames[c]; ok {
		return name
	}
	return fmt.Sprintf("failure class %d", int(c))
}

// Failure is the error of every CodeRunner method. It holds nothing of Coder's
// answer but the status code and the short message: error details and validation
// errors can repeat parameter values.
type Failure struct {
	Class FailureClass
	// Op says what was asked, for example "read workspace".
	Op string
	// Status is the HTTP status code, 0 when there was no answer.
	Status int
	// Message is Coder's short message, or what the network said.
	Message string
	// RetryAfter is how long Coder asked to wait, for FailureRateLimited; 0 when
	// it did not say.
	RetryAfter time.Duration
}

// Error names the operation, the status and Coder's short message.
func (f *Failure) Error() string {
	text := f.Op + ": " + f.Class.String()
	if f.Status != 0 {
		text += fmt.Sprintf(" (HTTP %d)", f.Status)
	}
	if f.Message != "" {
		text += ": " + f.Message
	}
	return text
}

// AsFailure returns err as a *Failure: nil for nil, and FailureUnavailable with the
// error's text for an error of any other kind.
func AsFailure(err error) *Failure {
	if err == nil {
		return nil
	}
	var failure *Failure
	if errors.As(err, &failure) {
		return failure
	}
	return &Failure{Class: FailureUnavailable, Op: "ask coder", Message: err.Error()}
}
