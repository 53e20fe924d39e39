// Command soak has three servers share a store while servers are killed, requests to Coder
// are lost, and tests are made and stopped. At the end nothing may be lost or left: every
// test that was made has its verdict or went as it was asked to, no workspace is left, and
// none was made twice. Coder is a pretended one; nothing leaves this machine.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/assay-dev/assay/adapters/systemclock"
	server "github.com/assay-dev/assay/apps/http"
	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/core/lifecycle"
	"github.com/assay-dev/assay/fakes/coderd"
	"github.com/assay-dev/assay/fakes/world"
)

// envServer has this program be a server, whose waits are as short as the soak needs.
const envServer = "ASSAY_SOAK_SERVER"

// settle is the settle window of the servers: how long a create without an answer is
// looked for.
const settle = 20 * time.Second

func main() {
	if os.Getenv(envServer) != "" {
		os.Exit(serve())
	}
	length := flag.Duration("for", 10*time.Minute, "how long faults go on")
	flag.Parse()
	if err := run(os.Stdout, *length); err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
}

func serve() int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	env := server.SystemEnv(os.Args[1:])
	env.Options = lifecycle.Options{SettleWindow: settle, RunningPoll: time.Second, InputsPoll: time.Second, CleanupPoll: time.Second}
	return server.Run(ctx, env)
}

// soak is what is under way.
type soak struct {
	folder  string
	coder   *httptest.Server
	world   *world.World
	owner   world.User
	servers [3]*process

	mu sync.Mutex
	// faulty: requests to Coder are lost.
	faulty bool
	// made are the tests, with whether they were asked to stop.
	made  map[string]bool
	kills int
	lost  int
	sent  int
}

func run(out io.Writer, length time.Duration) (err error) {
	folder, err := os.MkdirTemp("", "assay-soak-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	s := &soak{folder: folder, made: map[string]bool{}, faulty: true}
	if err := s.begin(); err != nil {
		return err
	}
	defer s.end()
	fmt.Fprintf(out, "three servers for %v on %s\n", length, s.store())
	began := time.Now()
	for time.Since(began) < length {
		if err := s.disturb(); err != nil {
			return err
		}
		pause(time.Duration(200+rand.IntN(600)) * time.Millisecond)
	}
	s.mu.Lock()
	s.faulty = false
	s.mu.Unlock()
	if err := s.settled(); err != nil {
		return err
	}
	fmt.Fprintf(out, "%d tests, %d servers killed, %d of %d requests to Coder lost: nothing is lost or left\n", len(s.made), s.kills, s.lost, s.sent)
	return nil
}

func (s *soak) store() string {
	if os.Getenv("ASSAY_DATABASE_URL") != "" {
		return "PostgreSQL"
	}
	return "one SQLite file"
}

// begin starts Coder and the servers.
func (s *soak) begin() error {
	clock := systemclock.New()
	s.world = world.New(clock)
	s.owner = s.world.AddUser(world.UserSpec{Username: "tester"})
	template := s.world.AddTemplate(world.TemplateSpec{Organization: s.owner.Memberships[0].Organization.ID, Name: "webapp"})
	second := time.Second
	for name, agent := range map[string]world.AgentPlan{"good": world.ReadyAgent("dev", second, second), "broken": world.FailingAgent("dev", second, second)} {
		s.world.AddVersion(world.VersionSpec{
			Template: template.ID, Name: name, Start: []world.BuildPlan{{Queue: second, Run: 2 * second, Agents: []world.AgentPlan{agent}}},
			Delete: []world.BuildPlan{{Run: second}},
		})
	}
	s.coder = httptest.NewServer(coderd.New(s.world, clock, coderd.WithHook(s.lose)))
	token, planes := filepath.Join(s.folder, "token"), filepath.Join(s.folder, "planes.yaml")
	text := fmt.Sprintf("controlPlanes:\n  main: {url: %q, tokenFile: %q, ownerUserID: %s}\n", s.coder.URL, token, s.owner.ID)
	err := errors.Join(os.WriteFile(token, []byte(s.world.MintToken(s.owner.ID)), 0o600), os.WriteFile(planes, []byte(text), 0o600))
	for i := range s.servers {
		if err == nil {
			s.servers[i], err = s.start()
		}
	}
	return err
}

func (s *soak) end() {
	for _, p := range s.servers {
		if p != nil {
			p.kill()
		}
	}
	s.coder.CloseClientConnections()
	s.coder.Close()
}

// lose is what happens to a request to Coder.
func (s *soak) lose(r *http.Request) coderd.Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent++
	chance := 0.01
	if r.Method != http.MethodGet {
		chance = 0.15
	}
	if !s.faulty || strings.HasSuffix(r.URL.Path, "/watch") || rand.Float64() >= chance {
		return coderd.Fault{}
	}
	s.lost++
	kinds := []coderd.Fault{{Kind: coderd.Drop}, {Kind: coderd.Drop, Effect: true}, {Kind: coderd.Page}, {Kind: coderd.Page, Effect: true}, {Kind: coderd.Cut}}
	return kinds[rand.IntN(len(kinds))]
}

