package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/ports"
)

// controlPlanes are the deployments that a run can use, by reference. Nobody takes one
// away while the run lasts.
type controlPlanes map[string]core.ControlPlane

// ControlPlane implements ports.ControlPlanes. A reference that is not known says
// nothing about whether that control plane is gone.
func (c controlPlanes) ControlPlane(_ context.Context, ref string, _ ports.Freshness) (core.ControlPlane, error) {
	if plane, ok := c[ref]; ok {
		return plane, nil
	}
	return core.ControlPlane{Ref: ref, Message: "use the front end that made the test: the command line knows no such control plane"}, nil
}

// pendingRef stands in a spec until its deployment is known. Records that were made
// before deployments were stored have it still.
const pendingRef = "cli"

// newPlane is the deployment at the connection, under a reference that says what it
// is: runs that name the same address, certificate authorities and policy share one,
// and none ever changes another one's.
func newPlane(connection core.Connection, policy core.Policy) (core.ControlPlane, error) {
	identity, err := json.Marshal([]any{connection.URL, connection.CACertificates, policy})
	if err != nil {
		return core.ControlPlane{}, fmt.Errorf("name the control plane: %w", err)
	}
	sum := sha256.Sum256(identity)
	return core.ControlPlane{
		Ref: "cli-" + hex.EncodeToString(sum[:8]), State: core.ControlPlaneUsable, Policy: policy, Connection: connection,
	}, nil
}
