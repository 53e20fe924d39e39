// Command embed is another module that embeds the core with a CodeRunner, a store
// and a clock of its own: what a tool needs that tests template versions its own way.
package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/core/lifecycle"
	"github.com/assay-dev/assay/ports"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	record := core.Record{
		ID: uuid.New(), Generation: 1, CreatedAt: time.Now(),
		Spec: core.Spec{
			Template: "acme.docker", Version: core.VersionSelector{Active: true}, ControlPlaneRef: "mine",
		}.WithDefaults(),
	}
	if err := record.Spec.Validate(); err != nil {
		return err
	}
	deployment := newDeployment()
	store := &oneRecord{record: record}
	engine, err := lifecycle.New(lifecycle.Config{
		Store: store, ControlPlanes: plane{deployment.tester}, Clock: clock{time.Now()}, Random: rand.Reader,
		Dial: func(core.Connection) (ports.CodeRunner, error) { return deployment, nil },
	})
	if err != nil {
		return err
	}
	for {
		next, err := engine.Step(ctx, record.ID, nil)
		if err != nil {
			return err
		}
		if next.Done {
			break
		}
		// A real tool waits for next.After, or for the stream of next.Watch; this
		// deployment is always ready for the next look.
	}
	st := store.record.Status
	fmt.Printf("%s: %s (%d workspace left)\n", st.Phase, st.Message, deployment.live())
	return nil
}

// plane is the one control plane.
type plane struct{ owner uuid.UUID }

func (p plane) ControlPlane(context.Context, string, ports.Freshness) (core.ControlPlane, error) {
	return core.ControlPlane{
		Ref: "mine", State: core.ControlPlaneUsable, Policy: core.Policy{OwnerUserID: p.owner.String()},
		Connection: core.Connection{URL: "https://coder.example.com", Token: core.NewSecret("of the operator")},
	}, nil
}

// clock is the system's.
type clock struct{ start time.Time }

func (c clock) Now() time.Time           { return time.Now() }
func (c clock) Monotonic() time.Duration { return time.Since(c.start) }
func (c clock) AfterFunc(d time.Duration, f func()) ports.Timer {
	return time.AfterFunc(d, f)
}
