// Package prometheus measures tests and the requests to Coder. No label holds an ID, a
// name, a message, a token or a value: each takes one of the few words that the code knows.
package prometheus
