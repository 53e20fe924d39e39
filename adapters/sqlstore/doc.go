// Package sqlstore keeps the records of tests in a SQL database: a SQLite file
// that needs no server (Open), or a PostgreSQL database that many servers share
// (OpenPostgres). Beside them it keeps the leases of running tests and the
// deployments that the tests run against.
//
// A record is one row with the whole record as a JSON document; the columns beside
// it are derived from the document by the same statement that stores it. Every
// change takes the next number of one counter as its revision, so revisions are
// unique in the database, a record that was deleted and made anew never has an
// old one, and "what changed after N" is one indexed query.
//
// The statements and the migrations are the same for both: numbered parameters, no
// types or functions of one database only; dialect holds what differs. What keeps
// writers apart is in the order of the statements, not in the isolation: every change of
// a record locks the counter's row first, so that what it reads then still stands when it
// writes; and each UPDATE and DELETE is guarded by the revision. FencedBy adds that the
// test's lease is the writer's.
package sqlstore
