package cli_test

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/fakes/world"
	"github.com/assay-dev/assay/ports"
)

const leakedName = "ktt-00000000000000000000000000aa"

// leak has the tester's token make a workspace, as a test whose record is lost. Three
// hours pass.
func (s *stage) leak(version uuid.UUID, name string) world.Workspace {
	s.t.Helper()
	ws, err := s.CreateWorkspace(s.tester.ID, world.CreateWorkspace{Owner: s.tester.ID, Version: version, Name: name})
	if err != nil {
		s.t.Fatal(err)
	}
	s.clock.Advance(3 * time.Hour)
	return ws
}

// sweep are the arguments that look at workspaces older than an hour.
func sweep(more ...string) []string { return append([]string{"sweep", "--older-than", "1h"}, more...) }

func deleting(more ...string) []string {
	return sweep(append([]string{"--delete", "--dedicated-owner"}, more...)...)
}

// swept are the verdicts and results of a JSON report, by workspace name.
func (o outcome) swept(t *testing.T) map[string]string {
	t.Helper()
	var report struct {
		Workspaces []struct {
			Name, Verdict, Why, Result string
		}
	}
	if err := json.Unmarshal([]byte(o.stdout), &report); err != nil {
		t.Fatalf("stdout is no JSON document: %v\n%s", err, o.stdout)
	}
	found := map[string]string{}
	for _, w := range report.Workspaces {
		if w.Why == "" {
			t.Errorf("workspace %s has no why", w.Name)
		}
		found[w.Name] = strings.TrimSuffix(w.Verdict+" "+w.Result, " ")
	}
	return found
}

func TestSweepReports(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		version := s.template("docker", good()).ID
		s.run(sweep()...).want(t, 0, "No live workspace of tester is named like a test's.", "", "there is none")
		s.leak(version, leakedName)
		s.leak(version, "mine")
		o := s.run(sweep()...)
		o.want(t, 0, "WORKSPACE", "reading the builds of 1 workspaces", "it says what it does")
		o.want(t, 0, leakedName+"  proven   6h0m  6.0 h  coder.docker  the token's user made it", "", "age, hours and why")
		o.want(t, 0, "--delete --dedicated-owner deletes", "", "and the way on is told")
		if strings.Contains(o.stdout, "mine") {
			t.Errorf("a workspace with a name of its own is shown:\n%s", o.stdout)
		}
		s.run("sweep").want(t, 0, "unsure", "", "it is not a day old")
		document := s.run(sweep("--output", "json")...).document(t)
		owner, _ := document["owner"].(map[string]any)
		list, _ := document["workspaces"].([]any)
		if owner["name"] != "tester" || document["exitCode"] != 0.0 || document["olderThanSeconds"] != 3600.0 || len(list) != 1 {
			t.Fatalf("document %v", document)
		}
		first, _ := list[0].(map[string]any)
		if first["verdict"] != "proven" || first["ranHours"] != 5.99 || first["ageSeconds"] != 21600.0 || first["template"] != "coder.docker" {
			t.Errorf("workspace %v", first)
		}
		if len(s.live()) != 2 {
			t.Errorf("workspaces %v are left, want both", s.live())
		}
		if _, err := os.Stat(s.stateFile()); err == nil {
			t.Error("a state file was made by looking")
		}
	})
}

func TestSweepUsage(t *testing.T) {
	for _, row := range []struct {
		args []string
		says string
		why  string
	}{
		{[]string{"--delete"}, "a live test of another state file, cluster or server looks the same from here; add --dedicated-owner", "one flag is not enough"},
		{[]string{"--dedicated-owner"}, "--dedicated-owner: says nothing without --delete", "it would be taken for a delete"},
		{[]string{"--older-than", "-1h"}, "--older-than: -1h0m0s: must be 0 or more", "no age is negative"},
		{[]string{"--cleanup-timeout", "0s"}, "--cleanup-timeout: 0s: must be more than 0", "as for run"},
		{[]string{leakedName}, "takes flags only", "it cannot be told which"},
	} {
		onStage(t, func(t *testing.T, s *stage) {
			s.leak(s.template("docker", good()).ID, leakedName)
			s.run(append([]string{"sweep"}, row.args...)...).want(t, 2, "", row.says, row.why)
			if len(s.live()) != 1 {
				t.Errorf("workspaces %v are left, want the one", s.live())
			}
		})
	}
}

