package core

import (
	"time"

	"github.com/google/uuid"
)

// Lease says that a process runs a test. It keeps two processes from doing the same
// work; that nothing is done twice where it fails to is the lifecycle's own matter
// (lifecycle section 3: two engines on one record are safe).
type Lease struct {
	Test uuid.UUID
	// Holder names the process, for people too.
	Holder string
	// Until is when the lease ends unless its holder renews it, to the microsecond.
	Until time.Time
}
