package publish

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/ports"
)

// Coder is what publishing asks of a deployment: the connection is that of the user who
// may change the template.
type Coder interface {
	ports.DeploymentReader
	ports.InputReader
	ports.TemplatePublisher
}

// Errors of a Publisher. They are wrapped, and say what to do.
var (
	// ErrNameTaken: the template has a version of the name that was asked for.
	ErrNameTaken = errors.New("the template has a version of this name")
	// ErrNoRight: the user may not do this with the template.
	ErrNoRight = errors.New("the right is missing")
	// ErrImportFailed: Coder made the version and could not import it.
	ErrImportFailed = errors.New("the import failed")
	// ErrNotFound: the user sees no such organization, template or version.
	ErrNotFound = errors.New("not found")
	// ErrRefused: the version cannot be active: archived, not imported, another
	// template's.
	ErrRefused = errors.New("the version cannot be active")
)

// UnknownError tells what became of a change that nobody could look at: it is to be told
// whatever else happened.
type UnknownError struct {
	// What is not known, as a phrase; Err is why.
	What string
	Err  error
}

func (e *UnknownError) Error() string { return e.What + " is not known: " + e.Err.Error() }

func (e *UnknownError) Unwrap() error { return e.Err }

// The patience of a Publisher.
const (
	// patience is how long an unavailable Coder is asked again.
	patience = time.Minute
	// pause is how long to wait before asking again, unless Coder says longer.
	pause = 2 * time.Second
	// attempts is how often a change is sent whose effect is not seen. Each one is sent
	// after a look, and sending it twice changes nothing more than sending it once.
	attempts = 3
	// looks is how often to look for the effect of a change whose answer was lost.
	looks = 3
)

// Publisher publishes versions with the rights of one user.
type Publisher struct {
	Coder Coder
	Clock ports.Clock
	// Say takes a line of progress, Log a line of an import's log, unmasked.
	Say func(line string)
	Log func(line core.LogLine)
}

// Find reads the organization and the template. ErrNotFound names what is not there.
func (p *Publisher) Find(ctx context.Context, ref core.TemplateRef) (core.Organization, core.Template, error) {
	organization, err := ask(ctx, p, func(ctx context.Context) (core.Organization, error) {
		return p.Coder.Organization(ctx, ref.Organization)
	})
	if is(err, core.FailureNotFound) {
		return organization, core.Template{}, fmt.Errorf("%w: no organization %q that the token's user can read", ErrNotFound, ref.Organization)
	}
	if err != nil {
		return organization, core.Template{}, err
	}
	template, err := ask(ctx, p, func(ctx context.Context) (core.Template, error) {
		return p.Coder.Template(ctx, organization.ID, ref.Template)
	})
	if is(err, core.FailureNotFound) {
		return organization, template, fmt.Errorf("%w: no template %q in the organization %q that the token's user can read",
			ErrNotFound, ref.Template, ref.Organization)
	}
	return organization, template, err
}

// idLength is the length of an ID in its usual form. uuid.Parse takes others too, and one of
// them, 32 hex digits, is a plausible name: a checksum.
const idLength = 36

// Resolve finds the ID of the template's version that is named by its name or ID. An ID is
// taken as it is.
func (p *Publisher) Resolve(ctx context.Context, template core.Template, version string) (uuid.UUID, error) {
	if id, err := uuid.Parse(version); err == nil && len(version) == idLength {
		return id, nil
	}
	found, err := ask(ctx, p, func(ctx context.Context) (core.TemplateVersion, error) {
		return p.Coder.VersionByName(ctx, template.ID, version)
	})
	if is(err, core.FailureNotFound) {
		return uuid.Nil, fmt.Errorf("%w: the template %q has no version %q", ErrNotFound, template.Name, version)
	}
	return found.ID, err
}

// name is the version with its name, as far as Coder tells it: names are for people.
func (p *Publisher) name(ctx context.Context, id uuid.UUID) core.TemplateVersion {
	version, err := p.Coder.Version(ctx, id)
	if err != nil {
		return core.TemplateVersion{ID: id}
	}
	return version
}

// Label names a version for people.
func Label(version core.TemplateVersion) string {
	if version.Name == "" {
		return version.ID.String()
	}
	return fmt.Sprintf("%q", version.Name)
}

// ask reads, again and again while Coder is unavailable.
func ask[T any](ctx context.Context, p *Publisher, read func(context.Context) (T, error)) (T, error) {
	end := p.Clock.Monotonic() + patience
	for {
		answer, err := read(ctx)
		if err == nil || !is(err, core.FailureUnavailable, core.FailureRateLimited) {
			return answer, err
		}
		d := delay(err)
		if p.Clock.Monotonic()+d > end {
			return answer, err
		}
		if stopped := p.wait(ctx, d); stopped != nil {
			return answer, stopped
		}
	}
}

// delay is how long to wait after the failure.
func delay(err error) time.Duration { return max(pause, core.AsFailure(err).RetryAfter) }

// is reports whether err is a failure of one of the classes.
func is(err error, classes ...core.FailureClass) bool {
	var failure *core.Failure
	if !errors.As(err, &failure) {
		return false
	}
	for _, class := range classes {
		if failure.Class == class {
			return true
		}
	}
	return false
}

// wait returns after d, or with the context's error.
func (p *Publisher) wait(ctx context.Context, d time.Duration) error {
	over := make(chan struct{})
	timer := p.Clock.AfterFunc(d, func() { close(over) })
	select {
	case <-over:
		return nil
	case <-ctx.Done():
		timer.Stop()
		return ctx.Err()
	}
}
