package publish

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
)

// Request says what to push.
type Request struct {
	Template core.TemplateRef
	// Archive is the tar of the template's folder.
	Archive []byte
	Name    Name
	Message string
	// Tags and Variables are as in core.NewVersion.
	Tags      map[string]string
	Variables []core.Variable
	// Timeout bounds the import.
	Timeout time.Duration
}

// Pushed is how far a push came.
type Pushed struct {
	Organization core.Organization
	// Template is as it was before the upload, so ActiveVersionID is what was active.
	Template core.Template
	// ActiveBefore is the version that was active before the upload; its name is empty
	// where it could not be read.
	ActiveBefore core.TemplateVersion
	// Version has no ID where none was made, or none is known to have been.
	Version core.PublishedVersion
}

// Push makes a version from the archive and waits for its import. The result says how
// far it came, with an error too. Canceling ctx cancels the import and returns soon.
func (p *Publisher) Push(ctx context.Context, request Request) (Pushed, error) {
	var pushed Pushed
	var err error
	if pushed.Organization, pushed.Template, err = p.Find(ctx, request.Template); err != nil {
		return pushed, err
	}
	operator, err := ask(ctx, p, p.Coder.Operator)
	if err != nil {
		return pushed, err
	}
	rights, err := ask(ctx, p, func(ctx context.Context) (core.TemplateRights, error) {
		return p.Coder.TemplateRights(ctx, pushed.Template.ID)
	})
	if err != nil {
		return pushed, err
	}
	if !rights.Push {
		return pushed, noRight(operator, "make versions of")
	}
	pushed.ActiveBefore = p.name(ctx, pushed.Template.ActiveVersionID)
	file, err := p.upload(ctx, request.Archive)
	if err != nil {
		return pushed, forbidden(operator, err)
	}
	c := creation{
		p: p, name: request.Name, by: operator.ID, nth: 1,
		asked: core.NewVersion{
			OrganizationID: pushed.Organization.ID, TemplateID: pushed.Template.ID, FileID: file,
			Message: request.Message, Tags: request.Tags, Variables: request.Variables,
		},
	}
	pushed.Version, err = c.create(ctx)
	switch {
	case pushed.Version.ID == uuid.Nil:
		return pushed, forbidden(operator, err)
	case err != nil:
		// Made, and then nobody wanted it any more.
		return pushed, errors.Join(err, p.cancel(ctx, &pushed.Version))
	}
	p.Say(fmt.Sprintf("made version %q of %s (%s), inactive; Coder imports it",
		pushed.Version.Name, pushed.Template.Name, pushed.Version.ID))
	return pushed, p.await(ctx, &pushed.Version, request.Timeout)
}

// noRight is the error of a user who may not do this with the template.
func noRight(user core.User, what string) error {
	return fmt.Errorf("%w: the token's user %q may not %s this template: it needs the role \"template admin\", "+
		"of the site or of the organization, or to be made an admin of the template", ErrNoRight, user.Username, what)
}

// forbidden adds the missing right to a refusal that only the change itself met, such as
// one of a token with a scope.
func forbidden(user core.User, err error) error {
	if !is(err, core.FailureForbidden) {
		return err
	}
	return fmt.Errorf("%w (%w)", noRight(user, "make versions of"), err)
}

// upload stores the archive. Storing the same one again changes nothing.
func (p *Publisher) upload(ctx context.Context, archive []byte) (uuid.UUID, error) {
	for attempt := 1; ; attempt++ {
		file, err := p.Coder.UploadArchive(ctx, archive)
		again := is(err, core.FailureUncertain, core.FailureNoEffect, core.FailureRateLimited)
		if err == nil || !again || attempt == attempts {
			return file, err
		}
		if stopped := p.wait(ctx, delay(err)); stopped != nil {
			return uuid.Nil, stopped
		}
	}
}

// creation makes one version.
type creation struct {
	p     *Publisher
	name  Name
	by    uuid.UUID
	asked core.NewVersion
	// nth is the candidate that is tried.
	nth int
	// lost tells that a create of this name was sent whose answer was lost.
	lost bool
}

