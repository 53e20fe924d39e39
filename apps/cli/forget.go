package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/assay-dev/assay/adapters/report"
	"github.com/assay-dev/assay/adapters/sqlstore"
	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/ports"
)

const forgetLong = `Drop the record of a test from the state file, whatever became of its workspace, and say
what may remain in Coder. Nothing is asked of Coder. It is meant for records that
nothing can finish, such as one of a deployment that is no more: try "assay resume"
first.

The beginning of the test's ID is enough, if it is the only one that begins so. A test
that a process runs is not forgotten.`

func newForgetCommand(env Env) *cobra.Command {
	var state string
	cmd := &cobra.Command{
		Use:     "forget ID",
		Short:   "Drop the record of a test that cannot be finished",
		Long:    forgetLong,
		Example: "  assay forget 6f0c2d9e",
		Args:    oneTest,

		ValidArgsFunction: completeIDs(env, false),
		RunE: func(cmd *cobra.Command, args []string) error {
			found := false
			err := withStore(cmd.Context(), env, state, func(store *sqlstore.Store) error {
				found = true
				return forget(cmd.Context(), env, store, args[0])
			})
			if err == nil && !found {
				_, err = find(nil, args[0])
			}
			return err
		},
	}
	registerState(cmd.Flags(), &state)
	return cmd
}

func forget(ctx context.Context, env Env, store *sqlstore.Store, prefix string) error {
	records, err := store.List(ctx)
	if err != nil {
		return err
	}
	record, err := find(records, prefix)
	if err != nil {
		return err
	}
	leases, err := store.ListLeases(ctx)
	if err != nil {
		return err
	}
	for _, lease := range leases {
		if lease.Test == record.ID {
			return failure(fmt.Errorf("test %s is not forgotten: %s runs it; end that first, or wait until %s if it was killed",
				record.ID, lease.Holder, stamp(lease.Until)))
		}
	}
	plane, err := store.ControlPlane(ctx, record.Spec.ControlPlaneRef)
	if err != nil && !errors.Is(err, ports.ErrNotFound) {
		return err
	}
	if err := drop(ctx, store, record.ID); err != nil {
		return err
	}
	if remains := whatRemains(record, plane); remains != "" {
		fmt.Fprintln(env.Stderr, remains)
	}
	_, err = fmt.Fprintf(env.Stdout, "Test %s is forgotten.\n", record.ID)
	return err
}

// drop removes a record in the order that a crash in between leaves harmless: the wish
// first, then the hold.
func drop(ctx context.Context, store *sqlstore.Store, id uuid.UUID) error {
	for {
		err := store.RequestDeletion(ctx, id)
		if errors.Is(err, ports.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		record, err := store.Load(ctx, id, ports.Live)
		if errors.Is(err, ports.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		if _, err := store.ReleaseHold(ctx, record); !errors.Is(err, ports.ErrConflict) {
			return err
		}
	}
}

// whatRemains says which workspace can still exist, empty if none can.
func whatRemains(record *core.Record, plane core.ControlPlane) string {
	r := report.NewTest(record)
	switch r.Workspace.State {
	case "none", "deleted":
		return ""
	}
	where := firstOf(plane.Connection.URL, "its deployment")
	what := r.Workspace.Name
	if r.Workspace.ID != uuid.Nil {
		what += " (" + r.Workspace.ID.String() + ")"
	}
	return fmt.Sprintf("A workspace may remain: look for %s at %s, and delete it there if it exists and nobody needs it.", what, where)
}
