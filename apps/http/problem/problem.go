// Package problem writes errors as problem documents (RFC 9457).
package problem

import (
	"encoding/json"
	"net/http"
)

// Problem tells what went wrong with a request. It holds nothing that the request gave:
// that can be a secret.
type Problem struct {
	Title  string  `json:"title"`
	Status int     `json:"status"`
	Detail string  `json:"detail,omitempty"`
	Errors []Field `json:"errors,omitempty"`
}

// Field is a part of a request that breaks a rule.
type Field struct {
	// Location is where it is: "body.version.name", "query.limit".
	Location string `json:"location,omitempty"`
	// Message says the rule.
	Message string `json:"message"`
}

// Write answers with the problem.
func Write(w http.ResponseWriter, status int, detail string, fields ...Field) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	// The client may be gone.
	_ = json.NewEncoder(w).Encode(Problem{Title: http.StatusText(status), Status: status, Detail: detail, Errors: fields})
}
