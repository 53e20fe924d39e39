package sqlstore_test

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/adapters/sqlstore"
	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/fakes/clock"
	"github.com/assay-dev/assay/ports"
	"github.com/assay-dev/assay/ports/porttest"
)

// envWriter has the test binary be a process that writes to the state file which the
// variable names, until it is killed.
const envWriter = "ASSAY_TEST_WRITER"

func TestMain(m *testing.M) {
	if path := os.Getenv(envWriter); path != "" {
		if err := writeUntilKilled(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

// writeUntilKilled tells each test that it stored, after the store confirmed it.
func writeUntilKilled(path string) error {
	ctx := context.Background()
	store, err := sqlstore.Open(ctx, path, clock.New(start))
	if err != nil {
		return err
	}
	for {
		record, err := store.Create(ctx, porttest.NewRecord())
		if err != nil {
			return err
		}
		if record, err = store.TakeHold(ctx, record); err != nil {
			return err
		}
		record.Status.CreateAttemptID = record.ID
		if _, err := store.Save(ctx, record); err != nil {
			return err
		}
		fmt.Println(record.ID)
	}
}

func TestKilledProcessesLoseNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "assay.db")
	var confirmed []uuid.UUID
	for range 3 {
		for _, line := range killAfter(t, path, 20) {
			id, err := uuid.Parse(line)
			if err != nil {
				t.Fatal(err)
			}
			confirmed = append(confirmed, id)
		}
	}
	store := open(t, path, clock.New(start))
	for _, id := range confirmed {
		record, err := store.Load(t.Context(), id, ports.Live)
		if err != nil || !record.Held || record.Status.CreateAttemptID != id {
			t.Fatalf("test %s: %+v, error %v; want what was confirmed", id, record, err)
		}
	}
	records, err := store.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if extra := len(records) - len(confirmed); extra < 0 || extra > 3 {
		t.Errorf("%d records that nobody confirmed, want one a kill at most", extra)
	}
}

// killAfter starts a writer and kills it after it confirmed so many tests; those that
// it confirmed until it died are returned.
func killAfter(t *testing.T, path string, lines int) []string {
	t.Helper()
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	writer := exec.CommandContext(t.Context(), executable)
	writer.Env = append(os.Environ(), envWriter+"="+path)
	var stderr bytes.Buffer
	writer.Stderr = &stderr
	stdout, err := writer.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := writer.Start(); err != nil {
		t.Fatal(err)
	}
	scanner := bufio.NewScanner(stdout)
	var confirmed []string
	for scanner.Scan() {
		if confirmed = append(confirmed, scanner.Text()); len(confirmed) == lines {
			if err := writer.Process.Kill(); err != nil {
				t.Error(err)
			}
		}
	}
	_ = writer.Wait()
	if len(confirmed) < lines {
		t.Fatalf("the writer ended after %d tests: %s", len(confirmed), stderr.String())
	}
	return slices.DeleteFunc(confirmed, func(line string) bool { return len(line) < len(uuid.Nil.String()) })
}

func TestFullDiskLosesNothing(t *testing.T) {
	virtual := clock.New(start)
	store := open(t, filepath.Join(t.TempDir(), "assay.db"), virtual)
	known, err := store.Create(t.Context(), porttest.NewRecord())
	if err != nil {
		t.Fatal(err)
	}
	if err := store.FillDisk(t.Context()); err != nil {
		t.Fatal(err)
	}
	var full error
	for range 1000 {
		big := porttest.NewRecord()
		big.Spec.Parameters = []core.Parameter{{Name: "big", Value: strings.Repeat("x", core.MaxParameterValueLength)}}
		if _, full = store.Create(t.Context(), big); full != nil {
			break
		}
	}
	if full == nil || !strings.Contains(full.Error(), "the disk is full; free space") {
		t.Fatalf("error is %v, want one that says that the disk is full and what to do", full)
	}
	if got, err := store.Load(t.Context(), known.ID, ports.Live); err != nil || got.Revision != known.Revision {
		t.Errorf("record at revision %q, error %v; want what was stored before", got.Revision, err)
	}
	if err := store.FreeDisk(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := store.TakeHold(t.Context(), known); err != nil {
		t.Errorf("after space was made: %v", err)
	}
}

func TestOldFileIsCarriedForward(t *testing.T) {
	path := copyOf(t, "schema-1.db")
	store := open(t, path, clock.New(start))
	records, err := store.List(t.Context())
	if err != nil || len(records) != 2 {
		t.Fatalf("%d records, error %v; want both", len(records), err)
	}
	finished, unfinished := records[0], records[1]
	if finished.Name != "finished" || finished.Status.Phase != core.PhaseSucceeded || finished.Held {
		t.Errorf("the finished test is %+v", finished)
	}
	if unfinished.Name != "unfinished" || !unfinished.Held || unfinished.Status.WorkspaceID == uuid.Nil ||
		unfinished.Status.CreateAttemptID == uuid.Nil || unfinished.Status.OperatorUserID == uuid.Nil {
		t.Errorf("the unfinished test is %+v", unfinished)
	}
	if _, err := store.Save(t.Context(), unfinished); err != nil {
		t.Errorf("its revision does not stand any more: %v", err)
	}
	_, err = store.TakeLease(t.Context(), core.Lease{Test: unfinished.ID, Holder: "one", Until: start.Add(time.Minute)}, core.Lease{})
	if err != nil {
		t.Errorf("it has no leases: %v", err)
	}
	if _, err := store.ControlPlane(t.Context(), unfinished.Spec.ControlPlaneRef); !errors.Is(err, ports.ErrNotFound) {
		t.Errorf("its control plane: error is %v, want ErrNotFound", err)
	}
}

// TestRefusedFilesAreLeftAlone damages a file, sees that it is refused with what to do,
// and that it is the same afterwards.
func TestRefusedFilesAreLeftAlone(t *testing.T) {
	for _, row := range []struct {
		name, why string
		damage    func(t *testing.T, path string)
		want      string
	}{
		{
			"cut short", "records are missing, and with them perhaps workspaces",
			func(t *testing.T, path string) { truncate(t, path, 3*4096) }, "it is damaged; restore a backup",
		},
		{
			"cut within the first page", "nothing of it can be trusted",
			func(t *testing.T, path string) { truncate(t, path, 1000) }, "it is damaged",
		},
		{
			"overwritten in part", "SQLite would notice only when it reads that page",
			func(t *testing.T, path string) { overwrite(t, path, 4096+8, bytes.Repeat([]byte{0xff}, 4000)) }, "it is damaged",
		},
		{
			"another program's database", "its tables are nobody's business",
			func(t *testing.T, path string) {
				if err := os.Remove(path); err != nil {
					t.Fatal(err)
				}
				query(t, path, `CREATE TABLE tests (id INTEGER)`)
			},
			"it is not a state file of assay; choose another file",
		},
		{
			"from the future", "its records could be misread",
			func(t *testing.T, path string) {
				query(t, path, `INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, 1)`)
			},
			"use a newer version of assay",
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			path := copyOf(t, "schema-1.db")
			row.damage(t, path)
			before := contentOf(t, path)
			store, err := sqlstore.Open(t.Context(), path, clock.New(start))
			if err == nil {
				store.Close()
				t.Fatalf("opened, want an error: %s", row.why)
			}
			if !strings.Contains(err.Error(), row.want) || !strings.Contains(err.Error(), path) {
				t.Errorf("error is %q, want it to say %q and name the file: %s", err, row.want, row.why)
			}
			if !bytes.Equal(before, contentOf(t, path)) {
				t.Error("the file was changed")
			}
		})
	}
}

func TestLockedFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "assay.db")
	store := open(t, path, clock.New(start))
	other := openWith(t, path, sqlstore.WithBusyTimeout(time.Millisecond))
	tx, err := store.DB().BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	if _, err := other.Create(t.Context(), porttest.NewRecord()); err == nil || !strings.Contains(err.Error(), "another process keeps it locked; end that process") {
		t.Errorf("error is %v, want one that says that the file is locked and what to do", err)
	}
	if _, err := other.List(t.Context()); err != nil {
		t.Errorf("reading waits for no writer: %v", err)
	}
}

func openWith(t *testing.T, path string, options ...sqlstore.Option) *sqlstore.Store {
	t.Helper()
	store, err := sqlstore.Open(t.Context(), path, clock.New(start), options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return store
}

func copyOf(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, contentOf(t, filepath.Join("testdata", name)), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func contentOf(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func truncate(t *testing.T, path string, size int64) {
	t.Helper()
	if err := os.Truncate(path, size); err != nil {
		t.Fatal(err)
	}
}

func overwrite(t *testing.T, path string, offset int64, content []byte) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = file.WriteAt(content, offset)
	if err := errors.Join(err, file.Close()); err != nil {
		t.Fatal(err)
	}
}

// query changes a file as another program would.
func query(t *testing.T, path, statement string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.Exec(statement)
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}

// requireNowhere fails the test if the text is in the file or its companions.
func requireNowhere(t *testing.T, path, text string) {
	t.Helper()
	for _, suffix := range []string{"", "-wal", "-shm"} {
		file, err := os.Open(path + suffix)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(file)
		if err := errors.Join(err, file.Close()); err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(content, []byte(text)) {
			t.Errorf("%q is stored in %s", text, file.Name())
		}
	}
}