// create makes the version under the first name that is free. After an answer that was
// lost it looks who has the name, and sends the request again only when nobody does: a
// name is unique within its template, so both cannot take effect. A version comes with
// an error when ctx ended meanwhile.
func (c *creation) create(ctx context.Context) (core.PublishedVersion, error) {
	for attempt := 0; ; {
		c.asked.Name = c.name.candidate(c.nth)
		if !c.lost {
			switch found, err := c.look(ctx); {
			case err != nil:
				return core.PublishedVersion{}, err
			case found.ID != uuid.Nil:
				if err := c.taken(); err != nil {
					return core.PublishedVersion{}, err
				}
				continue
			}
		}
		attempt++
		version, err := c.p.Coder.CreateVersion(ctx, c.asked)
		if err == nil {
			return version, nil
		}
		switch {
		case is(err, core.FailureConflict), is(err, core.FailureUncertain, core.FailureMismatch):
			c.lost = c.lost || !is(err, core.FailureConflict)
			// The signal that ends the run must not leave an import behind unseen.
			found, lookErr := c.lookAgain(context.WithoutCancel(ctx))
			switch {
			case lookErr != nil:
				return found, fmt.Errorf("%w; %w", err, &UnknownError{fmt.Sprintf("whether version %q was made", c.asked.Name), lookErr})
			case found.ID != uuid.Nil && c.lost && c.ours(found):
				return found, ctx.Err()
			case found.ID != uuid.Nil:
				if err := c.taken(); err != nil {
					return core.PublishedVersion{}, err
				}
				continue
			}
		case !is(err, core.FailureNoEffect, core.FailureRateLimited):
			return core.PublishedVersion{}, err
		}
		if ctx.Err() != nil {
			return core.PublishedVersion{}, ctx.Err()
		}
		if attempt >= attempts {
			return core.PublishedVersion{}, err
		}
		if stopped := c.p.wait(ctx, delay(err)); stopped != nil {
			return core.PublishedVersion{}, stopped
		}
	}
}

// taken goes on to the next name, where there may be one.
func (c *creation) taken() error {
	if c.name.Fixed {
		return fmt.Errorf("%w: %q: choose another name", ErrNameTaken, c.asked.Name)
	}
	if c.nth++; c.nth > maxSuffix {
		return fmt.Errorf("%w: %q, and every one up to %q", ErrNameTaken, c.name.Base, c.name.candidate(maxSuffix))
	}
	c.lost = false
	return nil
}

// ours reports whether the version looks like what this creation asked for. Coder tells
// no values of variables and no tags as they were asked for, so another job of the same
// user that pushes the same archive under the same name and message at the same moment,
// with other variables or tags, is taken for this one when its own answer is lost.
func (c *creation) ours(found core.PublishedVersion) bool {
	return found.CreatedBy == c.by && found.FileID == c.asked.FileID && found.Message == c.asked.Message
}

// look finds the version of the name; none is no error.
func (c *creation) look(ctx context.Context) (core.PublishedVersion, error) {
	found, err := ask(ctx, c.p, func(ctx context.Context) (core.TemplateVersion, error) {
		return c.p.Coder.VersionByName(ctx, c.asked.TemplateID, c.asked.Name)
	})
	if is(err, core.FailureNotFound) {
		return core.PublishedVersion{}, nil
	}
	if err != nil {
		return core.PublishedVersion{}, err
	}
	return ask(ctx, c.p, func(ctx context.Context) (core.PublishedVersion, error) {
		return c.p.Coder.PublishedVersion(ctx, found.ID)
	})
}

// lookAgain looks some times: the request can still be under way.
func (c *creation) lookAgain(ctx context.Context) (core.PublishedVersion, error) {
	for nth := 1; ; nth++ {
		found, err := c.look(ctx)
		if err != nil || found.ID != uuid.Nil || nth == looks {
			return found, err
		}
		if err := c.p.wait(ctx, pause); err != nil {
			return found, err
		}
	}
}
