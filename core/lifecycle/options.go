package lifecycle

import "time"

// Options are the engine's timings. A zero field takes its default.
type Options struct {
	// SettleWindow is how long after its announcement an unanswered create may
	// still take effect (default 15 min). Absence is proven only after it.
	SettleWindow time.Duration
	// RunningPoll is the safety net under a stream while something runs (5 s).
	RunningPoll time.Duration
	// HeardPoll is the same while that stream brings news (30 s). It must not be much
	// longer: that an agent did not connect in time, or is connected no longer, is nothing
	// that a stream tells.
	HeardPoll time.Duration
	// InputsPoll is how often inputs that are not ready are looked at (15 s).
	InputsPoll time.Duration
	// CleanupPoll is how often a cleanup that cannot go on looks again (60 s).
	CleanupPoll time.Duration
	// SendWindow is how long after the marker was stored the create may still be
	// sent (30 s).
	SendWindow time.Duration
	// IdentityMaxAge is how long a known workspace's deployment and operator user
	// may be remembered (60 s). Before there is a workspace they are read in
	// every step.
	IdentityMaxAge time.Duration
	// SharedMaxAge is how old an input may be that tests read together (2 s), measured from
	// before it was asked for; less than 0 has each test read its own. It must be shorter
	// than SendWindow.
	SharedMaxAge time.Duration
	// WorkspaceTTL is added to the test's timeout for the time after which Coder
	// itself stops the workspace (1 h).
	WorkspaceTTL time.Duration
	// EvidenceTimeout bounds the reading of evidence, sink included (10 s).
	EvidenceTimeout time.Duration
	// EvidenceLogBytes bounds each log in the evidence (1 MiB).
	EvidenceLogBytes int
}

// WithDefaults returns the options with every zero field at its default.
func (o Options) WithDefaults() Options {
	for _, d := range []struct {
		field *time.Duration
		value time.Duration
	}{
		{&o.SettleWindow, 15 * time.Minute},
		{&o.RunningPoll, 5 * time.Second},
		{&o.HeardPoll, 30 * time.Second},
		{&o.InputsPoll, 15 * time.Second},
		{&o.CleanupPoll, time.Minute},
		{&o.SendWindow, 30 * time.Second},
		{&o.IdentityMaxAge, time.Minute},
		{&o.SharedMaxAge, 2 * time.Second},
		{&o.WorkspaceTTL, time.Hour},
		{&o.EvidenceTimeout, 10 * time.Second},
	} {
		if *d.field == 0 {
			*d.field = d.value
		}
	}
	if o.EvidenceLogBytes == 0 {
		o.EvidenceLogBytes = 1 << 20
	}
	return o
}
