package proof

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

// Survivors are the mutants that no test can notice, with the reason, by key.
type Survivors map[string]string

// ReadSurvivors reads a list of survivors. A mutant's key begins a line, as a run prints
// it; the indented lines below it say why it is no mistake. Lines that begin with # are
// comments.
func ReadSurvivors(path string) (Survivors, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return Survivors{}, nil
	}
	if err != nil {
		return nil, err
	}
	survivors, err := parseSurvivors(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return survivors, nil
}

func parseSurvivors(text string) (Survivors, error) {
	survivors := Survivors{}
	var keys []string // that wait for the reason
	reasoned := true
	for i, line := range strings.Split(text, "\n") {
		trimmed := strings.TrimSpace(line)
		switch {
		case trimmed == "" || strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "\t") || strings.HasPrefix(line, " "):
			if len(keys) == 0 {
				return nil, fmt.Errorf("line %d: a reason without a mutant", i+1)
			}
			reasoned = true
			for _, key := range keys {
				survivors[key] = strings.TrimSpace(survivors[key] + " " + trimmed)
			}
		default:
			if reasoned {
				keys, reasoned = nil, false
			}
			if _, twice := survivors[trimmed]; twice {
				return nil, fmt.Errorf("line %d: %s is listed twice", i+1, trimmed)
			}
			survivors[trimmed] = ""
			keys = append(keys, trimmed)
		}
	}
	if !reasoned {
		return nil, fmt.Errorf("no reason for %s", keys[len(keys)-1])
	}
	return survivors, nil
}

// Check holds results against the list: unexplained are the survivors that it lacks;
// stale are its entries for mutants that were killed now, or that the package no longer
// has.
func (s Survivors) Check(pkg *Package, results []Result) (unexplained []Result, stale []string) {
	exists := map[string]bool{}
	for i := range pkg.Mutants {
		exists[pkg.Mutants[i].Key()] = true
	}
	for key := range s {
		if !exists[key] {
			stale = append(stale, key+": there is no such mutant")
		}
	}
	for _, r := range results {
		_, listed := s[r.Mutant.Key()]
		switch {
		case r.Killer == "" && !listed:
			unexplained = append(unexplained, r)
		case r.Killer != "" && listed:
			stale = append(stale, r.Mutant.Key()+": killed by "+r.Killer)
		}
	}
	return unexplained, stale
}
