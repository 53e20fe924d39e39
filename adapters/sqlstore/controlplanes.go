package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/ports"
)

// PutControlPlane stores the plane's address, certificate authorities and policy under
// its reference, over what is stored there. Its token is never stored.
func (s *Store) PutControlPlane(ctx context.Context, plane core.ControlPlane) error {
	policy, err := json.Marshal(plane.Policy)
	if err != nil {
		return fmt.Errorf("encode the policy of control plane %q: %w", plane.Ref, err)
	}
	err = s.write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `
			INSERT INTO control_planes (ref, url, ca_certificates, policy) VALUES ($1, $2, $3, $4)
			ON CONFLICT (ref) DO UPDATE
			SET url = excluded.url, ca_certificates = excluded.ca_certificates, policy = excluded.policy`,
			plane.Ref, plane.Connection.URL, plane.Connection.CACertificates, string(policy))
		return err
	})
	if err != nil {
		return fmt.Errorf("store control plane %q: %w", plane.Ref, err)
	}
	return nil
}

// ControlPlane reads what PutControlPlane stored; the result has no token, and so no
// operator access. ports.ErrNotFound when there is none.
func (s *Store) ControlPlane(ctx context.Context, ref string) (core.ControlPlane, error) {
	plane := core.ControlPlane{Ref: ref, State: core.ControlPlaneNoAccess}
	ctx, cancel := s.bounded(ctx)
	defer cancel()
	var policy string
	err := s.db.QueryRowContext(ctx, `SELECT url, ca_certificates, policy FROM control_planes WHERE ref = $1`, ref).
		Scan(&plane.Connection.URL, &plane.Connection.CACertificates, &policy)
	if errors.Is(err, sql.ErrNoRows) {
		return core.ControlPlane{}, fmt.Errorf("control plane %q: %w", ref, ports.ErrNotFound)
	}
	if err == nil {
		err = json.Unmarshal([]byte(policy), &plane.Policy)
	}
	if err != nil {
		return core.ControlPlane{}, fmt.Errorf("read control plane %q: %w", ref, err)
	}
	return plane, nil
}
