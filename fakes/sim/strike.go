package sim

import (
	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/fakes/faults"
)

// hook says what goes wrong with a call.
func (s *simulation) hook(call faults.Call) faults.Fault {
	fault := s.recorder.called(call, s.faultOf(call))
	if fault.Kind != faults.None || fault.Meanwhile != nil {
		s.outcome.Faults++
	}
	return fault
}

func (s *simulation) faultOf(call faults.Call) faults.Fault {
	if s.calm {
		return faults.Fault{}
	}
	for i := range s.windows {
		e := &s.windows[i].event
		switch {
		case e.What == outage && coderCalls[call.Op]:
			return faults.Fault{Kind: e.Kind}
		case e.What == planeUnread && call.Op == faults.ReadControlPlane:
			return faults.Fault{Kind: faults.Fail}
		}
	}
	for i := range s.armed {
		e := &s.armed[i]
		if e.Op != call.Op && (e.Op != faults.ReadVersion || call.Op != faults.FindVersion) {
			continue
		}
		if e.Skip > 0 {
			e.Skip--
			continue
		}
		struck := *e
		s.armed = append(s.armed[:i:i], s.armed[i+1:]...)
		return s.fault(call, struck)
	}
	return faults.Fault{}
}

// fault is the fault of one call that an event asks for.
func (s *simulation) fault(call faults.Call, e Event) faults.Fault {
	test := s.recorder.current()
	s.eventLine(test, e)
	switch e.What {
	case editBefore:
		return faults.Fault{Meanwhile: func() { s.records.edit(test, func(r *core.Record) { r.Name += "x" }) }}
	case deleteBefore:
		return faults.Fault{Meanwhile: func() { s.askToGo(test) }}
	case slowCall:
		return faults.Fault{Meanwhile: func() { s.clock.Advance(e.For) }}
	case rivalBefore:
		return faults.Fault{Meanwhile: func() { s.rivalSteps(test, 1+int(e.At)%4) }}
	}
	fault := faults.Fault{Kind: e.Kind, Delay: e.For}
	if e.Status != 0 {
		fault.Kind, fault.Error = faults.Fail, faults.Answer(call, e.Status)
		if e.Proxy {
			fault.Error = proxyAnswer(call, e.Status)
		}
		if e.Effect && call.Changes {
			fault.Kind = faults.Lose
		}
	}
	return fault
}

// rivalSteps has the second engine step within a call of the first.
func (s *simulation) rivalSteps(test uuid.UUID, steps int) {
	s.line(test, "*", "the second engine works on the test")
	for range steps {
		next, err := s.guarded(1, test, nil)
		if err != nil || next.Done || next.After > 0 {
			break
		}
	}
	s.line(test, "*", "the first engine goes on")
}

// proxyAnswer is how an adapter classifies an answer that Coder did not give.
func proxyAnswer(call faults.Call, status int) error {
	class := core.FailureUnavailable
	if call.Changes {
		class = core.FailureUncertain
	}
	return &core.Failure{Class: class, Op: call.Op, Status: status, Message: faults.Sentinel + ": not Coder's answer"}
}
