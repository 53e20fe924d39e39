package sqlstore_test

import (
	"database/sql"
	"strings"
	"sync"
	"testing"

	"github.com/assay-dev/assay/adapters/sqlstore"
	"github.com/assay-dev/assay/adapters/testbed"
	"github.com/assay-dev/assay/fakes/clock"
	"github.com/assay-dev/assay/ports"
	"github.com/assay-dev/assay/ports/porttest"
)

func openPostgres(t *testing.T, dsn string, c ports.Clock, options ...sqlstore.Option) *sqlstore.Store {
	t.Helper()
	store, err := sqlstore.OpenPostgres(t.Context(), dsn, c, options...)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return store
}

func TestContractOnPostgres(t *testing.T) {
	porttest.TestRegistry(t, func(t *testing.T) ports.TestRegistry {
		return openPostgres(t, testbed.RequirePostgres(t), clock.New(start))
	})
}

// TestContractOfTwoServers has reads go to one server and changes to another.
func TestContractOfTwoServers(t *testing.T) {
	porttest.WorkspaceStore(t, func(t *testing.T) porttest.StoreFixture {
		dsn := testbed.RequirePostgres(t)
		one, other := openPostgres(t, dsn, clock.New(start)), openPostgres(t, dsn, clock.New(start))
		return fixtureOf(split{TestRegistry: one, reads: other}, other, nil)
	})
}

func TestContractOfLeasesOnPostgres(t *testing.T) {
	porttest.Leases(t, func(t *testing.T) porttest.LeasesFixture {
		virtual := clock.New(start)
		return porttest.LeasesFixture{
			Leases: openPostgres(t, testbed.RequirePostgres(t), virtual), Now: virtual.Now, Advance: virtual.Advance,
		}
	})
}

func TestContractOfClaimsOnPostgres(t *testing.T) {
	porttest.WorkspaceClaimer(t, func(t *testing.T) porttest.ClaimingRegistry {
		return openPostgres(t, testbed.RequirePostgres(t), clock.New(start))
	})
}

func TestManyServersOpenANewDatabaseAtOnce(t *testing.T) {
	dsn := testbed.RequirePostgres(t)
	var group sync.WaitGroup
	for range 6 {
		group.Go(func() {
			store, err := sqlstore.OpenPostgres(t.Context(), dsn, clock.New(start))
			if err != nil {
				t.Errorf("open: %v", err)
				return
			}
			defer store.Close()
			if _, err := store.Create(t.Context(), porttest.NewRecord()); err != nil {
				t.Errorf("create: %v", err)
			}
		})
	}
	group.Wait()
	records, err := openPostgres(t, dsn, clock.New(start)).List(t.Context())
	if err != nil || len(records) != 6 {
		t.Errorf("%d records, error %v; want 6", len(records), err)
	}
}

func TestSettingsThatSafetyNeedsOnPostgres(t *testing.T) {
	dsn := testbed.RequirePostgres(t)
	database := openPostgres(t, dsn, clock.New(start)).DB()
	for _, row := range []struct{ setting, want, why string }{
		{"synchronous_commit", "on", "the bed's server confirms commits that a power cut takes back"},
		{"idle_in_transaction_session_timeout", "5s", "a suspended server must not keep the others from writing"},
		{"lock_timeout", "10s", "another server's transaction is waited for, and not for ever"},
	} {
		var got string
		if err := database.QueryRow(`SHOW ` + row.setting).Scan(&got); err != nil || got != row.want {
			t.Errorf("%s is %q (error %v), want %q: %s", row.setting, got, err, row.want, row.why)
		}
	}
}

func TestRefusedDatabases(t *testing.T) {
	for _, row := range []struct {
		name string
		// ours has assay make the database first, statement changes it, and change is the DSN's.
		ours              bool
		statement, change string
		want, why         string
	}{
		{
			name: "another program's", statement: `CREATE TABLE tests (id INTEGER)`,
			want: "it has tables and is not assay's", why: "its tables are nobody's business",
		},
		{
			name: "from the future", ours: true, statement: `INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, true)`,
			want: "use a newer version of assay", why: "its records could be misread",
		},
		{name: "no schema", change: "&search_path=nowhere", want: "the search path names no schema", why: "nothing can be made there"},
		{name: "no database", change: "&dbname=nowhere", want: "there is no such database", why: "it is not made by itself"},
		{
			name: "no rights", change: "&user=stranger", want: "grant it CREATE and USAGE on the schema", why: "the most frequent one",
			statement: `DROP ROLE IF EXISTS stranger; CREATE ROLE stranger LOGIN; REVOKE CREATE ON SCHEMA public FROM PUBLIC`,
		},
		{
			name: "read-only", change: "&default_transaction_read_only=on",
			want: "it is read-only; use the primary", why: "a standby takes no records",
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			dsn := testbed.RequirePostgres(t)
			if row.ours {
				openPostgres(t, dsn, clock.New(start))
			}
			if row.statement != "" {
				if _, err := connect(t, dsn).Exec(row.statement); err != nil {
					t.Fatal(err)
				}
			}
			store, err := sqlstore.OpenPostgres(t.Context(), dsn+row.change, clock.New(start))
			if err == nil {
				store.Close()
				t.Fatalf("opened, want an error: %s", row.why)
			}
			if !strings.Contains(err.Error(), row.want) || !strings.Contains(err.Error(), "PostgreSQL database") {
				t.Errorf("error is %q, want it to say %q and name the database: %s", err, row.want, row.why)
			}
		})
	}
}

// connect is another program on the database.
func connect(t *testing.T, dsn string) *sql.DB {
	t.Helper()
	database, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = database.Close() })
	return database
}