func TestSweepDeletesWhatIsProven(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		docker := s.template("docker", good())
		bad := s.template("bad", world.BuildPlan{Run: time.Second, Outcome: world.Fails})
		admin := s.AddUser(world.UserSpec{Username: "admin", SiteRoles: []string{world.RoleOwner}})
		s.leak(docker.ID, leakedName)
		s.leak(bad.ID, "ktt-00000000000000000000000000bb")
		used := s.leak(docker.ID, "ktt-00000000000000000000000000cc")
		foreign, err := s.CreateWorkspace(admin.ID, world.CreateWorkspace{Owner: s.tester.ID, Version: docker.ID, Name: "ktt-00000000000000000000000000dd"})
		if err != nil {
			t.Fatal(err)
		}
		s.leak(docker.ID, "mine")
		s.killAt = 10 * time.Second
		s.run(testActive()...)
		s.clock.Advance(3 * time.Hour)
		if _, err := s.People(admin.ID).Stop(used.ID); err != nil {
			t.Fatal(err)
		}

		o := s.run(deleting("--output", "json")...)
		o.want(t, 0, "", "Deleting", "the progress is the lifecycle's")
		want := map[string]string{
			leakedName:                         "proven deleted",
			"ktt-00000000000000000000000000bb": "proven deleted",
			"ktt-00000000000000000000000000cc": "unsure",
			foreign.Name:                       "foreign",
			workspaceName:                      "claimed",
		}
		got := o.swept(t)
		for name, verdict := range want {
			if got[name] != verdict {
				t.Errorf("%s is %q, want %q", name, got[name], verdict)
			}
		}
		if len(s.live()) != 4 {
			t.Errorf("workspaces %v are left, want four", s.live())
		}
		for _, change := range s.Changes() {
			if strings.Contains(change.Op, "orphan") {
				t.Errorf("an orphan delete: %+v", change)
			}
		}
		records, err := s.store().List(t.Context())
		if err != nil || len(records) != 1 || records[0].ID.String() != testID {
			t.Errorf("records %v, error %v; want the test's alone: claims go with their workspaces", records, err)
		}
	})
}

// TestSweepSeesWhatCoderStopped leaves a workspace alone until its time is over: the stop
// build is in its owner's name.
func TestSweepSeesWhatCoderStopped(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		version := s.template("docker", good()).ID
		admin := s.AddUser(world.UserSpec{Username: "admin", SiteRoles: []string{world.RoleOwner}})
		_, err := s.CreateWorkspace(admin.ID, world.CreateWorkspace{Owner: s.tester.ID, Version: version, Name: leakedName, TTL: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		s.clock.Advance(3 * time.Hour)
		s.env["CODER_SESSION_TOKEN"] = s.MintToken(admin.ID)
		o := s.run(sweep("--owner", "tester", "--output", "json")...)
		if got := o.swept(t)[leakedName]; got != "proven" {
			t.Errorf("it is %q, want proven\n%s", got, o.stdout)
		}
		if !strings.Contains(o.stdout, `"ranHours": 1`) {
			t.Errorf("it ran for an hour:\n%s", o.stdout)
		}
		s.run(deleting("--owner", "tester")...).want(t, 0, "proven, deleted", "", "it is as lost as a running one")
		s.leavesNothing(t)
	})
}

// afterLooking does something once the builds of a workspace were read.
type afterLooking struct {
	ports.CodeRunner
	do func()
}

func (a *afterLooking) Builds(ctx context.Context, workspace uuid.UUID) ([]core.Build, error) {
	defer a.do()
	return a.CodeRunner.Builds(ctx, workspace)
}

func TestSweepTouchesOnlyWhatIsStillProven(t *testing.T) {
	for _, row := range []struct {
		name string
		edit func(s *stage, ws uuid.UUID) error
		says string
		why  string
	}{
		{"renamed", func(s *stage, ws uuid.UUID) error { return s.People(uuid.Nil).Rename(ws, "mine") }, "is left alone: it is unsure now: it no longer has the name", "somebody has a use for it"},
		{"renamed to another test's name", func(s *stage, ws uuid.UUID) error {
			return s.People(uuid.Nil).Rename(ws, "ktt-00000000000000000000000000bb")
		}, "is left alone", "it is not what was shown"},
		{"built by somebody", func(s *stage, ws uuid.UUID) error {
			_, err := s.People(uuid.Nil).Stop(ws)
			return err
		}, "is left alone: it is unsure now: user", "somebody has a use for it"},
		{"owner gets a role", func(s *stage, _ uuid.UUID) error {
			s.ChangeUser(s.tester.ID, world.UserSpec{SiteRoles: []string{"auditor"}})
			return nil
		}, "is left alone: it is unsure now: its owner", "it may be a person's"},
		{"claimed by a test", func(s *stage, ws uuid.UUID) error {
			record := core.Record{ID: uuid.New(), Generation: 1, CreatedAt: s.clock.Now(), Spec: core.Spec{Template: "coder.docker"}}
			record.Status.WorkspaceID = ws
			_, err := s.store().Create(s.t.Context(), record)
			return err
		}, "is left alone: it is claimed now", "its test looks after it"},
		{"another deployment answers", func(s *stage, _ uuid.UUID) error {
			s.People(uuid.Nil).RenameDeployment("another")
			return nil
		}, "another deployment or another user answers than before", "the ID means something else there"},
	} {
		t.Run(row.name, func(t *testing.T) {
			onStage(t, func(t *testing.T, s *stage) {
				ws := s.leak(s.template("docker", good()).ID, leakedName)
				s.store()
				s.wrap = func(inner ports.CodeRunner) ports.CodeRunner {
					return &afterLooking{CodeRunner: inner, do: sync.OnceFunc(func() {
						if err := row.edit(s, ws.ID); err != nil {
							t.Error(err)
						}
					})}
				}
				o := s.run(deleting()...)
				o.want(t, o.code, "proven", row.says, row.why)
				if live := s.Live(); len(live) != 1 || live[0].Latest.Transition == core.TransitionDelete {
					t.Errorf("workspaces %v: it was touched: %s", live, row.why)
				}
				want := 0
				if row.name == "another deployment answers" {
					want = 4
				}
				if o.code != want {
					t.Errorf("exit code %d, want %d: %s", o.code, want, row.why)
				}
			})
		})
	}
}

