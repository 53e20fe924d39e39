package testbed

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/assay-dev/assay/adapters/testbed/internal/supervise"
)

// sharedPostgres is the PostgreSQL server of this process. It is not the one below a
// [Bed], which is Coder's own.
var sharedPostgres = sync.OnceValues(func() (*postgres, error) {
	programs, err := findPostgres(os.Getenv, os.DirFS("/"))
	if err != nil {
		return nil, err
	}
	ctx := context.Background()
	supervisor, err := supervise.Start(ctx, "", os.Getenv("ASSAY_TESTBED_LOGS"))
	if err != nil {
		return nil, err
	}
	server, err := startPostgres(ctx, supervisor, programs)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start PostgreSQL: %w", err), supervisor.Close())
	}
	return server, nil
})

// RequirePostgres returns the URL of a new, empty database, for this test alone, of a real
// PostgreSQL server that all tests of the process share. It goes with the test, the
// server with the process.
//
// The test is skipped unless ASSAY_E2E is 1, and fails if no server can be had.
func RequirePostgres(t testing.TB) string {
	t.Helper()
	skipUnlessE2E(t)
	server, err := sharedPostgres()
	if err != nil {
		t.Fatal(err)
	}
	name := pgx.Identifier{UniqueName("assay")}
	if err := server.run(t.Context(), "CREATE DATABASE "+name.Sanitize()+" TEMPLATE template0"); err != nil {
		t.Fatalf("make a database: %v", err)
	}
	t.Cleanup(func() {
		if err := server.run(context.WithoutCancel(t.Context()), "DROP DATABASE "+name.Sanitize()+" WITH (FORCE)"); err != nil {
			t.Errorf("drop the database: %v", err)
		}
	})
	return server.url(name[0])
}

// run has the superuser run a statement outside of the databases of tests.
func (p *postgres) run(ctx context.Context, statement string) (err error) {
	conn, err := pgx.Connect(ctx, p.url(postgresSuperuser))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }()
	_, err = conn.Exec(ctx, statement)
	return err
}
