package ports

import (
	"time"
)

// Clock tells the time and makes timers. Nobody in core reads the time elsewhere.
type Clock interface {
	// Now is the wall clock: it can jump.
	Now() time.Time
	// Monotonic is the time since some fixed moment; it never jumps or goes back
	// while the process lives.
	Monotonic() time.Duration
	// AfterFunc calls f in a goroutine of its own once d has passed by the monotonic
	// clock; at once for d <= 0.
	AfterFunc(d time.Duration, f func()) Timer
}

// Timer is a pending call of a Clock.
type Timer interface {
	// Stop prevents the call and reports whether it did.
	Stop() bool
}
