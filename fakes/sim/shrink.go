package sim

// Shrink drops from a plan what does not matter for breaking the same invariant: events,
// tests, switches. It gives up after tries runs.
func Shrink(plan *Plan, check string, tries int, mutant *Mutant) *Plan {
	best := plan
	breaks := func(p *Plan) bool {
		if tries <= 0 {
			return false
		}
		tries--
		for _, v := range Play(p, false, mutant).Violations {
			if v.Check == check {
				return true
			}
		}
		return false
	}
	for smaller := true; smaller && tries > 0; {
		smaller = false
		for _, candidate := range simpler(best) {
			if p := candidate(); breaks(p) {
				best, smaller = p, true
				break
			}
		}
	}
	return best
}

// simpler lists plans with one thing less.
func simpler(plan *Plan) []func() *Plan {
	var all []func() *Plan
	add := func(change func(*Plan)) {
		all = append(all, func() *Plan {
			p := *plan
			p.Tests = append([]TestPlan(nil), plan.Tests...)
			p.Events = append([]Event(nil), plan.Events...)
			change(&p)
			return &p
		})
	}
	if n := len(plan.Events); n > 3 {
		add(func(p *Plan) { p.Events = p.Events[:n/2] })
		add(func(p *Plan) { p.Events = p.Events[n/2:] })
	}
	for i := range plan.Events {
		add(func(p *Plan) { p.Events = append(p.Events[:i:i], p.Events[i+1:]...) })
	}
	live := 0
	for i := range plan.Tests {
		if !plan.Tests[i].Dropped {
			live++
		}
	}
	for i := range plan.Tests {
		if live > 1 && !plan.Tests[i].Dropped {
			add(func(p *Plan) { p.Tests[i].Dropped = true })
		}
		if plan.Tests[i].Policy != "" {
			add(func(p *Plan) { p.Tests[i].Policy = "" })
		}
		if plan.Tests[i].TTL >= 0 {
			add(func(p *Plan) { p.Tests[i].TTL = -1 })
		}
		if plan.Tests[i].Odd != "" {
			add(func(p *Plan) { p.Tests[i].Odd = "" })
		}
		if plan.Tests[i].Prebuilt {
			add(func(p *Plan) { p.Tests[i].Prebuilt = false })
		}
		if len(plan.Tests[i].Deletes) > 1 {
			add(func(p *Plan) {
				p.Tests[i].Deletes, p.Tests[i].Stubborn = p.Tests[i].Deletes[len(p.Tests[i].Deletes)-1:], false
			})
		}
	}
	for _, flag := range []func(*Plan) *bool{
		func(p *Plan) *bool { return &p.OwnWorkspaces }, func(p *Plan) *bool { return &p.OrganizationAdmin },
		func(p *Plan) *bool { return &p.Classic }, func(p *Plan) *bool { return &p.ForbidCancel },
		func(p *Plan) *bool { return &p.AllowRetain }, func(p *Plan) *bool { return &p.Evidence },
		func(p *Plan) *bool { return &p.DefaultTimings },
	} {
		if *flag(plan) {
			add(func(p *Plan) { *flag(p) = false })
		}
	}
	return all
}
