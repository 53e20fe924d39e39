package server

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	promclient "github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/assay-dev/assay/adapters/prometheus"
	"github.com/assay-dev/assay/apps/http/api"
	"github.com/assay-dev/assay/apps/http/page"
	"github.com/assay-dev/assay/apps/http/problem"
	"github.com/assay-dev/assay/apps/http/runner"
	"github.com/assay-dev/assay/apps/http/service"
)

// healthTime bounds a look at what the server needs.
const healthTime = 5 * time.Second

func newHandler(
	env Env, database *database, work *service.Service, pages *page.Pages, guarded *security, transitions *prometheus.Transitions,
	running *runner.Runner, log *slog.Logger,
) (rootHandler, error) {
	mux := http.NewServeMux()
	api.Register(mux, api.Config{Service: work, Clock: env.Clock, Logger: log})
	pages.Register(mux)
	guarded.guard.Register(mux)
	registerHealth(mux, func(ctx context.Context) error {
		_, err := database.LastTransition(ctx)
		return err
	})
	metrics := promclient.NewRegistry()
	for _, collector := range append([]promclient.Collector{transitions, newCollector(database, database, running.Driven)}, env.Collectors...) {
		if err := metrics.Register(collector); err != nil {
			return nil, fmt.Errorf("register metrics: %w", err)
		}
	}
	mux.Handle("GET /metrics", promhttp.HandlerFor(metrics, promhttp.HandlerOpts{}))
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		problem.Write(w, http.StatusNotFound, "there is nothing here: /openapi.json describes the API, and / is the page")
	})
	return guarded.guard.Wrap(mux), nil
}

// registerHealth serves /healthz, which says that the process lives, and /readyz, which
// says that it can serve: its store answers. A Coder that does not answer is no reason to
// send callers elsewhere, since every server asks the same one.
func registerHealth(mux *http.ServeMux, ready func(ctx context.Context) error) {
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { says(w, http.StatusOK, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), healthTime)
		defer cancel()
		if err := ready(ctx); err != nil {
			says(w, http.StatusServiceUnavailable, "the store does not answer")
			return
		}
		says(w, http.StatusOK, "ok")
	})
}

func says(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = fmt.Fprintln(w, text)
}
