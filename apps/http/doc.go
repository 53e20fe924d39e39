// Package server is assay as a service: tests over HTTP, their history, and a page to
// watch them. It holds flags, wiring and the HTTP server; what can be done with tests is
// in package service, how it looks over HTTP in packages api and page, and who may do it
// in package access.
package server

// The client is made from the document that the line before it writes.
//
//go:generate go run ../cli/cmd/clidocs -server ../../docs/reference/server.md -openapi ../../docs/reference/openapi.yaml -files ../../docs/reference/server-files.md
//go:generate sh -c "cd ../../adapters/serverclient && oapi-codegen -config oapi-codegen.yaml ../../docs/reference/openapi.yaml"
