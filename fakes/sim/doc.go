// Package sim is the proof that nothing leaks: it runs the engine of core/lifecycle
// through everything that can go wrong and holds what happened against the invariants
// I1 to I9 of docs/reference/lifecycle.md (section 9).
//
// There are two ways to make things go wrong:
//
//   - CrashEverywhere tells a scenario file again and again, with the engine crashing at
//     the first call of any port, at the second, and so on, before and after the call
//     has its effect; and with a second engine that works on the same record meanwhile.
//   - Play runs a Plan: some tests on one deployment on virtual time, with people and
//     faults in their way. NewPlan makes a plan of a seed, which decides everything, so
//     that a seed that breaks an invariant can be replayed, and Shrink drops from its
//     plan what does not matter.
//
// Both write down what happens in a History, and the Checks look at nothing else.
//
// What the lifecycle does not promise (the paragraph after the invariants) is not made
// to happen here, or the test that it happened to is excused by name (History.Excuse):
//
//   - a create that takes effect after the settle window, and a sender that is frozen
//     for longer than it: delays together stay below the window;
//   - a copy of a create that takes effect after another copy was answered or took
//     effect: copies take effect before the answer;
//   - a hold that somebody removes by hand, and a create that is on its way while the
//     address begins to lead to another deployment: excused;
//   - a deployment that lies consistently: no stale answer about who is asked, what may
//     be read, and the list of workspaces that is the last proof of absence; rights
//     change between steps, not between two requests of one.
package sim
