package sqlstore_test

import (
	"path/filepath"
	"testing"

	"github.com/assay-dev/assay/adapters/sqlstore"
	"github.com/assay-dev/assay/adapters/testbed"
	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/fakes/clock"
	"github.com/assay-dev/assay/ports/porttest"
)

func TestHistoryOnSQLite(t *testing.T) {
	porttest.History(t, func(t *testing.T) porttest.HistoryFixture {
		virtual := clock.New(start)
		store, err := sqlstore.Open(t.Context(), filepath.Join(t.TempDir(), "assay.db"), virtual, sqlstore.WithNotices(porttest.NoticesOf))
		return historyFixture(t, store, err, virtual)
	})
}

func TestHistoryOnPostgres(t *testing.T) {
	porttest.History(t, func(t *testing.T) porttest.HistoryFixture {
		virtual := clock.New(start)
		store, err := sqlstore.OpenPostgres(t.Context(), testbed.RequirePostgres(t), virtual, sqlstore.WithNotices(porttest.NoticesOf))
		return historyFixture(t, store, err, virtual)
	})
}

func historyFixture(t *testing.T, store *sqlstore.Store, err error, virtual *clock.Clock) porttest.HistoryFixture {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return porttest.HistoryFixture{Store: store, Now: virtual.Now, Advance: virtual.Advance}
}

// TestRowsOfOlderVersionsAreFound opens a database whose rows lack what they are looked for
// by, as an older version left them.
func TestRowsOfOlderVersionsAreFound(t *testing.T) {
	path, virtual := filepath.Join(t.TempDir(), "assay.db"), clock.New(start)
	store := open(t, path, virtual)
	for range 450 {
		if _, err := store.Create(t.Context(), porttest.NewRecord()); err != nil {
			t.Fatal(err)
		}
	}
	_, err := store.DB().Exec(`UPDATE tests SET template = NULL, version_asked = NULL, version_name = NULL, version_id = NULL, outcome_class = NULL, unfinished = NULL`)
	if err != nil {
		t.Fatal(err)
	}
	again, query, found := open(t, path, virtual), core.TestQuery{Template: "acme.docker", Version: "active", Unfinished: true, Limit: 200}, 0
	for {
		page, err := again.FindTests(t.Context(), query)
		if err != nil {
			t.Fatal(err)
		}
		found += len(page.Records)
		if query.After = page.Next; page.Next == "" {
			break
		}
	}
	if found != 450 {
		t.Errorf("%d tests are found, want 450", found)
	}
}
