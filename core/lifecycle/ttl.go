package lifecycle

import (
	"time"

	"github.com/assay-dev/assay/core"
)

// expire deletes the record of a finished test once its time to live has passed
// since its result and since its workspace was gone (lifecycle section 7). A test
// whose workspace can still exist never gets here, or has no True condition.
func (s *step) expire() *Decision {
	d := s.lookAgain(0)
	gone := s.Record.Status.Condition(core.ConditionWorkspaceDeleted)
	ttl := s.Record.Spec.TTLSecondsAfterFinished
	if s.Record.DeletionRequested() || ttl == nil || gone.Status != core.ConditionTrue {
		d.Done = true
		return d
	}
	from := s.Record.Status.CompletionTime
	if gone.LastTransitionTime.After(from) {
		from = gone.LastTransitionTime
	}
	if left := from.Add(time.Duration(*ttl) * time.Second).Sub(s.Now); left > 0 {
		d.After, d.Waits = left, true
		return d
	}
	d.Expire = true
	return d
}
