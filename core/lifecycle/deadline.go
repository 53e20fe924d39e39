package lifecycle

import (
	"fmt"
	"time"

	"github.com/assay-dev/assay/core"
)

// endOnDeadline ends a run whose time was over when the step began (4.7). When it ran
// out during the step, only a wait ends (4.10, see wait): a verdict stands.
func endOnDeadline(s *step) *Decision {
	began := s.Began
	if began.IsZero() {
		began = s.Now
	}
	if began.Before(s.deadline()) {
		return nil
	}
	st := &s.Record.Status
	return s.deadlineExceeded(st.Reason, st.Message)
}

// deadline is when the run ends: the timeout, or sooner the inputs' timeout while
// no create request was sent.
func (s *step) deadline() time.Time {
	deadline := s.next.Deadline()
	if inputs := s.next.Spec.InputsTimeout(); inputs > 0 && !s.next.Status.MayHaveWorkspace() {
		if sooner := s.next.Status.StartTime.Add(inputs); sooner.Before(deadline) {
			return sooner
		}
	}
	return deadline
}

// deadlineExceeded records the verdict; the message names the wait that the
// deadline ended.
func (s *step) deadlineExceeded(last core.Reason, message string) *Decision {
	limit := s.deadline().Sub(s.next.Status.StartTime)
	s.status().LastWaitReason = last
	return s.fail(core.ReasonDeadlineExceeded,
		fmt.Sprintf("no result within %s; the last wait was %s: %s", limit, last, message))
}
