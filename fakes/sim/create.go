package sim

import (
	"github.com/google/uuid"

	"github.com/assay-dev/assay/core/lifecycle"
)

// oneCreate (I3): no create request is sent while an earlier one of the same test can
// still have taken effect. It looks at the truth, which the simulation knows: an earlier
// create that made a workspace, or one that is still on its way. (A workspace that was
// renamed and then deleted before the first read that succeeded is beyond any proof, and
// harmless.) And it looks at the announcement: at the moment of sending, the stored record
// has a create marker that no other create was sent under, so that a crash can be told
// from "nothing was sent".
func oneCreate(h *History) []Violation {
	var f findings
	under := map[uuid.UUID]bool{}
	for i := range h.Sent {
		s := &h.Sent[i]
		if s.Kind != lifecycle.RequestCreate || h.Excused[s.Test] != "" {
			continue
		}
		if s.Earlier != "" {
			f.add(s.Test, "a create is sent at %s, but %s", clockTime(s.At), s.Earlier)
		}
		switch {
		case s.Record == nil:
			f.add(s.Test, "a create is sent at %s without a record", clockTime(s.At))
			continue
		case !s.Record.Status.HasMarker():
			f.add(s.Test, "a create is sent at %s without a stored marker", clockTime(s.At))
			continue
		}
		attempt := s.Record.Status.CreateAttemptID
		if under[attempt] {
			f.add(s.Test, "a second create is sent at %s under one marker", clockTime(s.At))
		}
		under[attempt] = true
	}
	return f
}
