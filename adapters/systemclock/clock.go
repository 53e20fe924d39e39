// Package systemclock is the Clock of production, over package time.
package systemclock

import (
	"time"

	"github.com/assay-dev/assay/ports"
)

// Clock implements ports.Clock with the operating system's clocks. The zero value
// is not usable: New starts its monotonic count.
type Clock struct{ start time.Time }

var _ ports.Clock = Clock{}

// New returns a clock whose Monotonic counts from now on.
func New() Clock { return Clock{start: time.Now()} }

// Now is the wall clock in UTC, without a monotonic reading: differences of two
// such times follow the wall clock's jumps, as callers of Now expect.
func (Clock) Now() time.Time { return time.Now().UTC().Round(0) }

// Monotonic is the time since New. It stands still while the machine sleeps where
// the operating system's monotonic clock does.
func (c Clock) Monotonic() time.Duration { return time.Since(c.start) }

// AfterFunc calls f in a goroutine of its own once d has passed.
func (Clock) AfterFunc(d time.Duration, f func()) ports.Timer { return time.AfterFunc(d, f) }
