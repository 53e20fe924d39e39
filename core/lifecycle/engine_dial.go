package lifecycle

import (
	"sync"
	"time"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/ports"
)

// dialedMaxIdle is how long an unused CodeRunner is kept.
const dialedMaxIdle = 10 * time.Minute

// dialed keeps one CodeRunner for each connection in use, and for a short while who
// answered there.
type dialed struct {
	dial  ports.Dialer
	clock ports.Clock

	mu      sync.Mutex
	entries map[core.Connection]*dialedEntry
}

type dialedEntry struct {
	runner ports.CodeRunner
	usedAt time.Duration
	known  *identity
}

// identity is who answers on a connection.
type identity struct {
	deployment core.Deployment
	operator   core.User
	// readAt is the monotonic time before the deployment was read.
	readAt time.Duration
}

func newDialed(dial ports.Dialer, clock ports.Clock) *dialed {
	return &dialed{dial: dial, clock: clock, entries: make(map[core.Connection]*dialedEntry)}
}

// runner returns the connection's CodeRunner, dialing it the first time.
func (d *dialed) runner(connection core.Connection) (ports.CodeRunner, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.clock.Monotonic()
	if entry, ok := d.entries[connection]; ok {
		entry.usedAt = now
		return entry.runner, nil
	}
	for key, entry := range d.entries {
		if now-entry.usedAt > dialedMaxIdle {
			delete(d.entries, key)
		}
	}
	runner, err := d.dial(connection)
	if err != nil {
		return nil, err
	}
	d.entries[connection] = &dialedEntry{runner: runner, usedAt: now}
	return runner, nil
}

// identity returns who answered on the connection, if that was read at most maxAge
// ago.
func (d *dialed) identity(connection core.Connection, maxAge time.Duration) (identity, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	entry, ok := d.entries[connection]
	if !ok || entry.known == nil || d.clock.Monotonic()-entry.known.readAt > maxAge {
		return identity{}, false
	}
	return *entry.known, true
}

func (d *dialed) remember(connection core.Connection, known identity) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if entry, ok := d.entries[connection]; ok {
		entry.known = &known
	}
}
