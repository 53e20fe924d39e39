package sqlstore

import "context"

// Pragma reads a setting of the database as the store's connections have it.
func (s *Store) Pragma(ctx context.Context, name string) (value string, err error) {
	err = s.db.QueryRowContext(ctx, "PRAGMA "+name).Scan(&value)
	return value, err
}
