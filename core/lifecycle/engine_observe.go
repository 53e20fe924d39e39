package lifecycle

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/ports"
)

// observe makes the observation that a decision asked for. Only a failing store or
// random source is an error: whatever a control plane or Coder does is seen.
func (r *stepRun) observe(ctx context.Context, want Read) error {
	if want == r.lastRead {
		return assertionFailed("the same read was asked for twice: kind %d of %s", want.Kind, want.ID)
	}
	r.lastRead = want
	switch want.Kind {
	case ReadControlPlane:
		r.readControlPlane(ctx, r.in.Record.Spec.ControlPlaneRef)
		return nil
	case ReadAttemptID:
		return r.drawAttemptID()
	case ReadClaimed:
		return r.readClaimed(ctx, want.ID)
	}
	entry, err := r.dialed.entry(r.in.Seen.ControlPlane.Value.Connection)
	if err != nil {
		r.in.Seen.DialFailure = "correct the control plane's connection: " + err.Error()
		return nil
	}
	r.entry = entry
	r.ask(ctx, entry, r.shares(entry.inputs), want)
	return nil
}

func (r *stepRun) readControlPlane(ctx context.Context, ref string) {
	fresh := ports.Cached
	if r.live {
		fresh = ports.Live
	}
	plane, err := r.config.ControlPlanes.ControlPlane(ctx, ref, fresh)
	if err != nil {
		failure := &core.Failure{Op: "read control plane", Message: "the control plane could not be read: " + err.Error()}
		r.in.Seen.ControlPlane = Result[core.ControlPlane]{Done: true, Failure: failure}
		return
	}
	r.in.Seen.ControlPlane = Result[core.ControlPlane]{Done: true, Value: plane}
}

// ask makes one call of the CodeRunner, or takes the answer of another test from s, unless
// that is nil.
func (r *stepRun) ask(ctx context.Context, entry *dialedEntry, s *shared, want Read) {
	seen, st, runner := &r.in.Seen, &r.in.Record.Status, entry.runner
	ref, _ := core.ParseTemplateRef(r.in.Record.Spec.Template)
	key := sharedKey{deployment: seen.Deployment.Value.ID, kind: want.Kind, id: want.ID}
	switch want.Kind {
	case ReadDeployment, ReadOperator:
		r.readIdentity(ctx, entry, s, want.Kind)
	case ReadOwner:
		seen.Owner = sharedResult(ctx, r, s, key, func() (core.User, error) { return runner.Owner(ctx, want.ID) })
		if seen.Owner.Failure == nil {
			r.dialed.rememberOwner(entry, seen.Owner.Value, true)
		}
	case ReadOrganization:
		key.name = strings.ToLower(ref.Organization)
		seen.Organization = sharedResult(ctx, r, s, key, func() (core.Organization, error) { return runner.Organization(ctx, ref.Organization) })
	case ReadTemplate:
		key.name = strings.ToLower(ref.Template)
		seen.Template = sharedResult(ctx, r, s, key, func() (core.Template, error) { return runner.Template(ctx, want.ID, ref.Template) })
	case ReadVersion:
		seen.Version = sharedResult(ctx, r, s, key.version(r.in.Record.Spec.Version, seen.Template.Value), func() (core.TemplateVersion, error) {
			return r.version(ctx, runner, want.ID)
		})
	case ReadParameters:
		query := core.ParameterQuery{
			VersionID: want.ID, OwnerID: seen.Owner.Value.ID, Classic: seen.Template.Value.ClassicParameters,
			Parameters: r.in.Record.Spec.Parameters, Preset: r.in.Record.Spec.Preset,
		}
		seen.Parameters = sharedResult(ctx, r, s, key.parameters(query), func() (core.ParameterReport, error) { return runner.CheckParameters(ctx, query) })
	case ReadExternalAuth:
		key.owner = seen.Owner.Value.ID
		seen.ExternalAuth = sharedResult(ctx, r, s, key, func() ([]core.ExternalAuth, error) { return runner.ExternalAuth(ctx, want.ID, key.owner) })
	case ReadName:
		name := core.WorkspaceName(r.in.Record.ID)
		seen.Name = result(r, func() (core.NameLookup, error) { return runner.FindWorkspace(ctx, want.ID, name) })
	case ReadWorkspace:
		seen.Workspaces = with(seen.Workspaces, want.ID,
			result(r, func() (core.Workspace, error) { return r.readWorkspace(ctx, entry, want.ID) }))
	case ReadBuilds:
		seen.Builds = with(seen.Builds, want.ID,
			result(r, func() ([]core.Build, error) { return runner.Builds(ctx, want.ID) }))
	case ReadMayRead:
		seen.MayRead = result(r, func() (bool, error) { return runner.MayReadWorkspaces(ctx, st.OwnerID, want.ID) })
	case ReadMayReadAfter:
		seen.MayReadAfter = result(r, func() (bool, error) { return runner.MayReadWorkspaces(ctx, st.OwnerID, want.ID) })
	case ReadOwned:
		seen.Owned = result(r, func() ([]core.Workspace, error) { return runner.OwnedWorkspaces(ctx, seen.Owner.Value) })
	case ReadDeploymentAfter:
		seen.DeploymentAfter = result(r, func() (core.Deployment, error) { return runner.Deployment(ctx) })
	}
}

