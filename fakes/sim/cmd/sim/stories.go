package main

import (
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"time"

	"github.com/assay-dev/assay/core/lifecycle/scenarios"
	"github.com/assay-dev/assay/fakes/scenario"
	"github.com/assay-dev/assay/fakes/sim"
)

// ways are all that can happen at a call of a story.
var ways = []sim.Way{sim.CrashBefore, sim.CrashAfter, sim.SecondSteps, sim.SecondFinishes}

// tellings is what the workers add up.
type tellings struct {
	mu                                  sync.Mutex
	stories, points, skipped, runs, bad int
}

// tellStories disturbs every scenario file at every call and prints what breaks an
// invariant.
func (c *command) tellStories() int {
	names, err := fs.Glob(scenarios.Files, "*.txt")
	if err != nil {
		return c.usage("list scenarios: %v", err)
	}
	began := time.Now()
	var t tellings
	stop := c.progress(func() string { return t.soFar(len(names)) })
	queue := make(chan string)
	var group sync.WaitGroup
	for range c.workers {
		group.Go(func() {
			for name := range queue {
				report, err := disturb(name)
				c.add(&t, name, report, err)
			}
		})
	}
	for _, name := range names {
		queue <- name
	}
	close(queue)
	group.Wait()
	stop()
	row := func(name, format string, args ...any) {
		fmt.Fprintf(c.out, "%-13s %s\n", name, fmt.Sprintf(format, args...))
	}
	row("stories", "%d, told %d times in %s", t.stories, t.runs, time.Since(began).Round(time.Millisecond))
	row("crash points", "%d, each with a crash before and after it and a second engine in two ways (%d more only repeat a step)",
		t.points, t.skipped)
	row("violations", "%d", t.bad)
	if t.bad > 0 {
		return exitBroken
	}
	return exitHolds
}

// add counts a story and prints what it broke.
func (c *command) add(t *tellings, name string, report sim.CrashReport, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stories++
	t.points, t.skipped, t.runs, t.bad = t.points+report.Points, t.skipped+report.Skipped, t.runs+report.Runs, t.bad+len(report.Findings)
	if err != nil {
		t.bad++
		fmt.Fprintf(c.err, "%s: %v\n", name, err)
	}
	for _, f := range report.Findings {
		fmt.Fprintf(c.out, "%s: %s at call %d (%s):\n%s\n%v\n\n", name, f.Way, f.Call, f.Where, strings.Join(f.Trail, "\n"), f.Violations)
	}
}

func (t *tellings) soFar(stories int) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return fmt.Sprintf("%d of %d stories, %d crash points, %d violations", t.stories, stories, t.points, t.bad)
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
