package proof

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"
)

// Proof runs mutants against suites.
type Proof struct {
	Package *Package

	suites []Suite
	folder string
}

// New compiles the instrumented package into the test binaries of the suites and makes
// sure that they pass while no mutant is active. The root is the module's folder; note
// hears of each thing done. Close removes what was built.
func New(ctx context.Context, root string, pkg *Package, suites []Suite, note func(string)) (*Proof, error) {
	folder, err := os.MkdirTemp("", "proof-")
	if err != nil {
		return nil, err
	}
	p := &Proof{Package: pkg, folder: folder}
	overlay, err := pkg.Overlay(folder)
	if err == nil {
		p.suites, err = prepare(ctx, root, overlay, folder, suites, note)
	}
	if err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// Close removes the test binaries.
func (p *Proof) Close() { _ = os.RemoveAll(p.folder) }

// Result is what became of a mutant.
type Result struct {
	Mutant *Mutant
	// Killer is the suite that noticed it; empty for a survivor.
	Killer string
	Took   time.Duration
}

// Run tries the suites on one mutant until one notices it. The output of that one goes
// to out; if out is nil, it is stopped at its first failure.
func (p *Proof) Run(ctx context.Context, m *Mutant, out io.Writer) (Result, error) {
	began := time.Now()
	for i := range p.suites {
		s := p.suites[i]
		if out != nil {
			s.Sign = ""
		}
		var output bytes.Buffer
		noticed, err := s.run(ctx, m.ID, &output)
		if err != nil {
			return Result{}, err
		}
		if noticed && out != nil {
			_, err = out.Write(output.Bytes())
		}
		if noticed {
			return Result{Mutant: m, Killer: s.Name, Took: time.Since(began)}, err
		}
	}
	return Result{Mutant: m, Took: time.Since(began)}, nil
}

// All runs mutants, some at once, and returns the results in the order of their IDs. It
// calls done after each, one call at a time.
func (p *Proof) All(ctx context.Context, mutants []*Mutant, workers int, done func(Result)) ([]Result, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	queue := make(chan *Mutant)
	var mu sync.Mutex
	var results []Result
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for m := range queue {
				result, err := p.Run(ctx, m, nil)
				if err != nil {
					cancel(fmt.Errorf("mutant %d: %w", m.ID, err))
					return
				}
				mu.Lock()
				results = append(results, result)
				done(result)
				mu.Unlock()
			}
		})
	}
	for _, m := range mutants {
		select {
		case queue <- m:
		case <-ctx.Done():
		}
	}
	close(queue)
	group.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	slices.SortFunc(results, func(a, b Result) int { return a.Mutant.ID - b.Mutant.ID })
	return results, nil
}
