package publish

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
)

// Promotion is how a promotion ended.
type Promotion struct {
	// Version is the one to promote.
	Version core.TemplateVersion
	// Active: the version is the active one now. Changed: this promotion made it so.
	Active, Changed bool
	// Was is the active version before, Now the one after; zero where not known.
	Was, Now core.TemplateVersion
	// Reason says why the version is not active; empty when it is.
	Reason string
}

// Promote makes the version active unless it is. With an expected version, it does so
// only if that one is active right before; uuid.Nil expects nothing. Coder has no
// precondition (Coder fact 21): a promotion by others that comes between that look and
// the change is overwritten, and one that comes right after it is seen and told.
//
// A promotion that other people's work prevents is no error but has a Reason. ErrRefused:
// the version cannot be active.
func (p *Publisher) Promote(ctx context.Context, template core.Template, version, expected uuid.UUID) (Promotion, error) {
	promotion := Promotion{Version: core.TemplateVersion{ID: version}}
	found, err := ask(ctx, p, func(ctx context.Context) (core.TemplateVersion, error) { return p.Coder.Version(ctx, version) })
	if is(err, core.FailureNotFound) {
		return promotion, fmt.Errorf("%w: no version %s that the token's user can read", ErrNotFound, version)
	}
	if err != nil {
		return promotion, err
	}
	promotion.Version = found
	if problem := unfit(found, template); problem != "" {
		return promotion, fmt.Errorf("%w: version %s %s", ErrRefused, Label(found), problem)
	}
	if err := p.mayPromote(ctx, template, version); err != nil {
		return promotion, err
	}
	for attempt := 1; ; attempt++ {
		sent, done, err := p.promoteOnce(ctx, template, expected, &promotion)
		switch {
		case done:
			return promotion, err
		case attempt == attempts:
			return promotion, fmt.Errorf("version %s is active still: %w", Label(promotion.Now), err)
		}
		if !sent {
			if stopped := p.wait(ctx, delay(err)); stopped != nil {
				return promotion, stopped
			}
		}
	}
}

// mayPromote asks for the right before anything is sent: without it Coder answers 500 (Coder
// fact 60), which looks like an answer that was lost. For the active version there is
// nothing to do, so that no right is needed.
func (p *Publisher) mayPromote(ctx context.Context, template core.Template, version uuid.UUID) error {
	active, err := p.active(ctx, template)
	if err != nil || active == version {
		return err
	}
	rights, err := ask(ctx, p, func(ctx context.Context) (core.TemplateRights, error) {
		return p.Coder.TemplateRights(ctx, template.ID)
	})
	if err != nil || rights.Promote {
		return err
	}
	operator, err := ask(ctx, p, p.Coder.Operator)
	if err != nil {
		return err
	}
	return noRight(operator, "promote versions of")
}

// unfit says why the version cannot be the template's active one, or "".
func unfit(version core.TemplateVersion, template core.Template) string {
	switch {
	case version.TemplateID != template.ID:
		return "is of another template"
	case version.Archived:
		return "is archived: unarchive it first"
	case version.Import.Active():
		return "is still being imported: wait for it"
	case version.Import != core.JobSucceeded:
		return fmt.Sprintf("was not imported (%s): push it again", version.Import)
	default:
		return ""
	}
}

// promoteOnce looks, promotes and looks again. Without being done, err says why the
// version is not active although nobody else made another one so, and sent tells that
// the request may have left.
func (p *Publisher) promoteOnce(
	ctx context.Context, template core.Template, expected uuid.UUID, promotion *Promotion,
) (sent, done bool, err error) {
	before, err := p.active(ctx, template)
	if err != nil {
		return false, true, err
	}
	version := promotion.Version.ID
	promotion.Was, promotion.Now = p.name(ctx, before), p.name(ctx, before)
	switch {
	case before == version:
		promotion.Active = true
		return false, true, nil
	case expected != uuid.Nil && before != expected:
		promotion.Reason = fmt.Sprintf("version %s is active and not %s as expected: somebody else promoted it",
			Label(promotion.Now), Label(p.name(ctx, expected)))
		return false, true, nil
	}
	refused := p.Coder.Promote(ctx, template.ID, version)
	switch {
	case refused == nil, is(refused, core.FailureUncertain, core.FailureMismatch):
	case is(refused, core.FailureNoEffect, core.FailureRateLimited):
		return false, ctx.Err() != nil, refused
	case is(refused, core.FailureRejected, core.FailureForbidden):
		return false, true, fmt.Errorf("%w: %w", ErrRefused, refused)
	default:
		return false, true, refused
	}
	// A signal that comes now must not keep anybody from knowing what is active.
	return p.settled(context.WithoutCancel(ctx), template, before, promotion, refused)
}

// settled looks what is active after a promotion was sent, some times if its answer was
// lost: the request can still be under way.
func (p *Publisher) settled(
	ctx context.Context, template core.Template, before uuid.UUID, promotion *Promotion, lost error,
) (sent, done bool, err error) {
	for nth := 1; ; nth++ {
		after, err := p.active(ctx, template)
		if err != nil {
			return true, true, &UnknownError{fmt.Sprintf("whether version %s is active", Label(promotion.Version)), err}
		}
		promotion.Now = p.name(ctx, after)
		switch {
		case after == promotion.Version.ID:
			promotion.Active, promotion.Changed = true, true
			return true, true, nil
		case after != before || lost == nil:
			promotion.Reason = fmt.Sprintf("version %s is active: somebody else promoted it right after this promotion", Label(promotion.Now))
			return true, true, nil
		case nth == looks:
			return true, false, lost
		}
		if err := p.wait(ctx, pause); err != nil {
			return true, true, err
		}
	}
}

// active reads which version is active. A template that was made anew under the name is
// another one.
func (p *Publisher) active(ctx context.Context, template core.Template) (uuid.UUID, error) {
	found, err := ask(ctx, p, func(ctx context.Context) (core.Template, error) {
		return p.Coder.Template(ctx, template.OrganizationID, template.Name)
	})
	switch {
	case err == nil && found.ID != template.ID, is(err, core.FailureNotFound):
		return uuid.Nil, fmt.Errorf("%w: the template is gone", ErrNotFound)
	case err != nil:
		return uuid.Nil, err
	}
	return found.ActiveVersionID, nil
}
