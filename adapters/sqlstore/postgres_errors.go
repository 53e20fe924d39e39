package sqlstore

import (
	"errors"

	"github.com/jackc/pgx/v5/pgconn"
)

// States that PostgreSQL gives as the reason of an error (its manual, appendix A).
const (
	stateNotSerializable = "40001"
	stateDeadlock        = "40P01"
)

// adviceOnPostgres says what to do about an error of the database, empty for other errors.
func adviceOnPostgres(err error) string {
	switch {
	case errors.Is(err, errFromTheFuture):
		return "use a newer version of assay, or choose another database"
	case errors.Is(err, errForeign):
		return "it has tables and is not assay's; choose an empty database, or an empty schema with search_path=SCHEMA"
	}
	if code := postgresCode(err); code != "" {
		return map[string]string{
			"28P01": "it refuses the password; see that user and password are right",
			"28000": "it refuses the user; see that pg_hba.conf lets it in, and how (sslmode)",
			"3D000": "there is no such database; make it with createdb, or choose another one",
			"3F000": "the search path names no schema; make it with CREATE SCHEMA, or choose another one",
			"42501": "the user may not do that; grant it CREATE and USAGE on the schema, or make it the owner of the tables",
			"25006": "it is read-only; use the primary server (target_session_attrs=read-write chooses among several hosts)",
			"53100": "its disk is full; free space",
			"53300": "it has too many connections; raise max_connections, or run fewer servers",
			"55P03": "another server keeps it locked; end that server's session (pg_stat_activity shows it)",
			"57P03": "it is starting or stopping; wait until it is up",
		}[code]
	}
	var unreachable *pgconn.ConnectError
	if errors.As(err, &unreachable) {
		return "it cannot be reached; see that it runs, and that host, port and sslmode are right"
	}
	return ""
}

// undonePostgres reports a transaction that was rolled back for the sake of others.
func undonePostgres(err error) bool {
	code := postgresCode(err)
	return code == stateNotSerializable || code == stateDeadlock
}

// postgresCode is PostgreSQL's state, empty for errors that it did not answer.
func postgresCode(err error) string {
	var answered *pgconn.PgError
	if !errors.As(err, &answered) {
		return ""
	}
	return answered.Code
}
