package publish

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/assay-dev/assay/core"
)

// poll is how often a running import is looked at.
const poll = time.Second

// await waits for the end of the import, with its log live.
func (p *Publisher) await(ctx context.Context, version *core.PublishedVersion, timeout time.Duration) error {
	end := p.Clock.Monotonic() + timeout
	warned := false
	var last int64
	for {
		found, err := ask(ctx, p, func(ctx context.Context) (core.PublishedVersion, error) {
			return p.Coder.PublishedVersion(ctx, version.ID)
		})
		switch {
		case ctx.Err() != nil:
			return errors.Join(ctx.Err(), p.cancel(ctx, version))
		case err != nil:
			return fmt.Errorf("the import of version %q cannot be followed: %w", version.Name, err)
		}
		*version = found
		// Read after the state: what was printed before the end is there by then.
		last = p.tell(ctx, *version, last)
		switch {
		case version.Import == core.JobSucceeded:
			return nil
		case version.Import == core.JobFailed:
			return fmt.Errorf("%w: version %q: %s", ErrImportFailed, version.Name, firstLine(version.ImportError))
		case version.Import == core.JobCanceled:
			return fmt.Errorf("somebody canceled the import of version %q", version.Name)
		case p.Clock.Monotonic() >= end:
			late := fmt.Errorf("the import of version %q took longer than %v", version.Name, timeout)
			return errors.Join(late, p.cancel(ctx, version))
		case version.Import == core.JobPending && version.Provisioners == 0 && !warned:
			warned = true
			p.Say(fmt.Sprintf("no provisioner daemon can take the import: it wants the tags %s", strings.Join(version.Tags, ", ")))
		}
		if stopped := p.wait(ctx, poll); stopped != nil {
			return errors.Join(stopped, p.cancel(ctx, version))
		}
	}
}

// tell hands on the lines of the log after the last one, and returns the new last one.
// The log is for people: what cannot be read is left out.
func (p *Publisher) tell(ctx context.Context, version core.PublishedVersion, last int64) int64 {
	lines, err := p.Coder.ImportLog(ctx, version.ID, last)
	if err != nil {
		return last
	}
	for _, line := range lines {
		// The last one told is the limit whatever the server takes "after" to mean.
		if line.ID > last {
			p.Log(line)
			last = line.ID
		}
	}
	return last
}

// cancel asks to cancel the import of a version that nobody waits for any more, and says
// what remains.
func (p *Publisher) cancel(ctx context.Context, version *core.PublishedVersion) error {
	err := p.Coder.CancelImport(context.WithoutCancel(ctx), version.ID)
	what := "its import is canceled"
	switch {
	case is(err, core.FailureRejected):
		what, err = "its import had ended", nil
	case err != nil:
		what, err = "its import may go on", &UnknownError{
			fmt.Sprintf("whether the import of version %q goes on", version.Name), fmt.Errorf("cancel it: %w", err),
		}
	}
	p.Say(fmt.Sprintf("version %q (%s) remains, inactive; %s", version.Name, version.ID, what))
	return err
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(core.Printable(text)), "\n")
	return line
}
