package cli_test

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/adapters/sqlstore"
	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/fakes/world"
)

// stagesOf a good test: when it is in which.
var stagesOf = []struct {
	name string
	at   time.Duration
}{
	{"build queued", 500 * time.Millisecond},
	{"build running", 10 * time.Second},
	{"agents starting", 25 * time.Second},
	{"delete queued", 33*time.Second + 500*time.Millisecond},
	{"delete running", 35 * time.Second},
}

func TestResumeAfterAKill(t *testing.T) {
	for _, row := range stagesOf {
		t.Run(row.name, func(t *testing.T) {
			onStage(t, func(t *testing.T, s *stage) {
				s.template("docker", good())
				s.killAt = row.at
				s.run(testActive()...).want(t, 4, "", `"assay resume" finishes it`, "a workspace is left, and the way out is told")
				if len(s.live()) != 1 {
					t.Fatalf("workspaces %v, want the one that the kill left", s.live())
				}
				s.run("resume").want(t, 0, "PASSED  coder.docker version v1", "", "the test goes on where it was")
				s.leavesNothing(t)
				s.run("resume").want(t, 0, "Nothing was resumed.", "", "a finished test is finished")
			})
		})
	}
}

func TestResumeAfterASecondSignal(t *testing.T) {
	for _, row := range stagesOf {
		t.Run(row.name, func(t *testing.T) {
			onStage(t, func(t *testing.T, s *stage) {
				s.template("docker", good())
				s.signalAt(row.at, syscall.SIGINT)
				s.signalAt(row.at+600*time.Millisecond, syscall.SIGINT)
				s.run(testActive()...).want(t, 4, "INTERRUPTED", "a second signal ended the run", "the workspace is left")
				o := s.run("resume", "--output", "json")
				o.want(t, 3, `"state": "deleted"`, "", "what was asked to stop has no verdict")
				s.leavesNothing(t)
				s.run("list").want(t, 0, "No tests yet", "", "its record goes with its workspace")
			})
		})
	}
}

func TestResumeFinishesACleanupThatWasGivenUp(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		s.template("docker", world.BuildPlan{Run: time.Second, Outcome: world.Fails}, func(v *world.VersionSpec) {
			v.Delete = []world.BuildPlan{{Outcome: world.Fails}, {Outcome: world.Fails}, {Run: time.Second}}
		})
		s.run(testActive("--cleanup-timeout", "1s")...).want(t, 4, "BuildFailed", "longer than --cleanup-timeout", "the delete build fails")
		s.run("resume", "--cleanup-timeout", "1s").want(t, 4, "BuildFailed", "longer than --cleanup-timeout", "and fails again")
		s.run("resume").want(t, 1, "FAILED", "", "a final test keeps its verdict")
		s.leavesNothing(t)
	})
}

// lease has another process hold the lease of the stage's test when the next run
// begins. One that lives renews it.
func (s *stage) lease(holder string, lives bool) {
	s.t.Helper()
	store := s.store()
	renew := func() {
		if _, err := store.RenewLeases(s.t.Context(), holder, s.clock.Now().Add(15*time.Second)); err != nil {
			s.t.Error(err)
		}
	}
	want := core.Lease{Test: uuid.MustParse(testID), Holder: holder, Until: s.clock.Now().Add(15 * time.Second)}
	if _, err := store.TakeLease(s.t.Context(), want, core.Lease{}); err != nil {
		s.t.Fatal(err)
	}
	if lives {
		// While nobody else writes: in a bubble nobody can wait for SQLite's lock.
		s.at[7*time.Second] = renew
	}
}

// store opens the state file.
func (s *stage) store() *sqlstore.Store {
	s.t.Helper()
	store, err := sqlstore.Open(s.t.Context(), s.stateFile(), s.clock)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = store.Close() })
	return store
}

func TestResumeTakesOnlyWhatNobodyRuns(t *testing.T) {
	for _, row := range []struct {
		name           string
		lives          bool
		stdout, stderr string
		left           int
		why            string
	}{
		{"a process that lives", true, "Nothing was resumed.", "is not resumed: process 7 on ci runs it", 1, "it renews its lease"},
		{"a process that was killed", false, "PASSED", "waiting to see whether process 7 on ci still runs it", 0, "nobody renews its lease"},
	} {
		t.Run(row.name, func(t *testing.T) {
			onStage(t, func(t *testing.T, s *stage) {
				s.template("docker", good())
				s.killAt = 10 * time.Second
				s.run(testActive()...)
				s.lease("process 7 on ci", row.lives)
				s.run("resume").want(t, 0, row.stdout, row.stderr, row.why)
				if len(s.live()) != row.left {
					t.Errorf("workspaces %v, want %d: %s", s.live(), row.left, row.why)
				}
			})
		})
	}
}

