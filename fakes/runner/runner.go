// Package runner is an in-memory ports.CodeRunner: the world model of fakes/world seen
// with the rights of one user, classified as the port says.
package runner

import (
	"context"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/fakes/world"
	"github.com/assay-dev/assay/ports"
)

// Runner is a CodeRunner over a world. A call never waits: it ends at the moment at
// which it began, WatchWorkspace excepted. Its requests count against the deployment's
// rate limit under the paths that they have over HTTP.
type Runner struct {
	// at is the world that answers now; nil for none.
	at func() *world.World
	// identify finds the user who asks, anew for each call: tokens end, and users are
	// suspended.
	identify func(*world.World) (uuid.UUID, error)
	// token is empty for a Runner that has only a user.
	token core.Secret
}

var _ ports.CodeRunner = (*Runner)(nil)

// New makes a Runner with the rights of a user.
func New(w *world.World, user uuid.UUID) *Runner {
	return &Runner{
		at:       func() *world.World { return w },
		identify: func(w *world.World) (uuid.UUID, error) { return user, w.Active(user) },
	}
}

// WithToken makes a Runner with the rights of whoever the session token belongs to.
func WithToken(w *world.World, token core.Secret) *Runner {
	return withToken(func() *world.World { return w }, token)
}

func withToken(at func() *world.World, token core.Secret) *Runner {
	return &Runner{
		at: at, token: token,
		identify: func(w *world.World) (uuid.UUID, error) { return w.Authenticate(token.Reveal()) },
	}
}

// call is one request that was let in.
type call struct {
	world *world.World
	actor uuid.UUID
	op    string
	// changes tells that the request changes something.
	changes bool
}

// path is a path of the API; it is put together only where requests are limited.
type path struct {
	before string
	id     uuid.UUID
	after  string
}

// String is the path below the API's root.
func (p path) String() string {
	if p.id == uuid.Nil {
		return p.before + p.after
	}
	return p.before + p.id.String() + p.after
}

// read lets a reading request for the path in.
func (r *Runner) read(ctx context.Context, op string, path path) (call, error) {
	return r.begin(ctx, call{op: op}, path)
}

// change lets a changing request for the path in.
func (r *Runner) change(ctx context.Context, op string, path path) (call, error) {
	return r.begin(ctx, call{op: op, changes: true}, path)
}

func (r *Runner) begin(ctx context.Context, c call, path path) (call, error) {
	if err := ctx.Err(); err != nil {
		return c, c.neverSent(err.Error())
	}
	if c.world = r.at(); c.world == nil {
		return c, c.neverSent("connection refused")
	}
	actor, err := r.identify(c.world)
	if err != nil {
		return c, c.failure(err)
	}
	c.actor = actor
	if c.world.Limits() {
		if _, err := c.world.Admit(actor.String(), path.String()); err != nil {
			return c, c.failure(err)
		}
	}
	return c, nil
}

// neverSent is the failure of a request that did not leave.
func (c call) neverSent(message string) error {
	class := core.FailureUnavailable
	if c.changes {
		class = core.FailureNoEffect
	}
	return &core.Failure{Class: class, Op: c.op, Message: message}
}
