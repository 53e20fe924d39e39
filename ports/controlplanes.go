package ports

import (
	"context"

	"github.com/assay-dev/assay/core"
)

// ControlPlanes finds the control plane that a reference names.
type ControlPlanes interface {
	// ControlPlane reads the control plane, its policy and its operator access. What
	// is wrong with it is told by its State, not by an error: a missing one is
	// core.ControlPlaneGone where that is proof, core.ControlPlaneUnready where it
	// is not. An error means that nothing could be read; it is waited on and never
	// means gone.
	ControlPlane(ctx context.Context, ref string, fresh Freshness) (core.ControlPlane, error)
}