func TestResumeIsInterrupted(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		s.template("docker", good())
		s.killAt = 10 * time.Second
		s.run(testActive()...)
		s.lease("process 7 on ci", false)
		s.signalAt(5*time.Second, syscall.SIGTERM)
		s.run("resume").want(t, 143, "", "interrupted before anything was started", "nothing was asked of Coder")
		s.signalAt(12*time.Second, syscall.SIGTERM)
		s.run("resume").want(t, 143, "INTERRUPTED", "stopping: ", "the test that it resumed has no verdict")
		s.leavesNothing(t)
	})
}

func TestResumeNeedsTheRightConnection(t *testing.T) {
	const other = "https://other.example.com"
	for _, row := range []struct {
		name   string
		env    map[string]string
		args   []string
		code   int
		stderr string
		why    string
	}{
		{
			"another deployment",
			map[string]string{"CODER_URL": other},
			nil,
			4, "it runs against " + address + ", not against " + other + ": give --url " + address, "its token is none of this deployment's business",
		},
		{"no token", map[string]string{"CODER_SESSION_TOKEN": ""}, nil, 4, "no token: give --token-file", "the state file has none"},
		{
			"a password in the address",
			map[string]string{"CODER_URL": "https://jane:hunter2@other.example.com"},
			nil,
			4, "CODER_URL: ", "it is refused, and not shown",
		},
		{"a line end after the address", map[string]string{"CODER_URL": address + "\n"}, nil, 0, "", "it is no difference"},
		{"no address", map[string]string{"CODER_URL": ""}, nil, 0, "", "the only deployment of the state file is meant"},
		{
			"the address by flag",
			map[string]string{"CODER_URL": other},
			[]string{"--url", address + "/"},
			0, "", "a flag wins over the environment, and a slash is no difference",
		},
		{"unknown test", nil, []string{"abc"}, 2, `no test with the ID "abc"`, "a typing mistake must not resume everything"},
		{"one test", nil, []string{testID[:6]}, 0, "", "the beginning of its ID is enough"},
		{"no time for the cleanup", nil, []string{"--cleanup-timeout", "0s"}, 2, "--cleanup-timeout: 0s: must be more than 0", "as for run"},
	} {
		t.Run(row.name, func(t *testing.T) {
			onStage(t, func(t *testing.T, s *stage) {
				s.template("docker", good())
				s.killAt = 10 * time.Second
				s.run(testActive()...)
				for name, value := range row.env {
					s.env[name] = value
				}
				o := s.run(append([]string{"resume"}, row.args...)...)
				o.want(t, row.code, "", row.stderr, row.why)
				if strings.Contains(o.stderr, "hunter2") {
					t.Errorf("a password is shown: %s", o.stderr)
				}
				if left := len(s.live()) > 0; left != (row.code != 0) {
					t.Errorf("a workspace is left: %v: %s", left, row.why)
				}
			})
		})
	}
}

func TestResumeOfARecordWithoutDeployment(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		s.template("docker", good())
		s.killAt = 10 * time.Second
		s.run(testActive()...)
		db, err := sql.Open("sqlite", s.stateFile())
		if err != nil {
			t.Fatal(err)
		}
		_, err = db.Exec(`DELETE FROM control_planes`)
		if err := errors.Join(err, db.Close()); err != nil {
			t.Fatal(err)
		}
		s.env["CODER_URL"] = ""
		s.run("resume").want(t, 4, "", "does not say which deployment it runs against: give --url", "no address is guessed")
		s.run("resume", "--url", address).want(t, 0, "PASSED", "", "the pinned deployment is proof that it is the right one")
		s.leavesNothing(t)
	})
}

