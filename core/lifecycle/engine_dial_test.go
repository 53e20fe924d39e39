package lifecycle

import (
	"testing"
	"time"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/fakes/clock"
	"github.com/assay-dev/assay/ports"
)

func TestDialedConnections(t *testing.T) {
	at := func(name string) core.Connection { return core.Connection{URL: "https://" + name + ".example.com"} }
	// begun is a process that runs for an hour already, and what it dialed.
	begun := func(t *testing.T) (*dialed, *clock.Clock, func(name string)) {
		c := clock.New(noon)
		d := newDialed(func(core.Connection) (ports.CodeRunner, error) { return &coder{}, nil }, c, 0)
		c.Advance(time.Hour)
		return d, c, func(name string) {
			t.Helper()
			if _, err := d.runner(at(name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	kept := func(d *dialed, name string) bool { return d.entries[at(name)] != nil }

	t.Run("one that is used is kept", func(t *testing.T) {
		d, c, use := begun(t)
		use("used")
		c.Advance(dialedMaxIdle)
		use("used")
		c.Advance(time.Minute)
		use("new")
		if !kept(d, "used") || !kept(d, "new") {
			t.Errorf("%d kept", len(d.entries))
		}
	})
	t.Run("as long as it may", func(t *testing.T) {
		d, c, use := begun(t)
		use("idle")
		c.Advance(dialedMaxIdle)
		use("new")
		if !kept(d, "idle") {
			t.Error("dropped too soon")
		}
	})
	t.Run("and not longer", func(t *testing.T) {
		d, c, use := begun(t)
		use("idle")
		c.Advance(dialedMaxIdle + 1)
		use("new")
		if kept(d, "idle") {
			t.Error("still there")
		}
	})
	t.Run("who answers is known for a while", func(t *testing.T) {
		d, c, use := begun(t)
		known := func(name string) bool { _, ok := d.identity(at(name), time.Minute); return ok }
		if known("a") {
			t.Error("of a connection that was never used")
		}
		use("a")
		if known("a") {
			t.Error("before it was read")
		}
		read := identity{deployment: core.Deployment{ID: deploymentID}, readAt: c.Monotonic()}
		d.remember(at("a"), read)
		d.remember(at("b"), read)
		c.Advance(time.Minute)
		if got, ok := d.identity(at("a"), time.Minute); !ok || got.deployment.ID != deploymentID || known("b") {
			t.Errorf("%+v, %t; of one that was not dialed: %t", got, ok, known("b"))
		}
		c.Advance(1)
		if known("a") {
			t.Error("for longer than that")
		}
	})
}

// TestAnOwnersReadsAreOne: tests of one owner find the same reads, and the owner once it
// was read.
func TestAnOwnersReadsAreOne(t *testing.T) {
	r := newRig(t, awaiting())
	r.step()
	d := r.engine.dialed
	for _, entry := range d.entries {
		first, _, known := d.ownerReads(entry, otherID)
		if known {
			t.Error("an owner that nobody read is known")
		}
		d.rememberOwner(entry, core.User{ID: otherID, Username: "other"}, true)
		second, owner, known := d.ownerReads(entry, otherID)
		if first != second || !known || owner.Username != "other" {
			t.Errorf("the same reads: %v, known: %v, owner %q", first == second, known, owner.Username)
		}
		if third, _, _ := d.ownerReads(entry, ownerID); third == first {
			t.Error("two owners share their reads")
		}
	}
}
