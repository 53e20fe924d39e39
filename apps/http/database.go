package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"go.uber.org/fx"

	"github.com/assay-dev/assay/adapters/sqlstore"
	"github.com/assay-dev/assay/adapters/webhook"
	"github.com/assay-dev/assay/ports"
)

// database is the store once the graph has started: opening one is no constructor's work.
type database struct {
	*sqlstore.Store
	// fenced is the store as the engine uses it: without a test's lease nothing is stored.
	fenced *fencedStore
}

// fencedStore is there before its store is open.
type fencedStore struct{ ports.WorkspaceStore }

func newDatabase(life fx.Lifecycle, env Env, options Options, name holder, receivers receivers) *database {
	d := &database{fenced: &fencedStore{}}
	life.Append(fx.Hook{
		OnStart: func(ctx context.Context) error {
			store, err := openDatabase(ctx, env, options, receivers)
			if err != nil {
				return err
			}
			d.Store, d.fenced.WorkspaceStore = store, store.FencedBy(string(name))
			return nil
		},
		OnStop: func(context.Context) error {
			if d.Store == nil {
				return nil
			}
			return d.Close()
		},
	})
	return d
}

func openDatabase(ctx context.Context, env Env, options Options, receivers receivers) (*sqlstore.Store, error) {
	settings := []sqlstore.Option{sqlstore.WithHistoryTime(options.KeepHistory)}
	if len(receivers) > 0 {
		settings = append(settings, sqlstore.WithNotices(webhook.Notices(receivers, env.Clock.Now, env.Random)))
	}
	address, err := databaseURL(env, options)
	if err != nil {
		return nil, err
	}
	if address != "" {
		return sqlstore.OpenPostgres(ctx, address, env.Clock, settings...)
	}
	path, err := options.databasePath(env)
	if err != nil {
		return nil, err
	}
	return sqlstore.Open(ctx, path, env.Clock, settings...)
}

// databaseURL is the URL of the PostgreSQL database, empty for none. It can hold a
// password, so no error repeats it.
func databaseURL(env Env, options Options) (string, error) {
	address, from := env.lookup(envDatabaseURL), envDatabaseURL
	if options.DatabaseURLFile != "" {
		text, err := os.ReadFile(options.DatabaseURLFile)
		if err != nil {
			return "", fmt.Errorf("--database-url-file: %w", err)
		}
		address, from = strings.TrimSpace(string(text)), "--database-url-file"
		if address == "" {
			return "", errors.New("--database-url-file: the file is empty")
		}
	}
	if address != "" && !strings.HasPrefix(address, "postgres://") && !strings.HasPrefix(address, "postgresql://") {
		return "", fmt.Errorf("%s: must be a URL that begins with postgres://", from)
	}
	return address, nil
}
