package sim

// heldWhileNeeded (I6): the hold is there whenever a workspace can exist. It looks at each
// request (the hold is stored before anything is sent) and at each moment at which a hold
// goes or a record disappears: then no workspace of the test may live and no create be
// under way, except where the record says that the control plane is gone, or that the
// workspace is retained, wanted so and allowed. A hold that a person removes is the
// person's (the test is excused).
func heldWhileNeeded(h *History) []Violation {
	var f findings
	for i := range h.Sent {
		s := &h.Sent[i]
		if s.Record != nil && !s.Record.Held && h.Excused[s.Test] == "" {
			f.add(s.Test, "a %s is sent at %s without the hold", s.Kind, clockTime(s.At))
		}
	}
	for i := range h.Stored {
		s := &h.Stored[i]
		if s.ByEngine && s.CanExist != "" && s.Allowed == "" && h.Excused[s.Test] == "" {
			f.add(s.Test, "the hold goes at %s, but %s", clockTime(s.At), s.CanExist)
		}
	}
	return f
}
