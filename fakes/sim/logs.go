package sim

import (
	"context"
	"log/slog"
	"strings"
)

// logs is a slog.Handler that notes every line.
type logs struct {
	recorder *recorder
	prefix   string
}

func (l *logs) Enabled(context.Context, slog.Level) bool { return true }

func (l *logs) Handle(_ context.Context, record slog.Record) error {
	var line strings.Builder
	line.WriteString(l.prefix)
	line.WriteString(record.Message)
	record.Attrs(func(a slog.Attr) bool {
		line.WriteString(" " + a.String())
		return true
	})
	l.recorder.said("log line", line.String())
	return nil
}

func (l *logs) WithAttrs(attrs []slog.Attr) slog.Handler {
	prefix := l.prefix
	for _, a := range attrs {
		prefix += a.String() + " "
	}
	return &logs{recorder: l.recorder, prefix: prefix}
}

func (l *logs) WithGroup(name string) slog.Handler {
	return &logs{recorder: l.recorder, prefix: l.prefix + name + ": "}
}
