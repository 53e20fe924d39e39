package runner

import (
	"context"
	"time"
	"unicode/utf8"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/ports"
)

// maxEvidence bounds the logs of one test, in bytes. A log has 1 MiB at most already.
const maxEvidence = 4 << 20

// Evidence keeps what was read about failed tests, masked.
type Evidence struct {
	Keeper ports.EvidenceKeeper
	Planes ports.ControlPlanes
	Clock  ports.Clock
	// KeepFor is how long it is kept.
	KeepFor time.Duration
}

// Evidence implements ports.EvidenceSink. The operator token and the values of the test's
// parameters are masked.
func (e *Evidence) Evidence(ctx context.Context, evidence core.Evidence) error {
	secrets := make([]string, 0, len(evidence.Record.Spec.Parameters)+1)
	for _, parameter := range evidence.Record.Spec.Parameters {
		secrets = append(secrets, parameter.Value)
	}
	plane, err := e.Planes.ControlPlane(ctx, evidence.Record.Spec.ControlPlaneRef, ports.Cached)
	if err != nil {
		return err
	}
	mask := core.NewMask(append(secrets, plane.Connection.Token.Reveal())...)
	now := e.Clock.Now().UTC()
	kept := core.StoredEvidence{
		Test: evidence.TestID, At: now, ExpiresAt: now.Add(e.KeepFor), CoderVersion: evidence.CoderVersion, Logs: []core.EvidenceLog{},
	}
	left := maxEvidence
	for _, log := range evidence.Logs {
		text, cut := lastBytes(mask.Apply(core.Printable(log.Text)), left)
		left -= len(text)
		kept.Logs = append(kept.Logs, core.EvidenceLog{
			Source: mask.Apply(core.PrintableLine(log.Source)), AgentID: log.AgentID, Text: text, Truncated: log.Truncated || cut,
		})
	}
	for _, agent := range evidence.Workspace.Latest.Agents {
		kept.Agents = append(kept.Agents, core.AgentState{
			ID: agent.ID, Name: mask.Apply(core.PrintableLine(agent.Name)), Status: string(agent.Status), Lifecycle: string(agent.Lifecycle),
		})
	}
	return e.Keeper.KeepEvidence(ctx, kept)
}

// lastBytes is the end of the text that fits into so many bytes, and whether it was cut.
func lastBytes(text string, limit int) (end string, cut bool) {
	from := max(len(text)-limit, 0)
	for from < len(text) && !utf8.RuneStart(text[from]) {
		from++
	}
	return text[from:], from > 0
}
