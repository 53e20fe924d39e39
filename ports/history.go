package ports

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
)

// Errors of a TestFinder and a TestMaker. Implementations wrap them.
var (
	// ErrBadPage: the query's After is none that this store gave out.
	ErrBadPage = errors.New("no such page")
	// ErrKeyReused: the key was used for another request; nothing was stored.
	ErrKeyReused = errors.New("the idempotency key was used for another request")
)

// TestFinder finds some of many tests. A TestRegistry can be one.
type TestFinder interface {
	// FindTests returns a page of the tests that the query asks for, newest first.
	FindTests(ctx context.Context, query core.TestQuery) (core.TestPage, error)
	// CountTests counts the stored tests by phase; phases that no test has are left out.
	CountTests(ctx context.Context) (map[core.Phase]int, error)
}

// TestHistory keeps how tests went. A change and its transition are stored together.
// Transitions of a record that disappeared are kept for a time that the store is told.
type TestHistory interface {
	// Transitions returns the transitions of a test from the oldest on, those with a
	// larger Seq than after, limit at most. An unknown test has none.
	Transitions(ctx context.Context, test uuid.UUID, after int64, limit int) ([]core.TestTransition, error)
	// TransitionsAfter is Transitions for all tests. Whoever asks again with the last Seq
	// misses none.
	TransitionsAfter(ctx context.Context, after int64, limit int) ([]core.TestTransition, error)
	// LastTransition is the largest Seq that was ever stored, 0 for none.
	LastTransition(ctx context.Context) (int64, error)
}

// TestMaker makes each test once, however often it is asked to.
type TestMaker interface {
	// CreateOnce is TestRegistry.Create under a key, which the caller alone chooses: a
	// repeated call with the key and the same fingerprint makes nothing and returns
	// the record of the first one with created false. The test's ID alone is filled in
	// where that record disappeared already. ErrKeyReused for another fingerprint. A
	// key is forgotten after keep.
	CreateOnce(ctx context.Context, record core.Record, key IdempotencyKey, keep time.Duration) (stored core.Record, created bool, err error)
}

// IdempotencyKey names a request of a caller.
type IdempotencyKey struct {
	// Caller is who asks; two callers may use the same key.
	Caller string
	Key    string
	// Fingerprint is a digest of what is asked for.
	Fingerprint string
}

// EvidenceKeeper keeps evidence for a set time.
type EvidenceKeeper interface {
	// KeepEvidence stores evidence, in place of what there was of the test. It stays when
	// the record disappears, and goes when it expires.
	KeepEvidence(ctx context.Context, evidence core.StoredEvidence) error
	// KeptEvidence returns it. ErrNotFound when there is none, or none any more.
	KeptEvidence(ctx context.Context, test uuid.UUID) (core.StoredEvidence, error)
}

// Outbox hands out the notices that were stored with changes of records, each until it is
// delivered or given up. Several servers may share one.
type Outbox interface {
	// ClaimNotices returns up to limit notices that are due and that nobody else claims, the
	// oldest first, and keeps others from them until a time.
	ClaimNotices(ctx context.Context, until time.Time, limit int) ([]core.Notice, error)
	// NoticeDelivered removes a notice. One that is gone is no error.
	NoticeDelivered(ctx context.Context, id uuid.UUID) error
	// NoticeFailed counts an attempt in vain, and makes the notice due at next; the zero
	// time gives it up and removes it.
	NoticeFailed(ctx context.Context, id uuid.UUID, problem string, next time.Time) error
	// CountNotices counts the notices by receiver.
	CountNotices(ctx context.Context) (map[string]int, error)
}
