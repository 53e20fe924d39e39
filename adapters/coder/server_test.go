package coder_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/assay-dev/assay/adapters/coder"
	"github.com/assay-dev/assay/core"
)

// coders writes an answer as Coder does.
func coders(w http.ResponseWriter, status int, body any) {
	w.Header().Set("X-Coder-Build-Version", "v2.36.1+test")
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	encoded, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	_, _ = w.Write(encoded)
}

func says(message string) map[string]string {
	return map[string]string{"message": message, "detail": "secret detail"}
}

// serve starts a server and a Runner for it.
func serve(t *testing.T, handler http.HandlerFunc, options ...coder.Option) *coder.Runner {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return dial(t, core.Connection{URL: server.URL, Token: core.NewSecret("the-token")}, options...)
}

func dial(t *testing.T, connection core.Connection, options ...coder.Option) *coder.Runner {
	t.Helper()
	runner, err := coder.New(connection, options...)
	if err != nil {
		t.Fatalf("make runner: %v", err)
	}
	return runner
}

func failureOf(t *testing.T, err error) *core.Failure {
	t.Helper()
	var failure *core.Failure
	if !errors.As(err, &failure) {
		t.Fatalf("error %v is a %T, want a *core.Failure", err, err)
	}
	return failure
}

// soon bounds what a test waits for that must happen.
const soon = 10 * time.Second
