package cli

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/adapters/report"
	"github.com/assay-dev/assay/adapters/serverclient"
	"github.com/assay-dev/assay/adapters/terminal"
	"github.com/assay-dev/assay/core"
)

// onServer is the host whose tests run on an assay server. What it tells of them comes from
// the server's stream of transitions.
type onServer struct {
	observers
	server *serverConnection
	sinks  sinks
	proofs evidenceSinks

	// stops are wishes that are on their way to the server.
	stops sync.WaitGroup
	ctx   context.Context
	leave context.CancelFunc

	mu sync.Mutex
	// stages and coders are those of the tests that have ended.
	stages map[uuid.UUID][]report.Stage
	coders map[uuid.UUID]string
}

var _ host = (*onServer)(nil)

// withServer calls f with a host for the server, and closes what that needs.
func withServer(ctx context.Context, env Env, server *serverConnection, config runConfig, f func(*onServer)) *onServer {
	progress := terminal.NewProgress(env.Stderr, env.Clock, config.style(env))
	defer progress.Close()
	server.notices.to(progress)
	defer server.notices.to(env.Stderr)
	evidence, tracker := newEvidence(config), newTracker()
	h := &onServer{
		observers: observers{env: env, tracker: tracker, progress: progress, evidence: evidence},
		server:    server, sinks: sinks{tracker, progress}, proofs: evidenceSinks{evidence},
		stages: map[uuid.UUID][]report.Stage{}, coders: map[uuid.UUID]string{},
	}
	if config.artifacts != nil {
		h.sinks, h.proofs = append(h.sinks, config.artifacts), append(h.proofs, config.artifacts)
	}
	h.ctx, h.leave = context.WithCancel(context.WithoutCancel(ctx))
	defer h.leave()
	f(h)
	h.stops.Wait()
	return h
}

// start implements host. The record's own ID is the name of the request: however often it
// has to be sent, the server makes one test.
func (h *onServer) start(ctx context.Context, record core.Record) (core.Record, error) {
	stored, err := h.server.Create(ctx, record, "assay-"+record.ID.String())
	if errors.Is(err, serverclient.ErrAway) {
		return core.Record{}, fmt.Errorf("%w; if it made the test all the same, it also ends it: \"assay list --server %s\" shows it", err, h.server.url)
	}
	return stored, err
}

// drive implements host: the server does that.
func (*onServer) drive(uuid.UUID) {}

// errEnded ends a stream.
var errEnded = errors.New("the test has ended")

// wait implements host. It follows the server's stream, over lost connections.
func (h *onServer) wait(ctx context.Context, id uuid.UUID) error {
	err := h.server.Watch(ctx, id, 0, func(transition core.TestTransition) error {
		before := h.tracker.record(id)
		after, stages, err := h.server.Test(ctx, id)
		switch {
		case serverclient.IsNotFound(err):
			after = serverclient.After(before, transition)
		case err != nil:
			return err
		default:
			h.mu.Lock()
			h.stages[id] = stagesOf(stages)
			h.mu.Unlock()
		}
		h.sinks.Transition(core.StoredTransition{At: transition.At, Before: before, After: after})
		if after.AtEnd() {
			return errEnded
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnded) {
		return err
	}
	return h.explainFailure(ctx, id)
}

// explainFailure hands the evidence of a failed test to those who want it. A test that has
// none, or whose evidence cannot be read, keeps its verdict.
func (h *onServer) explainFailure(ctx context.Context, id uuid.UUID) error {
	record := h.tracker.record(id)
	if record.Status.Phase != core.PhaseFailed {
		return nil
	}
	evidence, found, err := h.server.Evidence(ctx, record)
	if err == nil && found {
		h.mu.Lock()
		h.coders[id] = evidence.CoderVersion
		h.mu.Unlock()
		err = h.proofs.Evidence(ctx, evidence)
	}
	if err != nil {
		fmt.Fprintf(h.progress, "the evidence of test %s cannot be shown: %v\n", id, err)
	}
	return nil
}

func stagesOf(stages []serverclient.Stage) []report.Stage {
	var told []report.Stage
	for _, stage := range stages {
		told = append(told, report.Stage{Name: stage.Name, StartedAt: stage.StartedAt, Seconds: stage.Seconds})
	}
	return told
}

// stop implements host. It does not wait for the server.
func (h *onServer) stop(_ context.Context, id uuid.UUID) {
	record := h.tracker.record(id)
	if record.Status.Phase.Final() {
		// It keeps its verdict and its record.
		return
	}
	h.stops.Go(func() {
		err := error(nil)
		if record.DeletionPolicy != string(core.DeletionPolicyDelete) {
			// A workspace is kept for a failure that somebody wants to look at. Without a verdict
			// there is none.
			err = h.server.SetDeletionPolicy(h.ctx, id, core.DeletionPolicyDelete)
		}
		if err == nil {
			err = h.server.Stop(h.ctx, id)
		}
		if err != nil && !serverclient.IsNotFound(err) {
			fmt.Fprintf(h.progress, "the wish to stop did not reach the server, the test goes on: %v\n", err)
		}
	})
}

// last implements host. It asks nobody: what the stream told is as new as it gets.
func (h *onServer) last(_ context.Context, id uuid.UUID) core.Record { return h.tracker.record(id) }

// course implements host.
func (h *onServer) course(id uuid.UUID, _ time.Time) (stages []report.Stage, coderVersion string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.stages[id], h.coders[id]
}

// finishes implements host.
func (h *onServer) finishes(id uuid.UUID) string {
	return fmt.Sprintf("the server goes on with it, and \"assay watch --server %s %s\" follows it", h.server.url, id)
}

// waysOut implements host.
func (*onServer) waysOut() string {
	return "The server's control plane decides who owns test workspaces (ownerUserID), and which owners it allows."
}

// abandon implements host.
func (h *onServer) abandon() { h.leave() }