func TestSweepAfterAKill(t *testing.T) {
	for _, row := range stagesOf[3:] {
		t.Run(row.name, func(t *testing.T) {
			onStage(t, func(t *testing.T, s *stage) {
				s.leak(s.template("docker", good()).ID, leakedName)
				s.killAt = row.at - 33*time.Second
				s.run(deleting()...).want(t, 4, "proven, exists", `"assay resume" finishes it`, "a workspace is left, and the way out is told")
				s.run(sweep("--output", "json")...).want(t, 0, `"verdict": "claimed"`, "", "its record knows it")
				s.run(deleting()...).want(t, 0, "claimed", "", "nobody deletes it twice")
				s.run("resume").want(t, 3, "STOPPED  sweep: coder.docker", "", "a record without a verdict")
				s.leavesNothing(t)
				s.run("list").want(t, 0, "No tests yet", "", "its record goes with its workspace")
			})
		})
	}
}

func TestSweepSignals(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		version := s.template("docker", good()).ID
		s.leak(version, leakedName)
		s.signalAt(2*time.Second, syscall.SIGINT)
		s.run(deleting()...).want(t, 0, "proven, deleted", "stopping", "what is begun is finished")
		s.leavesNothing(t)

		s.leak(version, leakedName)
		s.signals <- syscall.SIGTERM
		o := s.run(deleting()...)
		o.want(t, 143, "", "interrupted before anything was started", "nothing was asked of Coder")

		s.signalAt(2*time.Second, syscall.SIGINT)
		s.signalAt(2600*time.Millisecond, syscall.SIGINT)
		s.run(deleting()...).want(t, 4, "proven, exists", "a second signal ended the run", "nothing is waited for")
		s.run("resume")
		s.leavesNothing(t)
	})
}

func TestSweepThatCannotDelete(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		version := s.template("docker", good(), func(v *world.VersionSpec) {
			v.Delete = []world.BuildPlan{{Outcome: world.Fails}, {Outcome: world.Fails}, {Run: time.Second}}
		}).ID
		s.leak(version, leakedName)
		s.run(deleting("--cleanup-timeout", "30s")...).want(t, 4, "proven, exists", "longer than --cleanup-timeout", "the delete build fails")
		s.run("resume", "--cleanup-timeout", "30s").want(t, 4, "STOPPED", "longer than --cleanup-timeout", "what is being deleted has a limit from the start")
		s.run("resume").want(t, 3, "STOPPED", "", "the third build succeeds")
		s.leavesNothing(t)
	})
}

func TestSweepThatCannotLook(t *testing.T) {
	for _, row := range []struct {
		name string
		edit func(s *stage)
		args []string
		says string
		why  string
	}{
		{"unreachable", func(s *stage) { s.env["CODER_URL"] = "https://other.example.com" }, nil, "Coder cannot be reached", "nothing was looked at"},
		{"bad token", func(s *stage) { s.env["CODER_SESSION_TOKEN"] = "aaaaaaaaaa-bbbbbbbbbbbbbbbbbbbbbb" }, nil, "does not accept the token", "as above"},
		{"unknown owner", func(*stage) {}, []string{"--owner", "nobody"}, `no user "nobody"`, "as above"},
		{"unknown owner by ID", func(*stage) {}, []string{"--owner", uuid.NewString()}, "that the token's user can read", "as above"},
		{"owner of whom nothing can be read", func(s *stage) {
			s.AddUser(world.UserSpec{Username: "other"})
			admin := s.AddUser(world.UserSpec{Username: "admin", SiteRoles: []string{"user-admin"}})
			s.env["CODER_SESSION_TOKEN"] = s.MintToken(admin.ID)
		}, []string{"--owner", "other"}, "may not read all workspaces of the owner", "an empty list would prove nothing"},
	} {
		t.Run(row.name, func(t *testing.T) {
			onStage(t, func(t *testing.T, s *stage) {
				row.edit(s)
				s.run(deleting(row.args...)...).want(t, 3, "", row.says, row.why)
				s.storedNothing(t, row.why)
			})
		})
	}
}
