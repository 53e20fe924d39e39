package lifecycle

import (
	"time"

	"github.com/assay-dev/assay/core"
)

// takeHold takes the hold of a test that is not final, or whose cleanup is not
// done (4.3). A record that is being deleted never gets here.
func takeHold(s *step) *Decision {
	if s.Record.Held || s.Record.Status.Phase.Final() && cleanupDone(&s.Record) {
		return nil
	}
	d := s.lookAgain(0)
	d.Hold = HoldTake
	return d
}

// initialize starts the clock of a new test (4.4).
func initialize(s *step) *Decision {
	if s.Record.Status.Phase != "" {
		return nil
	}
	st := s.status()
	st.StartTime = s.Now.UTC().Truncate(time.Second)
	st.WorkspaceName = core.WorkspaceName(s.Record.ID)
	s.running(core.ReasonInitializing, "the test was accepted")
	return s.lookAgain(0)
}
