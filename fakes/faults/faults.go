// Package faults wraps the ports with faults: for each call a hook may say that it
// fails, hangs, lies, comes late or crashes the process. A wrapper without a fault
// changes nothing.
package faults

import (
	"fmt"
	"sync"
	"time"

	"github.com/assay-dev/assay/ports"
)

// Sentinel is in the text of every injected error: one that turns up where no fault was
// injected is a bug.
const Sentinel = "INJECTED FAULT"

// RequestTimeout is how long a call hangs until it is given up.
const RequestTimeout = 30 * time.Second

// Kind is what goes wrong.
type Kind int

// The kinds of faults.
const (
	// None: the call is made.
	None Kind = iota
	// Fail: the call has no effect and ends with an error that does not say so.
	Fail
	// Refuse: the call was never sent, and the error says so: no effect for a change
	// of Coder, unavailable for a read.
	Refuse
	// Lose: the call has its effect; its answer is lost.
	Lose
	// Hang: as Fail, once the clock has advanced by RequestTimeout. A stream stays open
	// and silent.
	Hang
	// HangLose: as Lose, once the clock has advanced by RequestTimeout after the effect.
	HangLose
	// Late: ends with an error at once; the effect comes once Delay has passed.
	Late
	// Duplicate: the call is made, and once more when Delay has passed, as if a proxy
	// had sent a copy. Its answer is the first one's.
	Duplicate
	// Stale: a read ends with the answer that an earlier call with the same arguments
	// got; the first such call is made.
	Stale
	// Mismatch: the call has its effect; the answer does not name what was asked for.
	Mismatch
	// RateLimit: Coder refuses with 429 and Delay, which may be 0 for none.
	RateLimit
	// Unauthorized: Coder refuses with 401.
	Unauthorized
	// Conflict: the store answers ports.ErrConflict without effect.
	Conflict
	// CrashBefore and CrashAfter panic with a Crash, before the effect or after it.
	CrashBefore
	CrashAfter
)

// Fault says what goes wrong with one call.
type Fault struct {
	Kind Kind
	// Delay is for Late, Duplicate and RateLimit.
	Delay time.Duration
	// Error, unless nil, is what Fail, Lose and Late end with instead of an error that
	// leaves the effect open: for example a refusal by Coder with some status.
	Error error
	// Meanwhile, unless nil, is called before the call, whatever the Kind: what
	// somebody else does between two calls.
	Meanwhile func()
	// Afterwards, unless nil, is called after the call, before its caller goes on.
	Afterwards func()
}

// Call is one call of a port.
type Call struct {
	// Op names the method; see the constants.
	Op string
	// N counts the calls of this Op, Total those of all, both from 1.
	N     int
	Total int
	// Changes tells that the call would change something.
	Changes bool
	// Fresh is what a read of a record or a control plane asks for.
	Fresh ports.Freshness
}

// String is how a trail names the call.
func (c Call) String() string { return fmt.Sprintf("%s #%d (call %d)", c.Op, c.N, c.Total) }

// Crash is what a crashing call panics with.
type Crash struct{ Call Call }

// String says where it crashed.
func (c Crash) String() string { return Sentinel + ": crash at " + c.Call.String() }

// Hook says what goes wrong with a call.
type Hook func(Call) Fault

// Clock is a virtual clock.
type Clock interface {
	ports.Clock
	// Advance lets time pass.
	Advance(d time.Duration)
}

// Injector makes wrappers that share one count of calls and one hook. It is safe for
// concurrent use; the hook is called by one goroutine at a time.
type Injector struct {
	clock Clock

	mu     sync.Mutex
	hook   Hook
	done   func(Call, error)
	counts map[string]int
	total  int
	// answers are what reads got, by operation and arguments.
	answers map[string]any
}

// New makes an Injector; hook may be nil.
func New(clock Clock, hook Hook) *Injector {
	return &Injector{clock: clock, hook: hook, counts: map[string]int{}, answers: map[string]any{}}
}

// SetHook replaces the hook; nil for no more faults.
func (i *Injector) SetHook(hook Hook) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.hook = hook
}

// OnDone has done called after each call that did not crash, with the error that its
// caller gets.
func (i *Injector) OnDone(done func(Call, error)) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.done = done
}

// Calls is how many calls there were.
func (i *Injector) Calls() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.total
}

// begin counts a call and asks the hook.
func (i *Injector) begin(call *Call) Fault {
	i.mu.Lock()
	i.counts[call.Op]++
	i.total++
	call.N, call.Total = i.counts[call.Op], i.total
	var fault Fault
	if i.hook != nil {
		fault = i.hook(*call)
	}
	i.mu.Unlock()
	if fault.Meanwhile != nil {
		fault.Meanwhile()
	}
	return fault
}

func (i *Injector) end(call Call, err error) {
	i.mu.Lock()
	done := i.done
	i.mu.Unlock()
	if done != nil {
		done(call, err)
	}
}

// Rules is a Hook made of rules: the first that speaks of a call decides.
type Rules []Rule

// Rule says what goes wrong with the calls of an operation.
type Rule struct {
	// Op is the operation; empty for all.
	Op string
	// First and Last bound the calls by their number: N, or Total without an Op. 0 for
	// First is 1; 0 for Last is First, so that zero values mean the first call.
	First, Last int
	Fault       Fault
}

// Always is a Last that no call exceeds.
const Always = int(^uint(0) >> 1)

// Hook is the rules as a Hook.
func (r Rules) Hook(call Call) Fault {
	for _, rule := range r {
		n := call.N
		if rule.Op == "" {
			n = call.Total
		} else if rule.Op != call.Op {
			continue
		}
		first := max(rule.First, 1)
		if n >= first && n <= max(rule.Last, first) {
			return rule.Fault
		}
	}
	return Fault{}
}
