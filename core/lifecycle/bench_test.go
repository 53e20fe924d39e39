package lifecycle

import (
	"testing"

	"github.com/assay-dev/assay/core"
)

// waiting is the commonest input: a build is still running, and nothing changed.
func waiting(t testing.TB) Input {
	t.Helper()
	in := awaiting()
	seen := connected().Seen
	w := ours()
	w.Latest.Job.Status = core.JobRunning
	seen.Workspaces = with(nil, w.ID, done(w))
	in.Seen = seen
	in.Record = Decide(in).Record // as it is stored while nothing changes
	if d := Decide(in); !d.Waits || d.Err != nil {
		t.Fatalf("not a wait: %+v", d)
	}
	return in
}

func BenchmarkDecideWaiting(b *testing.B) {
	in := waiting(b)
	b.ReportAllocs()
	for b.Loop() {
		Decide(in)
	}
}

// TestDecideWaitingAllocatesNothing keeps a step on the stack: a closure or an interface
// that holds on to it would move it to the heap unnoticed.
func TestDecideWaitingAllocatesNothing(t *testing.T) {
	in := waiting(t)
	if allocations := testing.AllocsPerRun(100, func() { Decide(in) }); allocations != 0 {
		t.Errorf("%v allocations", allocations)
	}
}
