package faults

import (
	"fmt"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/ports"
)

// port is how the errors of one port look.
type port struct {
	// uncertain is for a call of which nobody knows whether it had its effect.
	uncertain func(call Call) error
	refused   func(call Call) error
	mismatch  func(call Call) error
	limited   func(call Call, fault Fault) error
	denied    func(call Call) error
	conflict  func(call Call) error
}

var coder = port{
	uncertain: func(call Call) error { return failure(call, either(call, core.FailureUncertain), 502) },
	refused:   func(call Call) error { return failure(call, either(call, core.FailureNoEffect), 0) },
	mismatch:  func(call Call) error { return failure(call, core.FailureMismatch, 200) },
	denied:    func(call Call) error { return failure(call, core.FailureUnauthorized, 401) },
	limited: func(call Call, fault Fault) error {
		f := failure(call, core.FailureRateLimited, 429)
		f.RetryAfter = fault.Delay
		return f
	},
	conflict: func(call Call) error { return failure(call, core.FailureConflict, 409) },
}

// records is for the store and the control planes, whose errors have no classes.
var records = port{
	uncertain: plain, refused: plain, mismatch: plain, denied: plain,
	limited:  func(call Call, _ Fault) error { return plain(call) },
	conflict: func(call Call) error { return fmt.Errorf("%s: %s: %w", Sentinel, call, ports.ErrConflict) },
}

func plain(call Call) error { return fmt.Errorf("%s: %s", Sentinel, call) }

func failure(call Call, class core.FailureClass, status int) *core.Failure {
	return &core.Failure{Class: class, Op: call.Op, Status: status, Message: Sentinel + ": " + call.String()}
}

// either is the class for a change, and FailureUnavailable for a read.
func either(call Call, change core.FailureClass) core.FailureClass {
	if call.Changes {
		return change
	}
	return core.FailureUnavailable
}

// do makes a call with the fault that the hook wants. Arguments tell calls apart whose
// answers may be exchanged when they are stale.
func do[T any](i *Injector, p port, call Call, arguments string, ask func() (T, error)) (T, error) {
	return doLate(i, p, call, arguments, ask, ask)
}

// doLate is do for a call that is made another way when it comes late: its caller can be
// gone then, and what was sent is not taken back by that.
func doLate[T any](i *Injector, p port, call Call, arguments string, ask, late func() (T, error)) (T, error) {
	fault := i.begin(&call)
	if fault.Kind == Late || fault.Kind == Duplicate {
		i.clock.AfterFunc(fault.Delay, func() { _, _ = late() })
	}
	answer, err := inject(i, p, call, fault, call.Op+" "+arguments, ask)
	if fault.Afterwards != nil {
		fault.Afterwards()
	}
	i.end(call, err)
	return answer, err
}

func inject[T any](i *Injector, p port, call Call, fault Fault, key string, ask func() (T, error)) (T, error) {
	var none T
	uncertain := func() (T, error) {
		if fault.Error != nil {
			return none, fault.Error
		}
		return none, p.uncertain(call)
	}
	switch fault.Kind {
	case Fail, Late:
		return uncertain()
	case Refuse:
		return none, p.refused(call)
	case Hang:
		i.clock.Advance(RequestTimeout)
		return uncertain()
	case Lose, HangLose:
		_, _ = ask()
		if fault.Kind == HangLose {
			i.clock.Advance(RequestTimeout)
		}
		return uncertain()
	case Stale:
		if earlier, ok := i.earlier(key); ok {
			return earlier.(T), nil
		}
	case Mismatch:
		_, _ = ask()
		return none, p.mismatch(call)
	case RateLimit:
		return none, p.limited(call, fault)
	case Unauthorized:
		return none, p.denied(call)
	case Conflict:
		return none, p.conflict(call)
	case CrashBefore:
		panic(Crash{call})
	case CrashAfter:
		_, _ = ask()
		panic(Crash{call})
	}
	answer, err := ask()
	if err == nil && !call.Changes {
		i.remember(key, answer)
	}
	return answer, err
}

func (i *Injector) earlier(key string) (any, bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	answer, ok := i.answers[key]
	return answer, ok
}

func (i *Injector) remember(key string, answer any) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.answers[key] = answer
}
