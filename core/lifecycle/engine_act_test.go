package lifecycle

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/ports"
)

// TestWhoseMarkerItIs: only a step that stored a new marker may send a create (I3). None
// goes on after any other store, which this does not rely on.
func TestWhoseMarkerItIs(t *testing.T) {
	unmarked, running := pending().Record, awaiting().Record
	mine := marked().Record
	another := mine
	another.Status.CreateAttemptID = otherID
	for _, row := range []struct {
		why           string
		before, after core.Record
		want          uuid.UUID
	}{
		{"it was announced", unmarked, mine, attemptID},
		{"it was announced before", mine, mine, uuid.Nil},
		{"another one took its place", mine, another, otherID},
		{"it was cleared", mine, unmarked, uuid.Nil},
		{"there is none", unmarked, unmarked, uuid.Nil},
		{"its workspace was found", mine, running, uuid.Nil},
		{"it was stored together with its workspace", unmarked, running, uuid.Nil},
	} {
		r := newRig(t, pending())
		run := &stepRun{Engine: r.engine}
		run.stored(row.before, row.after)
		own := run.in.Seen.OwnMarker
		if (own != nil) != (row.want != uuid.Nil) || own != nil && own.AttemptID != row.want {
			t.Errorf("%s: own marker %+v, want %s", row.why, own, row.want)
		}
	}
}

// TestOnlyALostFactIsLogged: a record that is gone is nothing to report unless a create was
// sent for it.
func TestOnlyALostFactIsLogged(t *testing.T) {
	r := newRig(t, pending())
	r.store.before = func() {
		if err := r.store.RequestDeletion(t.Context(), testID); err != nil {
			t.Fatal(err)
		}
		if _, err := r.store.Store.ReleaseHold(t.Context(), r.record()); err != nil {
			t.Fatal(err)
		}
	}
	if next := r.step(); !next.Done {
		t.Errorf("next %+v", next)
	}
	if strings.Contains(r.log.String(), "ERROR") {
		t.Errorf("log: %s", r.log.String())
	}
}

// TestAConnectionThatIsLostBeforeARequest: what could not be dialed was not sent.
func TestAConnectionThatIsLostBeforeARequest(t *testing.T) {
	r := newRig(t, pending())
	r.coder.during = map[string]func(){"find": func() {
		clear(r.engine.dialed.entries)
		r.engine.dialed.dial = func(core.Connection) (ports.CodeRunner, error) { return nil, errors.New("bad certificate") }
	}}
	r.step()
	r.is("Pending CreateRetrying")
	if got := r.record().Status.Message; got != "create workspace: bad certificate" {
		t.Errorf("message %q", got)
	}
}

// TestAChangeThatIsTooMuchBacksOff: a 429 counts, whatever it answers.
func TestAChangeThatIsTooMuchBacksOff(t *testing.T) {
	r := newRig(t, failed())
	r.coder.workspace.Latest = build(core.TransitionStart, core.JobFailed)
	r.coder.fail = map[string]error{"> delete": &core.Failure{Class: core.FailureRateLimited, Op: "delete workspace", Status: 429}}
	for _, around := range []time.Duration{2 * time.Second, 4 * time.Second, 8 * time.Second} {
		after := r.step().After
		if after < around*8/10 || after > around*12/10 {
			t.Errorf("after %s, want about %s", after, around)
		}
		r.clock.Advance(after)
	}
}

func TestAnErrorWithoutAClass(t *testing.T) {
	want := core.Failure{Class: core.FailureUncertain, Op: "ask coder", Message: "the disk is full"}
	if got := changeFailure(errDisk); *got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
