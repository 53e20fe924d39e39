package ports

import (
	"context"

	"github.com/assay-dev/assay/core"
)

// StatusSink hears of each stored transition after it was stored, in order for each
// test. It is best effort: what must not be lost belongs into the store.
type StatusSink interface {
	// Transition must not block: a sink that does slow work queues it.
	Transition(transition core.StoredTransition)
}

// EvidenceSink takes what was read about a failed test before its workspace goes.
type EvidenceSink interface {
	// Evidence is called at most once a test and process. It returns when ctx is
	// done; its error is logged and changes nothing.
	Evidence(ctx context.Context, evidence core.Evidence) error
}