// readIdentity reads the deployment and the operator user. Once the workspace is
// known its ID alone is the identity, so they may be remembered for a while;
// before, the marker pins them and a proof of absence rests on them.
func (r *stepRun) readIdentity(ctx context.Context, entry *dialedEntry, s *shared, kind ReadKind) {
	seen, connection := &r.in.Seen, r.in.Seen.ControlPlane.Value.Connection
	if r.in.Record.Status.WorkspaceID != uuid.Nil {
		if known, ok := r.dialed.identity(connection, r.config.Options.IdentityMaxAge); ok {
			seen.Deployment = Result[core.Deployment]{Done: true, Value: known.deployment}
			seen.Operator = Result[core.User]{Done: true, Value: known.operator}
			r.deploymentAt = known.readAt
			return
		}
	}
	if kind == ReadDeployment {
		answered := result(r, func() (answering, error) { return r.readDeployment(ctx, entry) })
		seen.Deployment = Result[core.Deployment]{Done: true, Value: answered.Value.Deployment, Failure: answered.Failure}
		r.deploymentAt = answered.Value.at
		return
	}
	// A token's user is the same for as long as the same deployment answers.
	key := sharedKey{deployment: seen.Deployment.Value.ID, kind: ReadOperator}
	seen.Operator = sharedResult(ctx, r, s, key, func() (core.User, error) { return entry.runner.Operator(ctx) })
	if seen.Operator.Failure == nil && seen.Deployment.Failure == nil {
		r.dialed.remember(connection, identity{
			deployment: seen.Deployment.Value, operator: seen.Operator.Value, readAt: r.deploymentAt,
		})
	}
}

// readDeployment reads who answers, together with other steps that ask now.
func (r *stepRun) readDeployment(ctx context.Context, entry *dialedEntry) (answering, error) {
	return entry.deployment.read(ctx, func(int) (answering, error) {
		at := r.config.Clock.Monotonic()
		deployment, err := entry.runner.Deployment(ctx)
		return answering{deployment, at}, err
	})
}

// readWorkspace reads a workspace, together with other steps that ask for one of the same
// owner now.
func (r *stepRun) readWorkspace(ctx context.Context, entry *dialedEntry, id uuid.UUID) (core.Workspace, error) {
	reads, owner, known := r.dialed.ownerReads(entry, r.in.Record.Status.OwnerID)
	if !known {
		return entry.runner.Workspace(ctx, id)
	}
	return reads.workspace(ctx, entry.runner, owner, id)
}

// version reads the pinned version, or has the spec's selector resolved.
func (r *stepRun) version(ctx context.Context, runner ports.CodeRunner, pinned uuid.UUID) (core.TemplateVersion, error) {
	if pinned != uuid.Nil {
		return runner.Version(ctx, pinned)
	}
	return SelectVersion(ctx, runner, r.in.Record.Spec.Version, r.in.Seen.Template.Value)
}

func (r *stepRun) drawAttemptID() error {
	id, err := uuid.NewRandomFromReader(r.config.Random)
	if err != nil {
		return fmt.Errorf("draw a create attempt ID: %w", err)
	}
	r.in.Seen.AttemptID = id
	return nil
}

// readClaimed tells whether a record here holds the workspace's ID.
func (r *stepRun) readClaimed(ctx context.Context, workspace uuid.UUID) error {
	_, err := r.config.Store.HolderOf(ctx, workspace)
	if err != nil && !errors.Is(err, ports.ErrNotFound) {
		return fmt.Errorf("find the holder of workspace %s: %w", workspace, err)
	}
	r.in.Seen.Claimed = with(r.in.Seen.Claimed, workspace, err == nil)
	return nil
}

// result makes a call and notes when Coder asked to slow down.
func result[T any](r *stepRun, call func() (T, error)) Result[T] {
	if failure := r.slowedDown(); failure != nil {
		return Result[T]{Done: true, Failure: failure}
	}
	value, err := call()
	failure := core.AsFailure(err)
	r.noteRateLimit(failure)
	return Result[T]{Done: true, Value: value, Failure: failure}
}

// jitter draws a number from -1 to 1; 0 when the random source fails, which costs
// only the spreading.
func (r *stepRun) jitter() float64 {
	var raw [4]byte
	if _, err := r.config.Random.Read(raw[:]); err != nil {
		return 0
	}
	return float64(binary.LittleEndian.Uint32(raw[:]))/math.MaxUint32*2 - 1
}

func with[V any](m map[uuid.UUID]V, id uuid.UUID, v V) map[uuid.UUID]V {
	if m == nil {
		m = make(map[uuid.UUID]V, 1)
	}
	m[id] = v
	return m
}
