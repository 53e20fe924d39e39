package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/ports"
)

// rememberDisappeared is for how many further changes a disappearance is kept for
// those who watch. Whoever lags behind more misses it, which Changes allows.
const rememberDisappeared = 1000

// querier is what *sql.DB and *sql.Tx have in common.
type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// nextRevision takes the next number of the database's counter. The row stays
// locked until the transaction ends.
func nextRevision(ctx context.Context, tx *sql.Tx) (int64, error) {
	var revision int64
	err := tx.QueryRowContext(ctx, `UPDATE revisions SET last = last + 1 WHERE id = 1 RETURNING last`).Scan(&revision)
	if err != nil {
		return 0, fmt.Errorf("count the change: %w", err)
	}
	return revision, nil
}

func load(ctx context.Context, q querier, id uuid.UUID) (core.Record, error) {
	var (
		revision int64
		document string
	)
	err := q.QueryRowContext(ctx, `SELECT revision, document FROM tests WHERE id = $1`, id.String()).Scan(&revision, &document)
	if errors.Is(err, sql.ErrNoRows) {
		return core.Record{}, ports.ErrNotFound
	}
	if err != nil {
		return core.Record{}, err
	}
	return decode(revision, document)
}

// namedDigits is how much of a test's ID, as text, decides the name of its workspace.
const namedDigits = 32

// sameWorkspace lists the records that hold the record's workspace, or whose workspace
// would have the same name.
func sameWorkspace(ctx context.Context, tx *sql.Tx, record *core.Record) ([]core.Record, error) {
	rows, err := tx.QueryContext(ctx, `SELECT revision, document FROM tests WHERE workspace_id = $1 OR substr(id, 1, $2) = $3`,
		record.Status.WorkspaceID.String(), namedDigits, record.ID.String()[:namedDigits])
	if err != nil {
		return nil, err
	}
	return scanRecords(rows)
}

func scanRecords(rows *sql.Rows) (records []core.Record, err error) {
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var (
			revision int64
			document string
		)
		if err := rows.Scan(&revision, &document); err != nil {
			return nil, err
		}
		record, err := decode(revision, document)
		if err != nil {
			return nil, err
		}
		records = append(records, record)
	}
	return records, rows.Err()
}

func decode(revision int64, document string) (core.Record, error) {
	var record core.Record
	if err := json.Unmarshal([]byte(document), &record); err != nil {
		return core.Record{}, fmt.Errorf("read stored record: %w", err)
	}
	if record.ID == uuid.Nil {
		return core.Record{}, errors.New("read stored record: it has no ID")
	}
	record.Revision = formatRevision(revision)
	return record, nil
}

func formatRevision(revision int64) string { return strconv.FormatInt(revision, 10) }

// parseRevision reads a revision that formatRevision made.
func parseRevision(record *core.Record) (int64, error) {
	revision, err := strconv.ParseInt(record.Revision, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("revision %q is not one of this store", record.Revision)
	}
	return revision, nil
}

// row is a record as the table's columns.
type row struct {
	createdAt           int64
	deletionRequestedAt sql.NullInt64
	workspaceID         sql.NullString
	document            string
	sought
}

func encode(record *core.Record) (row, error) {
	document, err := json.Marshal(record)
	if err != nil {
		return row{}, fmt.Errorf("encode record: %w", err)
	}
	r := row{createdAt: record.CreatedAt.UnixMicro(), document: string(document), sought: soughtOf(record)}
	if record.DeletionRequested() {
		r.deletionRequestedAt = sql.NullInt64{Int64: record.DeletionRequestedAt.UnixMicro(), Valid: true}
	}
	if record.Status.WorkspaceID != uuid.Nil {
		r.workspaceID = sql.NullString{String: record.Status.WorkspaceID.String(), Valid: true}
	}
	return r, nil
}

func insert(ctx context.Context, tx *sql.Tx, record *core.Record, revision int64) error {
	r, err := encode(record)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `
		INSERT INTO tests (id, revision, created_at, held, deletion_requested_at, control_plane_ref, phase, workspace_id, document,
			template, version_asked, version_name, version_id, outcome_class, unfinished)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)`,
		record.ID.String(), revision, r.createdAt, record.Held, r.deletionRequestedAt,
		record.Spec.ControlPlaneRef, string(record.Status.Phase), r.workspaceID, r.document,
		record.Spec.Template, record.Spec.Version.String(), r.versionName, r.versionID, string(record.Status.OutcomeClass), r.unfinished)
	if err != nil {
		return err
	}
	record.Revision = formatRevision(revision)
	return nil
}

func update(ctx context.Context, tx *sql.Tx, record *core.Record, revision int64) error {
	r, err := encode(record)
	if err != nil {
		return err
	}
	known, err := parseRevision(record)
	if err != nil {
		return err
	}
	result, err := tx.ExecContext(ctx, `
		UPDATE tests SET revision = $3, held = $4, deletion_requested_at = $5, phase = $6, workspace_id = $7, document = $8,
			version_name = $9, version_id = $10, outcome_class = $11, unfinished = $12
		WHERE id = $1 AND revision = $2`,
		record.ID.String(), known, revision, record.Held, r.deletionRequestedAt,
		string(record.Status.Phase), r.workspaceID, r.document,
		r.versionName, r.versionID, string(record.Status.OutcomeClass), r.unfinished)
	if err := oneRow(result, err); err != nil {
		return err
	}
	record.Revision = formatRevision(revision)
	return nil
}

func removeRecord(ctx context.Context, tx *sql.Tx, record *core.Record, revision int64) error {
	known, err := parseRevision(record)
	if err != nil {
		return err
	}
	result, err := tx.ExecContext(ctx, `DELETE FROM tests WHERE id = $1 AND revision = $2`, record.ID.String(), known)
	if err := oneRow(result, err); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, `DELETE FROM disappeared_tests WHERE revision <= $1`, revision-rememberDisappeared); err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO disappeared_tests (revision, id) VALUES ($1, $2)`, revision, record.ID.String())
	return err
}

// oneRow turns a guarded statement that met no row into a conflict.
func oneRow(result sql.Result, err error) error {
	if err != nil {
		return err
	}
	n, err := result.RowsAffected()
	if err != nil {
		return err
	}
	if n != 1 {
		return ports.ErrConflict
	}
	return nil
}
