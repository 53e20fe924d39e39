// Package api is the REST interface of a server: what each request looks like, and which
// call of package service it is. It decides nothing. Its OpenAPI document is made from
// the types here.
package api

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/assay-dev/assay/apps/http/service"
	"github.com/assay-dev/assay/ports"
)

// Prefix is where the API begins.
const Prefix = "/api/v1"

// SpecVersion is the version of the API, by the rules of semantic versioning.
const SpecVersion = "1.0.0"

// maxRequest bounds the body of a request, in bytes: a spec with all parameters at their
// longest takes half of it.
const maxRequest = 1 << 20

// Config is what the API is made of.
type Config struct {
	Service *service.Service
	Clock   ports.Clock
	Logger  *slog.Logger
	// StreamTime is how long a stream of events lasts before its client must ask again,
	// and so show anew that it may; 0 means DefaultStreamTime.
	StreamTime time.Duration
}

// DefaultStreamTime is how long a stream of events lasts.
const DefaultStreamTime = time.Hour

type handlers struct {
	Config
	*service.Service
}

const description = `Tests of Coder template versions. A test makes a throwaway workspace of a version, waits until every agent is connected and ready, deletes the workspace, and says whether the version passed.

Every request needs a bearer token, unless the server listens for its own machine alone. Errors are problem documents (RFC 9457); what breaks a rule is named in their errors. Fields may be added to answers at any time; none is renamed or removed within a version of the API.`

// Register adds the operations to the multiplexer and returns what describes them.
func Register(mux *http.ServeMux, config Config) huma.API {
	if config.StreamTime == 0 {
		config.StreamTime = DefaultStreamTime
	}
	settings := huma.DefaultConfig("assay", SpecVersion)
	settings.Info.Description = description
	settings.OpenAPIPath, settings.DocsPath, settings.SchemasPath = "/openapi", "", ""
	// Answers hold what callers ask about, and no links to schemas.
	settings.CreateHooks = nil
	settings.Components.SecuritySchemes = map[string]*huma.SecurityScheme{
		"token": {Type: "http", Scheme: "bearer", Description: "A token of the server's token file, or one of the configured OIDC issuer."},
	}
	settings.Security = []map[string][]string{{"token": {}}}
	settings.Transformers = append(settings.Transformers, withoutValues)
	api := humago.New(mux, settings)
	h := &handlers{config, config.Service}
	h.registerTests(api)
	h.registerWatching(api)
	h.registerPlanes(api)
	return api
}

// operation is what all operations have.
func operation(id, method, path, summary string, more func(*huma.Operation)) huma.Operation {
	o := huma.Operation{
		OperationID: id, Method: method, Path: Prefix + path, Summary: summary, MaxBodyBytes: maxRequest,
		Errors: []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests},
	}
	if more != nil {
		more(&o)
	}
	return o
}
