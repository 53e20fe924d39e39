package sqlstore

import (
	"errors"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

const adviceOnDamage = "it is damaged; restore a backup, or move it away and look for workspaces named ktt-* in Coder"

const adviceOnForeign = "it is not a state file of assay; choose another file"

// adviceOnSQLite says what to do about an error of the file, empty for other errors.
func adviceOnSQLite(err error) string {
	switch {
	case errors.Is(err, errFromTheFuture):
		return "use a newer version of assay, or choose another file"
	case errors.Is(err, errDamaged):
		return adviceOnDamage
	case errors.Is(err, errForeign):
		return adviceOnForeign
	}
	return map[int]string{
		sqlite3.SQLITE_NOTADB:   adviceOnForeign,
		sqlite3.SQLITE_CORRUPT:  adviceOnDamage,
		sqlite3.SQLITE_READONLY: "it is read-only; make it writable, or choose another file",
		sqlite3.SQLITE_PERM:     "it may not be used by this user; choose another file",
		sqlite3.SQLITE_CANTOPEN: "it cannot be opened; choose a path in a folder that you may write to",
		sqlite3.SQLITE_FULL:     "the disk is full; free space, or choose a file on another disk",
		sqlite3.SQLITE_BUSY:     "another process keeps it locked; end that process, or choose another file",
		sqlite3.SQLITE_IOERR:    "the disk fails or the file system keeps no locks; choose a file on a local disk",
	}[primaryCode(err)]
}

// permanentSQLite reports an error that trying again does not change.
func permanentSQLite(err error) bool {
	switch primaryCode(err) {
	case sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM,
		sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR:
		return true
	default:
		return false
	}
}

// primaryCode is SQLite's result code without its extension, 0 for other errors.
func primaryCode(err error) int {
	var sqliteError *sqlite.Error
	if !errors.As(err, &sqliteError) {
		return 0
	}
	return sqliteError.Code() & 0xff
}
