package main

import (
	"context"
	"regexp"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/fakes/sim"
	"github.com/assay-dev/assay/ports"
)

func TestCommand(t *testing.T) {
	for _, row := range []struct {
		why  string
		args []string
		exit int
		// out and err are patterns of what is printed.
		out, err string
	}{
		{
			why: "seeds are played and counted", args: []string{"-seeds", "20", "-workers", "1"}, exit: exitHolds,
			out: `^seeds +20, from 1; again: .*-seeds 20 -from 1\nruns +20 in .* a second\nrequests +\d+ to Coder, in \d+ steps\nfaults +\d+.*\ncrashes +\d+\nviolations +0\n$`,
		},
		{
			why: "random seeds say how to play them again", args: []string{"-seeds", "2", "-from", "random"}, exit: exitHolds,
			out: `^seeds +2, from (\d+); again: go run ./fakes/sim/cmd/sim -seeds 2 -from \d+\n`,
		},
		{why: "results are counted when asked for", args: []string{"-seeds", "20", "-v"}, exit: exitHolds, out: `\d+  Succeeded Deleted`},
		{why: "a seed is replayed with its trail", args: []string{"-replay", "7"}, exit: exitHolds, out: `seed 7: (.|\n)*00:00.*\n(.|\n)*replay: .* -replay 7\n$`},
		{why: "help is no error", args: []string{"--help"}, exit: exitHolds, err: `(?s)decided by its seed.*-from seed`},
		{why: "an unknown flag", args: []string{"-sed", "1"}, exit: exitUsage, err: `not defined: -sed`},
		{why: "an argument", args: []string{"20"}, exit: exitUsage, err: `only flags`},
		{why: "a seed that is no number", args: []string{"-from", "soon"}, exit: exitUsage, err: `-from is a seed.*"soon"`},
		{why: "seed 0, which could not be replayed", args: []string{"-from", "0"}, exit: exitUsage, err: `1 or more`},
		{why: "nothing to do", args: []string{"-seeds", "0"}, exit: exitUsage, err: `begin at 1`},
		{why: "a profile that cannot be written", args: []string{"-cpuprofile", "/"}, exit: exitUsage, err: `CPU profile`},
	} {
		t.Run(row.why, func(t *testing.T) {
			var out, problems strings.Builder
			if exit := (&command{out: &out, err: &problems}).run(row.args); exit != row.exit {
				t.Errorf("exit %d, want %d", exit, row.exit)
			}
			if row.out != "" && !regexp.MustCompile(row.out).MatchString(out.String()) {
				t.Errorf("printed\n%s\nwant %s", &out, row.out)
			}
			if row.err != "" && !regexp.MustCompile(row.err).MatchString(problems.String()) {
				t.Errorf("complained\n%s\nwant %s", &problems, row.err)
			}
		})
	}
}

// TestCommandTellsOfAViolation plays seeds with a store that forgets the hold.
func TestCommandTellsOfAViolation(t *testing.T) {
	var out, problems strings.Builder
	c := &command{out: &out, err: &problems, mutant: &sim.Mutant{Store: forgetful}}
	if exit := c.run([]string{"-seeds", "50", "-failures", "1", "-workers", "1"}); exit != exitBroken {
		t.Errorf("exit %d, want %d", exit, exitBroken)
	}
	for _, want := range []string{"violations  1\n", "I6 held while a workspace can exist: test ", "replay: " + again + " -replay "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, &out)
		}
	}
}

// forgetful is a store that takes no hold and says that it did.
func forgetful(inner ports.WorkspaceStore) ports.WorkspaceStore {
	return &forgetfulStore{WorkspaceStore: inner, held: map[uuid.UUID]bool{}}
}

type forgetfulStore struct {
	ports.WorkspaceStore
	held map[uuid.UUID]bool
}

func (s *forgetfulStore) TakeHold(_ context.Context, record core.Record) (core.Record, error) {
	s.held[record.ID] = true
	record.Held = true
	return record, nil
}

func (s *forgetfulStore) Load(ctx context.Context, id uuid.UUID, fresh ports.Freshness) (core.Record, error) {
	record, err := s.WorkspaceStore.Load(ctx, id, fresh)
	record.Held = record.Held || s.held[id]
	return record, err
}
