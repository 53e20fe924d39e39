package sqlstore

import (
	"context"
	"database/sql"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/ports"
)

var _ ports.TestFinder = (*Store)(nil)

// FindTests implements ports.TestFinder.
func (s *Store) FindTests(ctx context.Context, query core.TestQuery) (core.TestPage, error) {
	ctx, cancel := s.bounded(ctx)
	defer cancel()
	page, err := s.findTests(ctx, query)
	if err != nil {
		return core.TestPage{}, fmt.Errorf("find tests: %w", err)
	}
	return page, nil
}

func (s *Store) findTests(ctx context.Context, query core.TestQuery) (core.TestPage, error) {
	limit := query.Limit
	if limit <= 0 {
		limit = core.DefaultTestPage
	}
	limit = min(limit, core.MaxTestPage)
	where, possible, err := conditionsOf(query)
	if err != nil || !possible {
		return core.TestPage{}, err
	}
	// One more than the page tells whether there is another one.
	statement := `SELECT revision, document FROM tests` + where.text() +
		` ORDER BY created_at DESC, id DESC LIMIT ` + where.value(limit+1)
	rows, err := s.db.QueryContext(ctx, statement, where.values...)
	if err != nil {
		return core.TestPage{}, err
	}
	records, err := scanRecords(rows)
	if err != nil {
		return core.TestPage{}, err
	}
	page := core.TestPage{Records: records}
	if len(records) > limit {
		page.Records = records[:limit]
		page.Next = formatPage(&records[limit-1])
	}
	return page, nil
}

// conditions are joined by AND. Values are bound, never written into the statement.
type conditions struct {
	texts  []string
	values []any
}

// value binds a value and returns what stands for it.
func (c *conditions) value(v any) string {
	c.values = append(c.values, v)
	return "$" + strconv.Itoa(len(c.values))
}

func (c *conditions) add(text string) { c.texts = append(c.texts, text) }

// oneOf asks that a column has one of the values, where there are any.
func oneOf[T ~string](c *conditions, column string, values []T) {
	if len(values) == 0 {
		return
	}
	places := make([]string, 0, len(values))
	for _, value := range values {
		places = append(places, c.value(string(value)))
	}
	c.add(column + " IN (" + strings.Join(places, ", ") + ")")
}

func (c *conditions) text() string {
	if len(c.texts) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(c.texts, " AND ")
}

// conditionsOf is what a query asks for. possible is false where no record can have what
// is asked for.
func conditionsOf(query core.TestQuery) (where *conditions, possible bool, err error) {
	for _, text := range append([]string{query.Template, query.Version}, query.ControlPlanes...) {
		// No stored text is like that, and PostgreSQL refuses to compare it.
		if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
			return nil, false, nil
		}
	}
	c := &conditions{}
	phases := query.Phases
	for _, phase := range query.Phases {
		if phase == core.PhasePending {
			phases = append(phases[:len(phases):len(phases)], "") // never looked at
		}
	}
	oneOf(c, "phase", phases)
	oneOf(c, "outcome_class", query.Classes)
	oneOf(c, "control_plane_ref", query.ControlPlanes)
	if query.Template != "" {
		c.add("template = " + c.value(query.Template))
	}
	if query.Version != "" {
		c.add("(version_asked = " + c.value(query.Version) + " OR version_name = " + c.value(query.Version) +
			" OR version_id = " + c.value(query.Version) + ")")
	}
	if !query.CreatedFrom.IsZero() {
		c.add("created_at >= " + c.value(query.CreatedFrom.UnixMicro()))
	}
	if !query.CreatedBefore.IsZero() {
		c.add("created_at < " + c.value(query.CreatedBefore.UnixMicro()))
	}
	if query.Unfinished {
		c.add("unfinished")
	}
	if query.After != "" {
		createdAt, id, err := parsePage(query.After)
		if err != nil {
			return nil, false, err
		}
		c.add("(created_at, id) < (" + c.value(createdAt) + ", " + c.value(id.String()) + ")")
	}
	return c, true, nil
}

// formatPage names the page that comes after a record.
func formatPage(last *core.Record) string {
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%d %s", last.CreatedAt.UnixMicro(), last.ID))
}

func parsePage(page string) (createdAt int64, id uuid.UUID, err error) {
	text, err := base64.RawURLEncoding.DecodeString(page)
	if err != nil {
		return 0, uuid.Nil, ports.ErrBadPage
	}
	number, name, _ := strings.Cut(string(text), " ")
	createdAt, numberErr := strconv.ParseInt(number, 10, 64)
	id, idErr := uuid.Parse(name)
	if numberErr != nil || idErr != nil || len(name) != 36 {
		return 0, uuid.Nil, ports.ErrBadPage
	}
	return createdAt, id, nil
}

// CountTests implements ports.TestFinder.
func (s *Store) CountTests(ctx context.Context) (counts map[core.Phase]int, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("count tests: %w", err)
		}
	}()
	ctx, cancel := s.bounded(ctx)
	defer cancel()
	rows, err := s.db.QueryContext(ctx, `SELECT phase, count(*) FROM tests GROUP BY phase`)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	counts = map[core.Phase]int{}
	for rows.Next() {
		var (
			phase core.Phase
			count int
		)
		if err := rows.Scan(&phase, &count); err != nil {
			return nil, err
		}
		if phase == "" {
			phase = core.PhasePending
		}
		counts[phase] += count
	}
	return counts, rows.Err()
}

// sought is what a record is looked for by, besides the columns that it always had.
type sought struct {
	versionName, versionID sql.NullString
	unfinished             bool
}

func soughtOf(record *core.Record) sought {
	s := sought{
		versionName: sql.NullString{String: record.Status.TemplateVersionName, Valid: record.Status.TemplateVersionName != ""},
		unfinished:  !record.Status.Phase.Final() || record.Held || record.Spec.TTLSecondsAfterFinished != nil,
	}
	if id := record.Status.TemplateVersionID; id != uuid.Nil {
		s.versionID = sql.NullString{String: id.String(), Valid: true}
	}
	return s
}

// fillBatch is how many rows are filled in by one transaction.
const fillBatch = 200

// fillSought fills in what older versions did not write. It may run in several processes.
func (s *Store) fillSought(ctx context.Context) error {
	var missing int
	err := s.db.QueryRowContext(ctx, `SELECT count(*) FROM (SELECT 1 FROM tests WHERE template IS NULL LIMIT 1) AS missing`).Scan(&missing)
	if err != nil || missing == 0 {
		return err
	}
	for {
		done := false
		err := s.write(ctx, func(ctx context.Context, tx *sql.Tx) error {
			rows, err := tx.QueryContext(ctx, `SELECT revision, document FROM tests WHERE template IS NULL LIMIT $1`, fillBatch)
			if err != nil {
				return err
			}
			records, err := scanRecords(rows)
			if err != nil {
				return err
			}
			done = len(records) < fillBatch
			for i := range records {
				record := &records[i]
				also := soughtOf(record)
				_, err := tx.ExecContext(ctx, `
					UPDATE tests SET template = $2, version_asked = $3, version_name = $4, version_id = $5, outcome_class = $6, unfinished = $7
					WHERE id = $1 AND template IS NULL`,
					record.ID.String(), record.Spec.Template, record.Spec.Version.String(), also.versionName, also.versionID,
					string(record.Status.OutcomeClass), also.unfinished)
				if err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil || done {
			return err
		}
	}
}

// micro is a time as the database has it.
func micro(t time.Time) int64 { return t.UnixMicro() }