// process is a running server.
type process struct {
	command *exec.Cmd
	url     string
	log     bytes.Buffer
}

func (s *soak) start() (*process, error) {
	path, err := os.Executable()
	if err != nil {
		return nil, err
	}
	args := []string{"--control-planes", filepath.Join(s.folder, "planes.yaml"), "--listen", "127.0.0.1:0", "--requests-per-second", "1e6", "--burst", "1000000"}
	if os.Getenv("ASSAY_DATABASE_URL") == "" {
		args = append(args, "--database", filepath.Join(s.folder, "server.db"))
	}
	p := &process{command: exec.CommandContext(context.Background(), path, args...)}
	p.command.Env = append(os.Environ(), envServer+"=yes")
	out, err := p.command.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := p.command.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		var line struct{ Msg, Address string }
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Msg == "listening" {
			p.url = line.Address
			break
		}
		p.log.Write(append(lines.Bytes(), '\n'))
	}
	if p.url == "" {
		return nil, fmt.Errorf("a server did not start:\n%s", p.log.String())
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	return p, nil
}

func (p *process) kill() {
	_ = p.command.Process.Kill()
	_ = p.command.Wait()
}

// disturb does one thing that somebody does to servers.
func (s *soak) disturb() error {
	i := rand.IntN(len(s.servers))
	switch chance := rand.Float64(); {
	case chance < 0.7:
		version := []string{"good", "broken"}[rand.IntN(2)]
		var made struct{ ID string }
		status, err := s.servers[i].call(http.MethodPost, "/tests", map[string]any{"template": "coder.webapp", "version": map[string]any{"name": version}}, &made)
		if err != nil || status != http.StatusCreated {
			return fmt.Errorf("a test was not made: %d %w", status, err)
		}
		s.made[made.ID] = false
	case chance < 0.8:
		for id, stopped := range s.made {
			if !stopped {
				if _, err := s.servers[i].call(http.MethodDelete, "/tests/"+id, nil, nil); err != nil {
					return err
				}
				s.made[id] = true
				break
			}
		}
	case chance < 0.9:
		s.servers[i].kill()
		s.kills++
		var err error
		s.servers[i], err = s.start()
		return err
	}
	return nil
}

func (p *process) call(method, path string, body, into any) (status int, err error) {
	var text io.Reader
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			return 0, err
		}
		text = bytes.NewReader(encoded)
	}
	request, err := http.NewRequestWithContext(context.Background(), method, p.url+"/api/v1"+path, text)
	if err != nil {
		return 0, err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	defer func() { _ = response.Body.Close() }()
	if into != nil && response.StatusCode < 300 {
		err = json.NewDecoder(response.Body).Decode(into)
	}
	return response.StatusCode, err
}

// patience is how long the tests may take to end once the faults are over: the leases of
// killed servers, a settle window, builds, and waits between deletes that failed.
const patience = 5 * time.Minute

// settled waits until every test ended, and looks for what is lost or left.
func (s *soak) settled() error {
	left := map[string]bool{}
	for id := range s.made {
		left[id] = true
	}
	for began := time.Now(); len(left) > 0; pause(time.Second) {
		if time.Since(began) > patience {
			return fmt.Errorf("after %v %d tests have no end: %v", patience, len(left), left)
		}
		for id := range left {
			var test struct {
				Finished bool
				Phase    core.Phase
			}
			status, err := s.servers[0].call(http.MethodGet, "/tests/"+id, nil, &test)
			switch {
			case err != nil:
				return err
			case status == http.StatusNotFound && s.made[id], status == http.StatusOK && test.Finished && test.Phase.Final() && !s.made[id]:
				delete(left, id)
			case status == http.StatusNotFound:
				return fmt.Errorf("test %s is lost", id)
			}
		}
	}
	if live := s.world.EveryLive(); len(live) != 0 {
		return fmt.Errorf("%d workspaces are left, the first one is %s", len(live), live[0].Name)
	}
	names := map[string]int{}
	for _, one := range s.world.Every() {
		if names[one.Name]++; names[one.Name] > 1 {
			return fmt.Errorf("workspace %s was made twice", one.Name)
		}
	}
	return nil
}

// pause waits.
func pause(d time.Duration) { <-time.After(d) }
