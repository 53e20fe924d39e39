package main

import (
	"fmt"
	"io"
	"io/fs"
	"strings"
	"sync"

	"github.com/assay-dev/assay/core/lifecycle/scenarios"
	"github.com/assay-dev/assay/fakes/scenario"
	"github.com/assay-dev/assay/fakes/sim"
)

// ways are all that can happen at a call of a story.
var ways = []sim.Way{sim.CrashBefore, sim.CrashAfter, sim.SecondSteps, sim.SecondFinishes}

// stories disturbs every scenario file at every call and prints what breaks an invariant.
func stories(out, problems io.Writer, workers int) int {
	names, err := fs.Glob(scenarios.Files, "*.txt")
	if err != nil {
		fmt.Fprintln(problems, "list scenarios:", err)
		return 2
	}
	var mu sync.Mutex
	var points, skipped, runs, broken int
	queue := make(chan string)
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for name := range queue {
				report, err := disturb(name)
				mu.Lock()
				points, skipped, runs, broken = points+report.Points, skipped+report.Skipped, runs+report.Runs, broken+len(report.Findings)
				if err != nil {
					broken++
					fmt.Fprintf(problems, "%s: %v\n", name, err)
				}
				for _, f := range report.Findings {
					fmt.Fprintf(out, "%s: %s at call %d (%s):\n%s\n%v\n\n", name, f.Way, f.Call, f.Where, strings.Join(f.Trail, "\n"), f.Violations)
				}
				mu.Unlock()
			}
		})
	}
	for _, name := range names {
		queue <- name
	}
	close(queue)
	group.Wait()
	fmt.Fprintf(out, "%d stories: %d calls disturbed, each in %d ways (%d more calls only repeat a step); %d runs, %d break an invariant\n",
		len(names), points, len(ways), skipped, runs, broken)
	if broken > 0 {
		return 1
	}
	return 0
}

func disturb(name string) (sim.CrashReport, error) {
	text, err := fs.ReadFile(scenarios.Files, name)
	if err != nil {
		return sim.CrashReport{}, err
	}
	script, err := scenario.Parse(string(text))
	if err != nil {
		return sim.CrashReport{}, err
	}
	return sim.CrashEverywhere(script, sim.CrashOptions{Ways: ways})
}
