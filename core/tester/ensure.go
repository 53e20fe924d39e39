package tester

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/ports"
)

// Coder is what making a tester takes.
type Coder interface {
	ports.TesterAdmin
	// Owner reads a user as ports.InputReader says.
	Owner(ctx context.Context, id uuid.UUID) (core.User, error)
}

// Wish is the tester that there shall be.
type Wish struct {
	Username      string
	Organizations []core.Organization
}

// Made is the tester that there is.
type Made struct {
	User core.User
	// Created: it was not there before.
	Created bool
	// Activated: it was there before, and dormant.
	Activated bool
}

// UnfitError tells that the user of the name may not own test workspaces. It was not
// changed.
type UnfitError struct {
	User core.User
	// Created: it was not there before.
	Created bool
	// Problem says which rules it breaks, and what to do.
	Problem string
}

func (e *UnfitError) Error() string {
	did := "exists"
	if e.Created {
		did = "was made"
	}
	return fmt.Sprintf("user %s (%s) %s and may not own test workspaces: %s", e.User.Username, e.User.ID, did, e.Problem)
}

// Ensure makes the tester, unless it is there already. It can be repeated after whatever
// went wrong. The password of one that has to have a password is made of random and
// thrown away.
func Ensure(ctx context.Context, coder Coder, wish Wish, random io.Reader) (Made, error) {
	found, err := coder.FindUser(ctx, wish.Username)
	if !hasClass(err, core.FailureNotFound) {
		if err != nil {
			return Made{}, err
		}
		return settle(ctx, coder, wish, found.ID)
	}
	id, err := create(ctx, coder, wish, random)
	switch {
	case err == nil:
		made, err := settle(ctx, coder, wish, id)
		made.Created = err == nil
		var unfit *UnfitError
		if errors.As(err, &unfit) {
			unfit.Created = true
		}
		return made, err
	case hasClass(err, core.FailureConflict), hasClass(err, core.FailureUncertain), hasClass(err, core.FailureMismatch):
		// Somebody else made it meanwhile, or this request did and its answer was lost.
		found, findErr := coder.FindUser(ctx, wish.Username)
		if findErr != nil {
			return Made{}, err
		}
		return settle(ctx, coder, wish, found.ID)
	default:
		return Made{}, err
	}
}

// passwordBytes is how much randomness a password is made of.
const passwordBytes = 32

func create(ctx context.Context, coder Coder, wish Wish, random io.Reader) (uuid.UUID, error) {
	user := core.NewUser{Username: wish.Username}
	for _, organization := range wish.Organizations {
		user.Organizations = append(user.Organizations, organization.ID)
	}
	var err error
	if user.ServiceAccount, err = coder.ServiceAccounts(ctx); err != nil {
		return uuid.Nil, err
	}
	if !user.ServiceAccount {
		secret := make([]byte, passwordBytes)
		if _, err := io.ReadFull(random, secret); err != nil {
			return uuid.Nil, fmt.Errorf("make a password: %w", err)
		}
		user.Password = core.NewSecret(base64.RawURLEncoding.EncodeToString(secret))
		// No mail can reach this domain.
		user.Email = wish.Username + "@assay.invalid"
	}
	return coder.CreateUser(ctx, user)
}

// settle makes sure that a user who is there fits the wish. A dormant one is activated if
// nothing else is wrong with it.
func settle(ctx context.Context, coder Coder, wish Wish, id uuid.UUID) (made Made, err error) {
	for {
		if made.User, err = coder.Owner(ctx, id); err != nil {
			return Made{}, err
		}
		problem := Problems(Check(made.User, wish.Organizations))
		if problem == "" {
			return made, nil
		}
		awake := made.User
		awake.Status = "active"
		if made.User.Status != "dormant" || made.Activated || Problems(Check(awake, wish.Organizations)) != "" {
			return Made{}, &UnfitError{User: made.User, Problem: problem}
		}
		if err := coder.ActivateUser(ctx, id); err != nil {
			return Made{}, err
		}
		made.Activated = true
	}
}

func hasClass(err error, class core.FailureClass) bool {
	var failure *core.Failure
	return errors.As(err, &failure) && failure.Class == class
}
