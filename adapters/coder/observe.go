package coder

import (
	"strings"
	"time"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/ports"
)

// Observer is told of each request: its method, the pattern of its route, which has
// neither IDs nor names in it, the HTTP status, 0 when no answer came, and how long the
// answer's headers took. It must not block.
type Observer func(method, route string, status int, took time.Duration)

// WithObserver has each request told.
func WithObserver(observer Observer) Option { return func(r *Runner) { r.observe = observer } }

// Dialer is Dial with options.
func Dialer(options ...Option) ports.Dialer {
	return func(connection core.Connection) (ports.CodeRunner, error) { return New(connection, options...) }
}

// unknownRoute stands for a route that is not in the list of routes.
const unknownRoute = "other"

// routes are the patterns of what this package asks for.
var routes = []string{
	"/authcheck",
	"/buildinfo",
	"/organizations/{organization}",
	"/organizations/{organization}/templates/{template}",
	"/templates/{template}/versions/{version}",
	"/templateversions/{version}",
	"/templateversions/{version}/dynamic-parameters/evaluate",
	"/templateversions/{version}/external-auth",
	"/templateversions/{version}/presets",
	"/templateversions/{version}/rich-parameters",
	"/users/{user}",
	"/users/{user}/organizations",
	"/users/{user}/roles",
	"/users/{user}/workspace/{workspace}",
	"/users/{user}/workspaces",
	"/workspaceagents/{agent}",
	"/workspaceagents/{agent}/logs",
	"/workspacebuilds/{build}/cancel",
	"/workspacebuilds/{build}/logs",
	"/workspaces",
	"/workspaces/{workspace}",
	"/workspaces/{workspace}/builds",
	"/workspaces/{workspace}/watch",
}

// routeOf is the pattern of a path.
func routeOf(path string) string {
	parts := strings.Split(path, "/")
	for _, route := range routes {
		if matches(strings.Split(route, "/"), parts) {
			return route
		}
	}
	return unknownRoute
}

func matches(pattern, parts []string) bool {
	if len(pattern) != len(parts) {
		return false
	}
	for i := range pattern {
		if pattern[i] != parts[i] && !strings.HasPrefix(pattern[i], "{") {
			return false
		}
	}
	return true
}
