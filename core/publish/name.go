package publish

import (
	"fmt"
	"regexp"
)

// MaxNameLength bounds the name of a version.
const MaxNameLength = 64

// namePattern is Coder's rule for the names of versions (Coder fact 62).
var namePattern = regexp.MustCompile(`^[a-zA-Z0-9]+(?:[_.-][a-zA-Z0-9]+)*$`)

// maxSuffix is the last suffix that is tried for a name that is taken.
const maxSuffix = 100

// Name says how a new version is called.
type Name struct {
	// Base is the name.
	Base string
	// Fixed: a person chose it, so that a taken one is an error. Otherwise the next free
	// one of Base, Base-2, Base-3 is used.
	Fixed bool
}

// NameRule says which rule a version's name breaks, or "".
func NameRule(name string) string {
	switch {
	case len(name) > MaxNameLength:
		return fmt.Sprintf("may have %d characters at most", MaxNameLength)
	case !namePattern.MatchString(name):
		return "must be letters and digits with single dots, dashes or underscores between them"
	default:
		return ""
	}
}

// candidate is the nth name to try, counted from 1.
func (n Name) candidate(nth int) string {
	if nth == 1 {
		return n.Base
	}
	suffix := fmt.Sprintf("-%d", nth)
	return n.Base[:min(len(n.Base), MaxNameLength-len(suffix))] + suffix
}
