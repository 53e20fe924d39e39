package sqlstore_test

import (
	"strings"
	"testing"

	"github.com/assay-dev/assay/adapters/sqlstore"
	"github.com/assay-dev/assay/fakes/clock"
)

// TestPasswordIsInNoError opens what cannot be opened: addresses that cannot be read, where
// the password can be in the wrong place, and a server that is not there.
func TestPasswordIsInNoError(t *testing.T) {
	t.Setenv("PGCONNECT_TIMEOUT", "5")
	for _, row := range []struct{ name, dsn, want, why string }{
		{"nothing", " ", "no database is given", "the environment alone would choose one by accident"},
		{"nobody listens", "postgres://me:s3cret@127.0.0.1:1/assay", "it cannot be reached", "the usual mistake"},
		{"nobody listens, pairs", "host=127.0.0.1 port=1 user=me password='s3cret' dbname=assay", "it cannot be reached", "the other form"},
		{"slash in the password", "postgres://me:s3cret/x@127.0.0.1:1/assay", "special characters as %XX", "the password is taken for a port"},
		{"percent in the password", "postgres://me:s3cret%zz@127.0.0.1:1/assay", "cannot be read", "the parser quotes what it does not understand"},
		{"space in the password", "postgres://me:a s3cret@127.0.0.1:1/assay", "cannot be read", "so it does here"},
		{"at in the host", "postgres://me:x@s3cret:host@127.0.0.1:1/assay", "cannot be read", "the host is what follows the last one"},
		{"line feed", "postgres://me:s3cret\n@127.0.0.1:1/assay", "cannot be reached", "it is part of the password"},
		{"open quote", "host=127.0.0.1 port=1 password='s3cret", "cannot be read", "pairs have rules of their own"},
		{"no scheme", "me:s3cret@127.0.0.1:1/assay", "cannot be read", "it is taken for pairs"},
		{"wrong port", "postgres://me:s3cret@127.0.0.1:99999/assay", "cannot be read", "other parts can be wrong too"},
		{"wrong sslmode", "postgres://me:s3cret@127.0.0.1:1/assay?sslmode=s3cret", "cannot be read", "nobody knows what is where"},
		{"missing file", "postgres://me:s3cret@127.0.0.1:1/assay?sslmode=verify-full&sslrootcert=/nowhere/s3cret", "see that the files exist", "the file is not named, the rule is"},
	} {
		t.Run(row.name, func(t *testing.T) {
			store, err := sqlstore.OpenPostgres(t.Context(), row.dsn, clock.New(start))
			if err == nil {
				store.Close()
				t.Fatal("opened")
			}
			if strings.Contains(err.Error(), "s3cret") {
				t.Errorf("the password is in the error: %s: %v", row.why, err)
			}
			if !strings.Contains(err.Error(), row.want) {
				t.Errorf("error is %q, want it to say %q: %s", err, row.want, row.why)
			}
		})
	}
}
