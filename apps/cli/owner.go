package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/pflag"

	"github.com/assay-dev/assay/adapters/coder"
	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/core/lifecycle"
	"github.com/assay-dev/assay/ports"
)

// ownerFlags say who owns the test workspace.
type ownerFlags struct {
	owner                          string
	allowPrivileged, allowPersonal bool
}

func (f *ownerFlags) register(flags *pflag.FlagSet) {
	flags.Var((*once)(&f.owner), "owner", "name or ID of the `USER` that owns the workspace; the token's own user by default")
	flags.BoolVar(&f.allowPrivileged, "allow-privileged-owner", false,
		"allow an owner with roles beyond a plain member's; each start build hands its session token to the template's Terraform")
	flags.BoolVar(&f.allowPersonal, "allow-personal-owner", false,
		"allow an owner that is a person (OIDC, GitHub login); each start build hands its session token to the template's Terraform")
}

// policy is the control plane's policy for an owner.
func (f *ownerFlags) policy(owner uuid.UUID, retain bool) core.Policy {
	return core.Policy{
		OwnerUserID: owner.String(), AllowRetain: retain,
		AllowPrivilegedOwner: f.allowPrivileged, AllowPersonalOwner: f.allowPersonal,
	}
}

// askAgain is how long to wait before a question is asked again that Coder could not
// answer, unless Coder says how long.
const askAgain = 2 * time.Second

// me is what Coder's users write for themselves.
const me = "me"

// ownerFinder asks Coder who the owner is, before anything is stored.
type ownerFinder struct {
	runner ports.CodeRunner
	clock  ports.Clock
	// patience bounds how long an unavailable Coder is waited for.
	patience time.Duration
}

// find resolves the owner to an ID. Whether that user may own test workspaces is the
// lifecycle's to judge; only what is plain to see about the token's own user is told
// here, before a test is stored that could not begin.
func (o ownerFinder) find(ctx context.Context, flags ownerFlags) (uuid.UUID, error) {
	if flags.owner != "" && flags.owner != me {
		return o.named(ctx, flags.owner)
	}
	operator, err := askCoder(ctx, o, o.runner.Operator)
	if err != nil {
		return uuid.Nil, connectionError(err)
	}
	if problem := lifecycle.OwnerProblem(operator, flags.policy(operator.ID, false)); problem != "" {
		return uuid.Nil, failure(fmt.Errorf("the token's user %q may not own test workspaces: %s\n%s", operator.Username, problem, waysOut))
	}
	return operator.ID, nil
}

// named finds the user that --owner names.
func (o ownerFinder) named(ctx context.Context, owner string) (uuid.UUID, error) {
	if id, err := uuid.Parse(owner); err == nil {
		return id, nil
	}
	finder, ok := o.runner.(ports.UserFinder)
	if !ok {
		return uuid.Nil, usage("--owner: %q: this connection finds users by ID only: give the user's ID", owner)
	}
	user, err := askCoder(ctx, o, func(ctx context.Context) (core.User, error) { return finder.FindUser(ctx, owner) })
	if err != nil {
		if core.AsFailure(err).Class == core.FailureNotFound {
			return uuid.Nil, failure(fmt.Errorf("--owner: no user %q that the token's user can read: "+
				"check the name, or use a token that may read users", owner))
		}
		return uuid.Nil, connectionError(err)
	}
	return user.ID, nil
}

// waysOut are the three ways to test when a user may not be the owner.
const waysOut = `There are three ways out:
  - use the token of a tester: a user made for this ("assay tester create"), a plain
    member that logs in with a password (--token-file, ` + envToken + `);
  - name such a tester with --owner, if the token's user is a site owner;
  - --allow-personal-owner or --allow-privileged-owner, whichever the rule above
    names: each start build then hands a session token of the owner to the template's
    Terraform, which can do with it whatever the owner may do.`

// connectionError is what Coder, or the way to it, refuses before a test exists.
func connectionError(err error) error {
	const checkAddress = "check the address (--url, " + envURL + ")"
	f := core.AsFailure(err)
	answer, foreign := strings.CutPrefix(f.Message, coder.ForeignAnswer)
	switch {
	case f.Class == core.FailureUnauthorized:
		return failure(fmt.Errorf("coder does not accept the token (HTTP %d: %s): make a new one with \"coder tokens create\" or \"coder login\"",
			f.Status, f.Message))
	case foreign:
		return failure(fmt.Errorf("nothing was started: what answers is not Coder: %s (HTTP %d): "+
			checkAddress+", and what stands between here and Coder", answer, f.Status))
	case f.Class == core.FailureNotFound:
		return failure(fmt.Errorf("nothing was started: Coder has nothing at this path (HTTP %d: %s): "+checkAddress, f.Status, f.Message))
	case f.Class == core.FailureRateLimited:
		return failure(fmt.Errorf("nothing was started: Coder limits how often the token's user may ask (HTTP %d: %s): try again later",
			f.Status, f.Message))
	case strings.Contains(f.Message, "x509: "):
		return failure(fmt.Errorf("nothing was started: Coder's certificate is not trusted: %s: "+
			checkAddress+", or name the authority that signed it with --ca-file", f.Message))
	case f.Status == 0:
		return failure(fmt.Errorf("nothing was started: Coder cannot be reached: %s: "+checkAddress+" and the network", f.Message))
	case f.Status >= http.StatusBadRequest:
		return failure(fmt.Errorf("nothing was started: Coder answers with an error (HTTP %d: %s)", f.Status, f.Message))
	}
	return failure(fmt.Errorf("nothing was started: %w", err))
}

// askCoder asks until Coder answers, or the patience is over; the last time at its end.
func askCoder[T any](ctx context.Context, o ownerFinder, ask func(context.Context) (T, error)) (T, error) {
	end := o.clock.Monotonic() + o.patience
	for {
		answer, err := ask(ctx)
		if err == nil || ctx.Err() != nil {
			return answer, err
		}
		var refused *core.Failure
		again := errors.As(err, &refused) &&
			(refused.Class == core.FailureUnavailable || refused.Class == core.FailureRateLimited)
		left := end - o.clock.Monotonic()
		if !again || left <= 0 || refused.RetryAfter > left {
			return answer, err
		}
		over := make(chan struct{})
		timer := o.clock.AfterFunc(min(left, max(askAgain, refused.RetryAfter)), func() { close(over) })
		select {
		case <-over:
		case <-ctx.Done():
			timer.Stop()
			return answer, err
		}
	}
}
