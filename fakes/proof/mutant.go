package proof

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Mutant is one change of the source.
type Mutant struct {
	// ID is what ASSAY_MUTANT selects, from 1 on. It depends on the whole source; Key
	// does not.
	ID int
	// File is the base name, Line where the change is.
	File string
	Line int
	// Func is the function or package variable, "step.wait" for a method.
	Func string
	// Operator is the kind of change.
	Operator Operator
	// Was and Becomes are the changed text before and after, each on one line.
	Was, Becomes string

	// nth counts the mutants of a file that look the same, from 1 on.
	nth int
	// from, to and text are the change in the original source.
	from, to int
	text     string
}

// Operator is a kind of change.
type Operator string

// The operators.
const (
	// Compare swaps a comparison: == and !=, < and <=, and the opposite of an order. An
	// order of times counts (Before, After), and so does equality that ignores case.
	Compare Operator = "compare"
	// Logic swaps && and ||, leaves out one of their operands, or removes a !.
	Logic Operator = "logic"
	// Condition makes a condition always true or never: the body of an if, a case or a
	// loop is removed, or always runs. Together they are stronger than the negation of
	// the condition, which is not tried then.
	Condition Operator = "condition"
	// Number changes a constant integer, duration or float, and arithmetic with it.
	Number Operator = "number"
	// Boolean flips true and false.
	Boolean Operator = "boolean"
	// Return has a function say "does not apply" (nil, or the zero values and false) or
	// drop its error.
	Return Operator = "return"
	// Delete leaves out a statement: a call, an assignment or one side of it, a break
	// or a continue.
	Delete Operator = "delete"
	// Field leaves out a field of a composite literal.
	Field Operator = "field"
	// Case drops a value of a switch, or all passes of a loop.
	Case Operator = "case"
	// Table drops an entry of a package variable that is a list or a map, or swaps two
	// neighbors of a list.
	Table Operator = "table"
)

// Key names a mutant so that changes elsewhere in the source leave the name alone.
func (m *Mutant) Key() string {
	key := fmt.Sprintf("%s %s: %s -> %s", m.File, m.Func, m.Was, m.Becomes)
	if m.nth > 1 {
		key += fmt.Sprintf(" (%d)", m.nth)
	}
	return key
}

// String shows where the mutant is, and its key.
func (m *Mutant) String() string {
	return fmt.Sprintf("%5d  %s:%d %s", m.ID, m.File, m.Line, strings.TrimPrefix(m.Key(), m.File+" "))
}

// longest bounds Was and Becomes, in bytes.
const longest = 120

// oneLine puts source text on one line and bounds it.
func oneLine(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) <= longest {
		return text
	}
	end := longest
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}
