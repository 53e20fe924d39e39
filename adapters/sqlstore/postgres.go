package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/assay-dev/assay/ports"
)

// DefaultFallbackInterval is how often a store on PostgreSQL that is watched looks for the
// changes of other servers, which it is told at once as long as its connection for that
// stands.
const DefaultFallbackInterval = 5 * time.Second

// connections bounds the connections for statements of one store. It has one more, which
// listens.
const connections = 8

// connectTimeout bounds how long one host may take to accept a connection.
const connectTimeout = 10 * time.Second

// idleInTransaction is after which silence within a transaction PostgreSQL ends the
// connection: a server that was suspended must not keep the others from writing. Between
// two statements there is nothing to wait for.
const idleInTransaction = 5 * time.Second

// OpenPostgres opens the PostgreSQL database that dsn names, as a URL or as key=value
// pairs, and brings its schema up to date. What dsn leaves out comes from the environment
// of PostgreSQL's own programs (PGPASSWORD, PGPASSFILE, PGSSLMODE, …). No error names the
// password. The tables are made in the first schema of the search path, which must be
// empty or assay's.
//
// Many servers may share a database. It must be a primary one, reached directly or through
// a pool that gives a session of its own to each connection.
//
// The store must be closed.
func OpenPostgres(ctx context.Context, dsn string, clock ports.Clock, options ...Option) (*Store, error) {
	config, err := parseDSN(dsn)
	if err != nil {
		return nil, err
	}
	store := newStore(placeOf(config), clock, DefaultFallbackInterval, options)
	store.dialect = postgresDialect
	config.ConnectTimeout = connectTimeout
	db := stdlib.OpenDB(*config, stdlib.OptionAfterConnect(store.settle))
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	store.db = db
	if err := store.preparePostgres(ctx); err != nil {
		return nil, errors.Join(store.openError(err), db.Close())
	}
	store.startListening(config)
	return store, nil
}

// parseDSN reads a DSN. What is wrong with one can be its password, so the error quotes
// nothing of it.
func parseDSN(dsn string) (*pgx.ConnConfig, error) {
	if strings.TrimSpace(dsn) == "" {
		return nil, errors.New("open PostgreSQL: no database is given")
	}
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil, errors.New("open PostgreSQL: the database's address cannot be read: " +
			"write postgres://USER@HOST:PORT/DATABASE?sslmode=verify-full with special characters as %XX, or key=value pairs, " +
			"and see that the files exist which it names (sslrootcert, sslcert, sslkey, service)")
	}
	config.DialFunc = (&net.Dialer{
		// The connection that listens sends nothing, and would not notice that its peer is gone.
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 15 * time.Second, Interval: 5 * time.Second, Count: 3},
	}).DialContext
	return config, nil
}

// placeOf names a database in errors.
func placeOf(config *pgx.ConnConfig) string {
	return fmt.Sprintf("PostgreSQL database %q on %s", config.Database,
		net.JoinHostPort(config.Host, strconv.Itoa(int(config.Port))))
}

// settle gives a new connection the settings that safety needs, whatever the server's
// defaults are. A lost commit could be a create marker, and with it a workspace that
// nobody knows, so each commit is on the disk before it is confirmed.
func (s *Store) settle(ctx context.Context, conn *pgx.Conn) error {
	_, err := conn.Exec(ctx, `
		SELECT set_config('lock_timeout', $1, false), set_config('idle_in_transaction_session_timeout', $2, false),
			set_config('synchronous_commit', CASE setting WHEN 'off' THEN 'on' ELSE setting END, false)
		FROM current_setting('synchronous_commit') AS setting`,
		milliseconds(s.busyTimeout), milliseconds(idleInTransaction))
	return err
}

func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) + "ms" }

// migrationLock is the number of the advisory lock under which the schema is made. Any
// number does that no other program uses in the same database.
const migrationLock = 0x61737361790001

// preparePostgres makes the schema, or waits for another server that does.
func (s *Store) preparePostgres(ctx context.Context) (err error) {
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if _, err := conn.ExecContext(ctx, `SELECT pg_advisory_lock($1)`, int64(migrationLock)); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock(ctx, conn)) }()
	if err := s.refuseForeign(ctx); err != nil {
		return err
	}
	return s.migrate(ctx)
}

// unlock gives the migration lock back. A connection that fails to goes with its lock.
func unlock(ctx context.Context, conn *sql.Conn) error {
	if ctx.Err() == nil {
		_, err := conn.ExecContext(ctx, `SELECT pg_advisory_unlock($1)`, int64(migrationLock))
		if err == nil {
			return nil
		}
	}
	err := conn.Raw(func(any) error { return driver.ErrBadConn })
	if errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) {
		return nil
	}
	return err
}
