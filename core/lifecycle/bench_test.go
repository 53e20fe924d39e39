package lifecycle

import (
	"testing"

	"github.com/assay-dev/assay/core"
)

// BenchmarkDecideWaiting is the commonest decision: a build is still running.
func BenchmarkDecideWaiting(b *testing.B) {
	in := awaiting()
	seen := connected().Seen
	w := ours()
	w.Latest.Job.Status = core.JobRunning
	seen.Workspaces = with(nil, w.ID, done(w))
	in.Seen = seen
	in.Record = Decide(in).Record // as it is stored while nothing changes
	if d := Decide(in); !d.Waits || d.Err != nil {
		b.Fatalf("not a wait: %+v", d)
	}
	b.ReportAllocs()
	for b.Loop() {
		Decide(in)
	}
}