func TestResumeWithNothingToDo(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		s.run("resume").want(t, 0, "Nothing was resumed: there is no state file ", "", "no state file is no error, and no proof that nothing is left")
		s.run("resume", "--output", "json").want(t, 0, "\"tests\": [],", "", "a program wants an empty list")
		s.storedNothing(t, "there was nothing to store")
		s.template("docker", world.BuildPlan{Run: time.Second, Outcome: world.Fails})
		s.run(testActive("--keep-on-failure")...).want(t, 1, ": retained", "", "somebody wants to look at it")
		s.run("resume").want(t, 0, "Nothing was resumed.", "", "what is kept on purpose is finished")
		if len(s.live()) != 1 {
			t.Errorf("workspaces %v, want the one that is kept", s.live())
		}
	})
}

func TestForget(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		s.run("forget", testID).want(t, 2, "", `no test with the ID "`+testID, "there is no state file")
		s.storedNothing(t, "there was nothing to forget")
		s.template("docker", good())
		s.run(testActive()...)
		o := s.run("forget", testID[:4])
		o.want(t, 0, "Test "+testID+" is forgotten.\n", "", "a finished test")
		if o.stderr != "" {
			t.Errorf("%q is told, want nothing: no workspace can remain", o.stderr)
		}
		s.run("list").want(t, 0, "No tests yet", "", "its record is gone")
		s.run("forget", testID).want(t, 2, "", "no test with the ID", "it is gone already")

		s.killAt = 10 * time.Second
		s.run(testActive()...)
		s.lease("process 7 on ci", true)
		s.run("forget", testID).want(t, 3, "", "is not forgotten: process 7 on ci runs it; end that first", "it would be made again")
		s.clock.Advance(2 * time.Minute)
		s.run("forget", testID).want(t, 0, "is forgotten", "A workspace may remain: look for "+workspaceName, "a person decided so, and is told what remains")
		s.run("list").want(t, 0, "No tests yet", "", "the hold does not keep it")
		if len(s.live()) != 1 {
			t.Errorf("workspaces %v: Coder must not be asked anything", s.live())
		}
		s.run("resume").want(t, 0, "Nothing was resumed", "", "what is forgotten is not resumed")
	})
}

// refusing is a standard output that cannot be written to.
type refusing struct{ err error }

func (r refusing) Write([]byte) (int, error) { return 0, r.err }

var _ io.Writer = refusing{}

func TestVerdictThatCannotBeWritten(t *testing.T) {
	for _, row := range []struct {
		name  string
		err   error
		start world.BuildPlan
		code  int
		told  bool
		why   string
	}{
		{"closed pipe", syscall.EPIPE, good(), 0, false, "whoever read it has left, as head does"},
		{"full disk", syscall.ENOSPC, good(), 3, true, "silence must not be taken for a pass"},
		{"full disk and a failure", syscall.ENOSPC, world.BuildPlan{Outcome: world.Fails}, 1, true, "the verdict is worse than not knowing it"},
	} {
		for _, output := range []string{"text", "json"} {
			t.Run(row.name+" "+output, func(t *testing.T) {
				onStage(t, func(t *testing.T, s *stage) {
					s.template("docker", row.start)
					s.stdout = refusing{row.err}
					o := s.run(testActive("--output", output)...)
					if told := strings.Contains(o.stderr, "the verdict could not be written"); o.code != row.code || told != row.told {
						t.Errorf("exit code %d, told %v; want %d, %v: %s\n%s", o.code, told, row.code, row.told, row.why, o.stderr)
					}
					s.leavesNothing(t)
					s.run("list").want(t, 0, "docker", "", "the verdict is in the state file all the same")
				})
			})
		}
	}
}

func TestKilledRunsAreKnown(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		s.template("docker", good())
		s.killAt = 10 * time.Second
		s.run(testActive()...)
		record, err := s.store().List(context.Background())
		if err != nil || len(record) != 1 {
			t.Fatalf("%d records, error %v", len(record), err)
		}
		plane, err := s.store().ControlPlane(context.Background(), record[0].Spec.ControlPlaneRef)
		if err != nil || plane.Connection.URL != address || plane.Policy.OwnerUserID != s.tester.ID.String() {
			t.Errorf("its deployment is %+v, error %v", plane, err)
		}
	})
}

func TestResumeStops(t *testing.T) {
	for _, row := range stagesOf {
		t.Run(row.name, func(t *testing.T) {
			onStage(t, func(t *testing.T, s *stage) {
				s.template("docker", good())
				s.killAt = row.at
				s.run(testActive()...)
				s.run("resume", "--stop").want(t, 3, "STOPPED  coder.docker", "", "what was asked to stop has no verdict")
				s.leavesNothing(t)
			})
		})
	}
}
