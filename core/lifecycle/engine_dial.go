package lifecycle

import (
	"sync"
	"time"

	"github.com/google/uuid"

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
	// sharedMaxAge is how old an answer may be that tests share.
	sharedMaxAge time.Duration

	mu      sync.Mutex
	entries map[core.Connection]*dialedEntry
}

type dialedEntry struct {
	runner ports.CodeRunner
	usedAt time.Duration
	slow   slowness
	known  *identity
	// inputs are the reads that tests share on the connection.
	inputs *shared
	// deployment has steps read together who answers.
	deployment *gather[answering]
	// owners are the users whose workspaces are listed, by ID.
	owners map[uuid.UUID]core.User
	// reads are those of workspaces, by owner.
	reads map[uuid.UUID]*ownerReads
}

// answering is a deployment, and the monotonic time before it was read.
type answering struct {
	core.Deployment
	at time.Duration
}

// identity is who answers on a connection.
type identity struct {
	deployment core.Deployment
	operator   core.User
	// readAt is the monotonic time before the deployment was read.
	readAt time.Duration
}

func newDialed(dial ports.Dialer, clock ports.Clock, sharedMaxAge time.Duration) *dialed {
	return &dialed{dial: dial, clock: clock, sharedMaxAge: sharedMaxAge, entries: make(map[core.Connection]*dialedEntry)}
}

// runner returns the connection's CodeRunner, dialing it the first time.
func (d *dialed) runner(connection core.Connection) (ports.CodeRunner, error) {
	entry, err := d.entry(connection)
	if err != nil {
		return nil, err
	}
	return entry.runner, nil
}

func (d *dialed) entry(connection core.Connection) (*dialedEntry, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.clock.Monotonic()
	if entry, ok := d.entries[connection]; ok {
		entry.usedAt = now
		return entry, nil
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
	entry := &dialedEntry{
		runner: runner, usedAt: now, inputs: newShared(d.clock, d.sharedMaxAge),
		deployment: newGather[answering](d.clock), owners: make(map[uuid.UUID]core.User), reads: make(map[uuid.UUID]*ownerReads),
	}
	d.entries[connection] = entry
	return entry, nil
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

// owner returns a user whose workspaces were listed before.
func (d *dialed) owner(entry *dialedEntry, id uuid.UUID) (owner core.User, known bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	owner, known = entry.owners[id]
	return owner, known
}

// rememberOwner keeps a user whose workspaces could be listed, and drops one of whom they
// could not: the user may have another name by now.
func (d *dialed) rememberOwner(entry *dialedEntry, owner core.User, listed bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if listed {
		entry.owners[owner.ID] = owner
	} else {
		delete(entry.owners, owner.ID)
	}
}

// ownerReads returns the reads of an owner's workspaces, and the owner if its list was read
// before.
func (d *dialed) ownerReads(entry *dialedEntry, id uuid.UUID) (reads *ownerReads, owner core.User, known bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	reads = entry.reads[id]
	if reads == nil {
		reads = &ownerReads{gather: newGather[map[uuid.UUID]core.Workspace](d.clock)}
		entry.reads[id] = reads
	}
	owner, known = entry.owners[id]
	return reads, owner, known
}
