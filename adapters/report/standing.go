package report

import (
	"fmt"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
)

// standing is how a test counts in its run.
type standing int

const (
	// stoodWell: it passed, or what its suite expects came.
	stoodWell standing = iota
	// stoodFailed: the version, or what came of it, is not what was wanted.
	stoodFailed
	// stoodError: nothing was learned about the version, or something is left behind.
	stoodError
	// stoodAside: it does not count, because it never ran or a further attempt does.
	stoodAside
)

// exitFailed is the exit code that speaks of the version (lifecycle section 8).
const exitFailed = 1

// notStarted is the kind of a test whose turn did not come.
const notStarted = "NotStarted"

// judgment is a standing with its cause: a word for machines and a sentence for people.
type judgment struct {
	standing standing
	kind     string
	message  string
}

// repeated finds the tests that a further attempt repeats, and that attempt.
func repeated(tests []Test) map[uuid.UUID]*Test {
	found := map[uuid.UUID]*Test{}
	for i := range tests {
		if of := tests[i].RetryOf; of != uuid.Nil {
			found[of] = &tests[i]
		}
	}
	return found
}

// judge tells how the test counts. next is the attempt that repeats it, nil for none.
func judge(t *Test, next *Test) judgment {
	cause := reasoned(t)
	switch {
	case t.LeakRisk:
		return judgment{stoodError, "LeakRisk", fmt.Sprintf("a workspace can still exist: %s (%s); the test: %s", t.Workspace.Name, t.Workspace.State, cause)}
	case t.Verdict == Interrupted:
		return judgment{stoodError, "Interrupted", "a signal ended the run before the verdict; the test was at: " + cause}
	case t.Verdict == Stopped:
		return judgment{stoodError, "Stopped", "the test ended without a verdict; it was at: " + cause}
	case t.Verdict == Inconclusive && next != nil:
		return judgment{stoodAside, string(t.Reason), fmt.Sprintf("inconclusive, and repeated as %s: %s", next.title(), cause)}
	case t.Verdict == NotStarted || t.Verdict == "":
		return judgment{stoodAside, notStarted, "the test was not started: " + cause}
	case t.Expected != nil:
		return judgeExpected(t, cause)
	case t.Verdict == Passed:
		return judgment{standing: stoodWell}
	case t.Verdict == Failed:
		return judgment{stoodFailed, string(t.Reason), cause}
	default:
		return judgment{stoodError, string(t.Reason), cause}
	}
}

func judgeExpected(t *Test, cause string) judgment {
	switch {
	case t.Met != nil && *t.Met:
		return judgment{standing: stoodWell, message: fmt.Sprintf("expected %s, and it came: %s", t.Expected, cause)}
	case t.Verdict == Inconclusive:
		return judgment{stoodError, string(t.Reason), fmt.Sprintf("expected %s, but nothing was learned: %s", t.Expected, cause)}
	default:
		return judgment{stoodFailed, "ExpectationNotMet", fmt.Sprintf("expected %s, but it ended as %s", t.Expected, cause)}
	}
}

// String says what is expected.
func (e Expectation) String() string {
	class := string(e.OutcomeClass)
	switch {
	case class == "" && e.Reason == "":
		return string(core.OutcomePassed)
	case class == "":
		return string(e.Reason)
	case e.Reason == "":
		return class
	default:
		return class + " with " + string(e.Reason)
	}
}

// reasoned is the reason with its message, as far as the test has them.
func reasoned(t *Test) string {
	if t.Message == "" || t.Reason == "" {
		return string(t.Reason) + t.Message
	}
	return string(t.Reason) + ": " + t.Message
}

// headline is the verdict, or that there was nothing to have one.
func (t *Test) headline() string {
	if t.Verdict == "" {
		return string(NotStarted)
	}
	return string(t.Verdict)
}

// explanation is what the reason of a test means, and the wait that used up its time. The
// reason of a test that was stopped is where it stood, which explains nothing; a pass
// needs no explanation.
func explanation(t *Test) (words core.Explanation, last core.Reason) {
	if t.Verdict == Interrupted || t.Verdict == Stopped || t.Verdict == Passed {
		return core.Explanation{}, ""
	}
	words = t.Reason.Explain()
	if t.Reason == core.ReasonDeadlineExceeded {
		last = t.LastWaitReason
	}
	return words, last
}

// whatToDo is the most urgent thing to do about a test, empty where there is none.
func whatToDo(t *Test) string {
	if t.LeakRisk {
		return t.Workspace.Reason.ExplainDeletion().WhatToDo
	}
	words, _ := explanation(t)
	return words.WhatToDo
}

// tally counts the tests of a run.
type tally struct{ all, well, failed, erred, aside int }

func (c *tally) add(s standing) {
	c.all++
	switch s {
	case stoodWell:
		c.well++
	case stoodFailed:
		c.failed++
	case stoodError:
		c.erred++
	case stoodAside:
		c.aside++
	}
}

func (run *Run) judged() ([]judgment, tally) {
	next := repeated(run.Tests)
	judgments := make([]judgment, len(run.Tests))
	var count tally
	bad := false
	for i := range run.Tests {
		judgments[i] = judge(&run.Tests[i], next[run.Tests[i].ID])
		bad = bad || judgments[i].standing == stoodFailed || judgments[i].standing == stoodError
	}
	for i := range judgments {
		// A test whose turn did not come is told by the one that kept it from coming.
		// Without one, it is itself what went wrong.
		if !bad && judgments[i].kind == notStarted {
			judgments[i].standing = stoodError
			if code := run.Tests[i].ExitCode; code != nil && *code == exitFailed {
				judgments[i].standing = stoodFailed
			}
		}
		count.add(judgments[i].standing)
	}
	return judgments, count
}
