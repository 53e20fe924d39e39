package service

import (
	"context"
	"errors"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/apps/http/access"
	"github.com/assay-dev/assay/core"
)

// ErrGone ends Follow: the test's record is gone, so nothing more will come.
var ErrGone = errors.New("the test is gone")

// FromNow stands for the newest transition in Listener.After.
const FromNow = -1

// Listener is somebody who follows transitions.
type Listener struct {
	// Test is the test to follow, uuid.Nil for all.
	Test uuid.UUID
	// After is the last transition that is known, or FromNow.
	After int64
	// On takes the next transition; an error ends the following.
	On func(core.TestTransition) error
	// Idle is called with the last number each time that nothing is left to tell for now.
	Idle func(last int64) error
}

// Follow tells the listener of each transition that the caller may see, until ctx is done,
// On or Idle fails, or the test is gone (ErrGone).
func (s *Service) Follow(ctx context.Context, listener Listener) error {
	if listener.Test != uuid.Nil {
		if err := s.maySee(ctx, listener.Test); err != nil {
			return err
		}
	}
	if listener.After < 0 {
		listener.After = s.Feed.Last()
	} else if listener.Test != uuid.Nil {
		if err := s.catchUp(ctx, &listener); err != nil {
			return err
		}
	}
	caller := access.CallerOf(ctx)
	for {
		transitions, news, err := s.Feed.After(ctx, listener.After)
		if err != nil {
			return err
		}
		for _, transition := range transitions {
			listener.After = transition.Seq
			if !caller.May(access.Viewer, transition.ControlPlaneRef) {
				continue
			}
			if err := listener.tell(transition); err != nil {
				return err
			}
		}
		if len(transitions) > 0 {
			continue
		}
		if err := listener.Idle(listener.After); err != nil {
			return err
		}
		select {
		case <-news:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// catchUp tells what the listener missed of its test, without reading the other tests'.
func (s *Service) catchUp(ctx context.Context, listener *Listener) error {
	// What is stored later than this is in the feed.
	last := s.Feed.Last()
	for {
		missed, err := s.Store.Transitions(ctx, listener.Test, listener.After, MaxTransitions)
		if err != nil {
			return err
		}
		for _, transition := range missed {
			listener.After = transition.Seq
			if err := listener.tell(transition); err != nil {
				return err
			}
		}
		if len(missed) < MaxTransitions {
			listener.After = max(listener.After, last)
			return nil
		}
	}
}

func (l *Listener) tell(transition core.TestTransition) error {
	if l.Test != uuid.Nil && transition.Test != l.Test {
		return nil
	}
	if err := l.On(transition); err != nil {
		return err
	}
	if l.Test != uuid.Nil && transition.Gone {
		return ErrGone
	}
	return nil
}
