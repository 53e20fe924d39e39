package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"go.uber.org/fx"
)

// The bounds of a connection. Requests are small; only streams of events last, and they
// set their own bound for each write.
const (
	headerTime = 10 * time.Second
	readTime   = 30 * time.Second
	writeTime  = 60 * time.Second
	idleTime   = 2 * time.Minute
	maxHeaders = 64 << 10
)

// newHTTPServer serves the handler while the graph runs. A server that cannot go on ends
// the graph.
func newHTTPServer(life fx.Lifecycle, end fx.Shutdowner, env Env, options Options, guarded *security, handler rootHandler, log *slog.Logger) *http.Server {
	requests, endRequests := context.WithCancel(context.Background())
	server := &http.Server{
		Handler: handler, ReadHeaderTimeout: headerTime, ReadTimeout: readTime, WriteTimeout: writeTime, IdleTimeout: idleTime, MaxHeaderBytes: maxHeaders,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug), TLSConfig: guarded.tls,
	}
	server.BaseContext = func(net.Listener) context.Context { return requests }
	life.Append(fx.Hook{
		OnStart: func(ctx context.Context) error {
			listener, err := env.Listen(ctx, options.Listen)
			if err != nil {
				return fmt.Errorf("--listen %s: %w", options.Listen, err)
			}
			scheme := "http"
			if guarded.tls != nil {
				scheme = "https"
			}
			log.Info("listening", "address", scheme+"://"+listener.Addr().String())
			go func() {
				serve := server.Serve
				if guarded.tls != nil {
					serve = func(l net.Listener) error { return server.ServeTLS(l, "", "") }
				}
				if err := serve(listener); !errors.Is(err, http.ErrServerClosed) {
					log.Error("the server cannot listen any more", "error", err)
					_ = end.Shutdown(fx.ExitCode(exitFailed))
				}
			}()
			return nil
		},
		OnStop: func(ctx context.Context) error {
			// Streams of events last as long as they may: they are told to end.
			endRequests()
			if err := server.Shutdown(ctx); err != nil {
				return errors.Join(err, server.Close())
			}
			return nil
		},
	})
	return server
}
