package lifecycle

import (
	"errors"
	"math/rand/v2"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
)

// TestTheSameReadTwice: a decision that asks again for what it was just told would do so
// forever.
func TestTheSameReadTwice(t *testing.T) {
	r := newRig(t, pending())
	run := &stepRun{Engine: r.engine, in: pending()}
	first, other := Read{Kind: ReadClaimed, ID: workspaceID}, Read{Kind: ReadClaimed, ID: otherID}
	for _, row := range []struct {
		why     string
		want    Read
		refused bool
	}{
		{"once", first, false}, {"again", first, true}, {"another", other, false}, {"the first, later", first, false},
	} {
		if err := run.observe(t.Context(), row.want); errors.Is(err, ErrAssertion) != row.refused || err != nil && !row.refused {
			t.Errorf("%s: %v", row.why, err)
		}
	}
}

func TestAControlPlaneThatCannotBeRead(t *testing.T) {
	r := newRig(t, pending())
	r.planes.Fail(errLost)
	r.step()
	r.is("Pending ControlPlaneNotReady")
	if want, got := "the control plane could not be read: "+errLost.Error(), r.record().Status.Message; got != want {
		t.Errorf("message %q, want %q", got, want)
	}
}

// TestARememberedIdentity: what is remembered is who answered, and when.
func TestARememberedIdentity(t *testing.T) {
	in := awaiting()
	r := newRig(t, in)
	r.clock.Advance(10 * time.Minute)
	r.step()
	r.clock.Advance(time.Second)
	run := &stepRun{Engine: r.engine, in: in}
	entry, err := r.engine.dialed.entry(in.Seen.ControlPlane.Value.Connection)
	if err != nil {
		t.Fatal(err)
	}
	run.readIdentity(t.Context(), entry, nil, ReadDeployment)
	seen := &run.in.Seen
	if seen.Deployment.Value.ID != deploymentID || seen.Operator.Value.ID != operatorID || run.deploymentAt != 10*time.Minute {
		t.Errorf("deployment %s, operator %s, read at %s", seen.Deployment.Value.ID, seen.Operator.Value.ID, run.deploymentAt)
	}
}

// TestAStepCountsOnce: the backoff grows with the steps that met a 429, not with the 429s.
func TestAStepCountsOnce(t *testing.T) {
	tooMany := &core.Failure{Class: core.FailureRateLimited, Op: "find workspace", Status: 429}
	t.Run("however many there were", func(t *testing.T) {
		r := newRig(t, pending())
		r.coder.fail = map[string]error{"> create": tooMany}
		r.coder.during = map[string]func(){"> create": func() { r.coder.fail["find"] = tooMany }}
		r.step()
		r.is("Running ConfirmingCreate marker(429)")
		if got := r.engine.limited[testID]; got != 1 {
			t.Errorf("counted %d times", got)
		}
	})
	t.Run("and no other failure", func(t *testing.T) {
		r := newRig(t, pending())
		r.coder.fail = map[string]error{"owner": unavailable}
		r.step()
		if got := r.engine.limited[testID]; got != 0 {
			t.Errorf("counted %d times", got)
		}
	})
}

func TestJitter(t *testing.T) {
	run := func(change func(*Config)) *stepRun { return &stepRun{Engine: newRig(t, pending(), change).engine} }
	drawn := run(func(c *Config) { c.Random = rand.NewChaCha8([32]byte{2}) })
	least, most := 1.0, -1.0
	for range 1000 {
		j := drawn.jitter()
		least, most = min(least, j), max(most, j)
	}
	if least < -1 || least > -0.9 || most > 1 || most < 0.9 {
		t.Errorf("from %f to %f, want about all from -1 to 1", least, most)
	}
	broken := run(func(c *Config) { c.Random = iotest.ErrReader(errLost) })
	if j := broken.jitter(); j != 0 {
		t.Errorf("%f without randomness", j)
	}
	if err := broken.drawAttemptID(); !errors.Is(err, errLost) || broken.in.Seen.AttemptID != uuid.Nil {
		t.Errorf("attempt %s, %v", broken.in.Seen.AttemptID, err)
	}
}
