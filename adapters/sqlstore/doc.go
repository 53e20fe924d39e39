// Package sqlstore keeps the records of tests in a SQL database: a SQLite file
// that needs no server. Beside them it keeps the leases of running tests and the
// deployments that the tests run against.
//
// A record is one row with the whole record as a JSON document; the columns beside
// it are derived from the document by the same statement that stores it. Every
// change takes the next number of one counter as its revision, so revisions are
// unique in the database, a record that was deleted and made anew never has an
// old one, and "what changed after N" is one indexed query.
//
// The statements keep to what SQLite and PostgreSQL both understand: numbered
// parameters, no SQLite types or functions, and a guard on the revision in each
// UPDATE and DELETE, which is what decides between writers where transactions do
// not queue behind one lock.
package sqlstore
