package sqlstore

import "fmt"

// explain adds the database and what to do to an error of the database. Other errors, and
// nil, stay as they are.
func (s *Store) explain(err error) error {
	if advice := s.dialect.adviceOn(err); advice != "" {
		return fmt.Errorf("%s: %s: %w", s.place, advice, err)
	}
	return err
}

// openError is explain for errors of opening, which name the database in any case.
func (s *Store) openError(err error) error {
	if s.dialect.adviceOn(err) == "" {
		return fmt.Errorf("open %s: %w", s.place, err)
	}
	return s.explain(err)
}
