package sim

import (
	"fmt"
	"time"

	"github.com/assay-dev/assay/fakes/faults"
)

// maxCalls is more requests than any step needs. A step that lists the builds of many
// look-alikes needs most.
const maxCalls = 40

// bounded (I9): a step ends within its request timeouts, a wait within its deadline, and
// no step sends more than one changing request.
func bounded(h *History) []Violation {
	var f findings
	for i := range h.Steps {
		s := &h.Steps[i]
		at := clockTime(s.Began)
		if s.Sent > 1 {
			f.add(s.Test, "the step at %s sent %d changing requests", at, s.Sent)
		}
		if s.Calls > maxCalls {
			f.add(s.Test, "the step at %s made %d requests", at, s.Calls)
		}
		if limit := time.Duration(s.Calls)*faults.RequestTimeout + s.Delayed; s.Ended-s.Began > limit {
			f.add(s.Test, "the step at %s took %s, with %d requests", at, s.Ended-s.Began, s.Calls)
		}
		if s.Err != nil || s.Crashed || s.After == nil || s.After.Status.Phase.Final() || s.After.DeletionRequested() || s.Next.Done {
			continue
		}
		if wait := max(s.Next.After, s.Next.Heard); wait > max(0, s.LeftToRun) {
			f.add(s.Test, "the wait after the step at %s is %s, and the deadline is in %s", at, wait, s.LeftToRun)
		}
	}
	return f
}

// clockTime is a moment of a run as trails show it.
func clockTime(at time.Duration) string {
	seconds := int(at / time.Second)
	return fmt.Sprintf("%02d:%02d", seconds/60, seconds%60)
}
