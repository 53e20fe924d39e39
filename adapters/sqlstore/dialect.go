package sqlstore

import (
	"context"
	"database/sql"
	"time"

	"github.com/pressly/goose/v3"
)

// dialect is all that differs between the databases once one is open. The statements and
// the migrations are the same.
type dialect struct {
	goose goose.Dialect
	// countTables counts the tables that there are, and those of them that goose made.
	countTables string
	// transactions are how a transaction that writes begins.
	transactions *sql.TxOptions
	// patience bounds each call, in addition to the caller's context; none if 0. A server
	// that vanished from the network does not answer, and does not refuse either.
	patience time.Duration
	// keepRow, at the end of a SELECT, keeps others from changing the row until the
	// transaction ends. Empty where transactions that write never overlap.
	keepRow string
	// notify, if not empty, is a statement that tells other stores of a change, when and
	// only when the transaction commits.
	notify string
	// adviceOn says what to do about an error of the database, empty for other errors.
	adviceOn func(error) string
	// permanent reports an error that trying again does not change.
	permanent func(error) bool
	// undone reports that the database rolled the transaction back for the sake of others,
	// so that it can be run again.
	undone func(error) bool
}

var sqliteDialect = &dialect{
	goose: goose.DialectSQLite3,
	countTables: `SELECT count(*), count(CASE WHEN name = 'goose_db_version' THEN 1 END)
		FROM sqlite_master WHERE type = 'table'`,
	adviceOn: adviceOnSQLite, permanent: permanentSQLite,
	// Transactions queue for one lock when they begin.
	undone: func(error) bool { return false },
}

var postgresDialect = &dialect{
	goose: goose.DialectPostgres,
	countTables: `SELECT count(*), count(CASE WHEN tablename = 'goose_db_version' THEN 1 END)
		FROM pg_catalog.pg_tables WHERE schemaname = current_schema()`,
	// Each statement sees what was committed before it, also while it waited for a row: what
	// the order of the statements relies on. A server can have another default.
	transactions: &sql.TxOptions{Isolation: sql.LevelReadCommitted},
	patience:     30 * time.Second,
	keepRow:      ` FOR SHARE`,
	notify:       `SELECT pg_notify('` + changesChannel + `', '')`,
	adviceOn:     adviceOnPostgres,
	permanent:    func(err error) bool { return postgresCode(err) != "" && !undonePostgres(err) },
	undone:       undonePostgres,
}

// bounded gives a call its patience.
func (s *Store) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if s.dialect.patience == 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, s.dialect.patience)
}
