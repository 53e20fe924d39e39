package runner

import (
	"errors"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/fakes/world"
)

var classes = map[world.Kind]core.FailureClass{
	world.Unauthorized:  core.FailureUnauthorized,
	world.Forbidden:     core.FailureForbidden,
	world.NotFound:      core.FailureNotFound,
	world.NotAcceptable: core.FailureImporting,
	world.TooEarly:      core.FailureImporting,
	world.Conflict:      core.FailureConflict,
	world.Gone:          core.FailureGone,
	world.RateLimited:   core.FailureRateLimited,
}

// failure classifies what the world refused: a 500 of a change can have taken effect,
// every other 4xx is Coder's own refusal.
func (c call) failure(err error) error {
	var refused *world.Error
	if !errors.As(err, &refused) {
		return &core.Failure{Class: core.FailureUnavailable, Op: c.op, Message: err.Error()}
	}
	class, ok := classes[refused.Kind]
	switch {
	case ok:
	case refused.Kind < world.Internal:
		class = core.FailureRejected
	case c.changes:
		class = core.FailureUncertain
	default:
		class = core.FailureUnavailable
	}
	return &core.Failure{
		Class: class, Op: c.op, Status: int(refused.Kind), Message: refused.Message, RetryAfter: refused.RetryAfter,
	}
}
