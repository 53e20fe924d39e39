package kubernetes

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/assay-dev/assay/adapters/kubernetes/v1alpha1"
	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/ports"
)

// Grace is how long the deletion of a control plane waits at most for the tests that use
// it to clean up. It counts as gone afterwards.
const Grace = 2 * time.Minute

// ControlPlanes finds control planes as CoderControlPlane objects, with their tokens in
// Secrets.
type ControlPlanes struct {
	cached, live client.Reader
	clock        ports.Clock

	mu sync.Mutex
	// used are the last connections of the control planes that exist, by reference. One
	// that is being deleted can lose its Secret first, when its whole namespace goes, and
	// its token works on.
	used map[string]usedConnection
}

type usedConnection struct {
	plane      types.UID
	connection core.Connection
}

var _ ports.ControlPlanes = (*ControlPlanes)(nil)

// NewControlPlanes makes the finder. cached may answer from a cache, live never does.
// Secrets are always read live: a cache would keep every Secret of the cluster in memory,
// and take the right to list them.
func NewControlPlanes(cached, live client.Reader, clock ports.Clock) *ControlPlanes {
	return &ControlPlanes{cached: cached, live: live, clock: clock, used: map[string]usedConnection{}}
}

// ControlPlane implements ports.ControlPlanes. A cached read that finds none says gone too:
// the engine reads live before it believes that.
func (c *ControlPlanes) ControlPlane(ctx context.Context, ref string, fresh ports.Freshness) (core.ControlPlane, error) {
	key, err := parseKey(ref)
	if err != nil {
		return core.ControlPlane{}, fmt.Errorf("control plane: %w", err)
	}
	reader := c.cached
	if fresh == ports.Live {
		reader = c.live
	}
	object := &v1alpha1.CoderControlPlane{}
	err = reader.Get(ctx, key, object)
	switch {
	case apierrors.IsNotFound(err):
		c.forget(ref)
		return core.ControlPlane{
			Ref: ref, State: core.ControlPlaneGone,
			Message: fmt.Sprintf("create the CoderControlPlane %q: it does not exist", key.Name),
		}, nil
	case err != nil:
		return core.ControlPlane{}, fmt.Errorf("read control plane %s: %w", ref, err)
	case object.DeletionTimestamp != nil:
		return c.deleted(ctx, object)
	default:
		return c.read(ctx, object)
	}
}

// GraceOver is when the deletion of a control plane stops to wait; the zero time when it
// does not wait.
func GraceOver(plane *v1alpha1.CoderControlPlane) time.Time {
	if plane.DeletionTimestamp == nil || !controllerutil.ContainsFinalizer(plane, v1alpha1.GraceFinalizer) {
		return time.Time{}
	}
	return plane.DeletionTimestamp.Add(Grace)
}

// deleted finds a control plane that is being deleted.
func (c *ControlPlanes) deleted(ctx context.Context, object *v1alpha1.CoderControlPlane) (core.ControlPlane, error) {
	message := fmt.Sprintf("use another control plane: the CoderControlPlane %q is being deleted", object.Name)
	gone := core.ControlPlane{Ref: referenceOf(object), State: core.ControlPlaneGone, Message: message}
	if !c.clock.Now().Before(GraceOver(object)) {
		c.forget(gone.Ref)
		return gone, nil
	}
	plane, err := c.read(ctx, object)
	if err != nil {
		return plane, err
	}
	if plane.State != core.ControlPlaneUsable {
		c.mu.Lock()
		used := c.used[gone.Ref]
		c.mu.Unlock()
		if used.plane != object.UID {
			return gone, nil
		}
		plane.Connection = used.connection
	}
	plane.State, plane.Message = core.ControlPlaneLeaving, message
	return plane, nil
}

// read completes a control plane that exists.
func (c *ControlPlanes) read(ctx context.Context, object *v1alpha1.CoderControlPlane) (core.ControlPlane, error) {
	plane := core.ControlPlane{Ref: referenceOf(object), Policy: core.Policy(object.Spec.TemplateTests)}
	connection, problem, err := c.Connection(ctx, object)
	switch {
	case err != nil:
		return core.ControlPlane{}, err
	case problem != "":
		plane.Message = problem
		return plane, nil
	}
	ref := TokenSecret(object)
	plane.State = core.ControlPlaneNoAccess
	if ref == nil {
		plane.Message = "set operatorAccess.tokenSecretRef: the control plane has no token for the operator"
		return plane, nil
	}
	token, problem, err := c.Token(ctx, object.Namespace, *ref)
	switch {
	case err != nil:
		return core.ControlPlane{}, err
	case problem != "":
		plane.Message = "operatorAccess.tokenSecretRef: " + problem
		return plane, nil
	}
	connection.Token = core.NewSecret(token)
	plane.State, plane.Connection = core.ControlPlaneUsable, connection
	c.mu.Lock()
	c.used[plane.Ref] = usedConnection{object.UID, connection}
	c.mu.Unlock()
	return plane, nil
}

func (c *ControlPlanes) forget(ref string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.used, ref)
}

// TokenSecret is where the operator's token for a control plane is: what its spec names,
// else what the operator made; nil for nowhere.
func TokenSecret(plane *v1alpha1.CoderControlPlane) *v1alpha1.SecretKeyReference {
	if ref := plane.Spec.OperatorAccess.TokenSecretRef; ref != nil {
		return ref
	}
	return plane.Status.OperatorTokenSecretRef
}

func referenceOf(plane *v1alpha1.CoderControlPlane) string {
	return Reference(plane.Namespace, plane.Name)
}

// orDefault is the key of a reference that was stored without one.
func orDefault(key string) string {
	if key == "" {
		return v1alpha1.DefaultTokenKey
	}
	return key
}

// trimmed is the content of a key as it is used: people end it with a line break.
func trimmed(content []byte) string { return strings.TrimSpace(string(content)) }
