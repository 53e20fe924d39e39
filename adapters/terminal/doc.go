// Package terminal shows tests to a person at a terminal, or to whoever reads the log
// of a CI job: the stages as they pass, and the end of the logs that explain a
// failure, with the secrets that are known masked.
package terminal
