// Command bench measures a server in this process with many stored tests: requests a second
// and how long the slowest of a hundred takes, for get, list and create, and the memory.
// Nothing leaves this machine. It prints numbers and judges none.
package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/adapters/sqlstore"
	"github.com/assay-dev/assay/adapters/systemclock"
	server "github.com/assay-dev/assay/apps/http"
	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/fakes/runner"
)

func main() {
	tests := flag.Int("tests", 100_000, "how many `TESTS` are stored before the first request")
	seconds := flag.Int("seconds", 10, "for how many `SECONDS` each kind of request is sent")
	clients := flag.Int("clients", 8, "how many `CLIENTS` send requests at once")
	flag.Parse()
	if err := run(os.Stdout, *tests, time.Duration(*seconds)*time.Second, *clients); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// run measures on the PostgreSQL database that ASSAY_DATABASE_URL names, which must be
// empty, else on an SQLite file of its own.
func run(out io.Writer, tests int, length time.Duration, clients int) (err error) {
	folder, err := os.MkdirTemp("", "assay-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	ids, err := fill(out, folder, tests)
	if err != nil {
		return err
	}
	address, stop, err := serve(folder)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	ask := &asker{base: address + "/api/v1", client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: clients}}}
	for _, kind := range []struct {
		name string
		do   func(i int) error
	}{
		{"get", func(i int) error { return ask.do(http.MethodGet, "/tests/"+ids[i*7919%len(ids)].String(), nil) }},
		{"list", func(int) error { return ask.do(http.MethodGet, "/tests?limit=50", nil) }},
		{"list, filtered", func(int) error {
			return ask.do(http.MethodGet, "/tests?class=TemplateFailed&template=acme.template-7&limit=50", nil)
		}},
		{"create", func(int) error {
			return ask.do(http.MethodPost, "/tests", map[string]any{"template": "acme.docker", "version": map[string]any{"active": true}})
		}},
	} {
		if err := measure(out, kind.name, length, clients, kind.do); err != nil {
			return err
		}
	}
	runtime.GC()
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	fmt.Fprintf(out, "%-16s %8.1f MB in use, %.1f MB from the system\n", "memory", float64(memory.HeapAlloc)/1e6, float64(memory.Sys)/1e6)
	return nil
}

// fill stores finished tests: nine of ten passed.
func fill(out io.Writer, folder string, tests int) ([]uuid.UUID, error) {
	ctx, clock := context.Background(), systemclock.New()
	store, err := open(ctx, folder)
	if err != nil {
		return nil, err
	}
	began, now, ids := time.Now(), clock.Now().UTC().Truncate(time.Millisecond), make([]uuid.UUID, 0, tests)
	for i := range tests {
		record := core.Record{ID: uuid.New(), Generation: 1, CreatedAt: now.Add(-time.Duration(i) * time.Minute), Spec: core.Spec{
			Template: fmt.Sprintf("acme.template-%d", i%50), Version: core.VersionSelector{Active: true}, TimeoutSeconds: 900, ControlPlaneRef: "main",
		}}
		record.Status.Phase, record.Status.Reason, record.Status.OutcomeClass = core.PhaseSucceeded, core.ReasonSucceeded, core.OutcomePassed
		if i%10 == 0 {
			record.Status.Phase, record.Status.Reason, record.Status.OutcomeClass = core.PhaseFailed, core.ReasonBuildFailed, core.OutcomeTemplateFailed
		}
		record.Status.SetCondition(now, core.Condition{Type: core.ConditionWorkspaceDeleted, Status: core.ConditionTrue, Reason: core.ReasonDeleted})
		if _, err := store.Create(ctx, record); err != nil {
			return nil, errors.Join(err, store.Close())
		}
		ids = append(ids, record.ID)
	}
	fmt.Fprintf(out, "%-16s %8d tests in %.0f s\n", "stored", tests, time.Since(began).Seconds())
	return ids, store.Close()
}

func open(ctx context.Context, folder string) (*sqlstore.Store, error) {
	if address := os.Getenv("ASSAY_DATABASE_URL"); address != "" {
		return sqlstore.OpenPostgres(ctx, address, systemclock.New())
	}
	return sqlstore.Open(ctx, filepath.Join(folder, "server.db"), systemclock.New())
}

// serve starts the server. Its Coder answers nobody, so tests that are made wait.
func serve(folder string) (address string, stop func() error, err error) {
	planes := filepath.Join(folder, "planes.yaml")
	text := "controlPlanes:\n  main: {url: \"http://127.0.0.1:1\", tokenEnv: CODER_TOKEN}\n"
	if err := os.WriteFile(planes, []byte(text), 0o600); err != nil {
		return "", nil, err
	}
	args := []string{"--control-planes", planes, "--listen", "127.0.0.1:0", "--requests-per-second", "1e9", "--burst", "1000000000", "--log-level", "error"}
	if os.Getenv("ASSAY_DATABASE_URL") == "" {
		args = append(args, "--database", filepath.Join(folder, "server.db"))
	}
	listening := make(chan net.Addr, 1)
	env := server.SystemEnv(args)
	env.Random, env.Dial = rand.Reader, runner.NewDirectory().Dial
	env.LookupEnv = func(name string) (string, bool) {
		if name == "CODER_TOKEN" {
			return "token", true
		}
		return os.LookupEnv(name)
	}
	env.Listen = func(ctx context.Context, at string) (net.Listener, error) {
		listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", at)
		if err == nil {
			listening <- listener.Addr()
		}
		return listener, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan int, 1)
	go func() { ended <- server.Run(ctx, env) }()
	select {
	case at := <-listening:
		return "http://" + at.String(), func() error {
			cancel()
			if code := <-ended; code != 0 {
				return fmt.Errorf("the server ended with exit code %d", code)
			}
			return nil
		}, nil
	case code := <-ended:
		cancel()
		return "", nil, fmt.Errorf("the server ended with exit code %d", code)
	}
}

type asker struct {
	base   string
	client *http.Client
}

func (a *asker) do(method, path string, body any) error {
	var text io.Reader
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			return err
		}
		text = bytes.NewReader(encoded)
	}
	request, err := http.NewRequestWithContext(context.Background(), method, a.base+path, text)
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := a.client.Do(request)
	if err != nil {
		return err
	}
	answer, err := io.ReadAll(response.Body)
	err = errors.Join(err, response.Body.Close())
	if err == nil && response.StatusCode > 299 {
		err = fmt.Errorf("%s %s: %d: %s", method, path, response.StatusCode, answer)
	}
	return err
}

// measure sends requests of a kind for a time and prints what came of it.
func measure(out io.Writer, name string, length time.Duration, clients int, do func(i int) error) error {
	var (
		mu      sync.Mutex
		took    []time.Duration
		failed  error
		sending sync.WaitGroup
	)
	began := time.Now()
	for client := range clients {
		sending.Go(func() {
			var own []time.Duration
			var err error
			for i := client; err == nil && time.Since(began) < length; i += clients {
				sent := time.Now()
				err = do(i)
				own = append(own, time.Since(sent))
			}
			mu.Lock()
			defer mu.Unlock()
			took, failed = append(took, own...), errors.Join(failed, err)
		})
	}
	sending.Wait()
	if failed != nil {
		return fmt.Errorf("%s: %w", name, failed)
	}
	slices.Sort(took)
	fmt.Fprintf(out, "%-16s %8.0f requests/s   median %6.2f ms   p99 %7.2f ms   %d clients\n", name, float64(len(took))/time.Since(began).Seconds(),
		milliseconds(took[len(took)/2]), milliseconds(took[len(took)*99/100]), clients)
	return nil
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
