package sim_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/core/lifecycle"
	"github.com/assay-dev/assay/fakes/sim"
	"github.com/assay-dev/assay/ports"
)

// sabotages break an order or a rule on purpose, from outside the engine. Each must make
// the named invariant fail within the first seeds.
var sabotages = []struct {
	check  string
	why    string
	mutant sim.Mutant
}{
	{"I3", "the create is sent before its marker is stored", sim.Mutant{Store: broken(func(s *brokenStore) {
		s.save = func(record core.Record) (core.Record, error) {
			if st := &record.Status; st.HasMarker() && st.WorkspaceID == uuid.Nil {
				return record, nil // not stored
			}
			return s.WorkspaceStore.Save(context.Background(), record)
		}
	})}},
	{"I6", "the hold is forgotten", sim.Mutant{Store: broken(func(s *brokenStore) {
		held := map[uuid.UUID]bool{}
		s.takeHold = func(record core.Record) (core.Record, error) {
			held[record.ID] = true
			return record, nil
		}
		s.load = func(record core.Record) core.Record {
			record.Held = record.Held || held[record.ID]
			return record
		}
	})}},
	{"I6", "the hold is released with the verdict", sim.Mutant{Store: broken(func(s *brokenStore) {
		s.save = func(record core.Record) (core.Record, error) {
			stored, err := s.WorkspaceStore.Save(context.Background(), record)
			if err == nil && stored.Status.Phase.Final() {
				return s.WorkspaceStore.ReleaseHold(context.Background(), stored)
			}
			return stored, err
		}
	})}},
	{"I3", "a create is sent again while the marker is set", sim.Mutant{Store: broken(func(s *brokenStore) {
		s.load = func(record core.Record) core.Record {
			if st := &record.Status; st.WorkspaceID == uuid.Nil && !st.Phase.Final() {
				st.CreateAttemptID, st.CreateAttemptTime, st.CreateAnswer = uuid.Nil, time.Time{}, nil
			}
			return record
		}
	})}},
	{"I3", "an adapter sends a create again whose answer is missing", sim.Mutant{Coder: lying(func(l *liar) {
		l.create = func(request core.CreateRequest) (core.Workspace, error) {
			workspace, err := l.CodeRunner.CreateWorkspace(context.Background(), request)
			if core.AsFailure(err) != nil && core.AsFailure(err).Class == core.FailureUncertain {
				return l.CodeRunner.CreateWorkspace(context.Background(), request)
			}
			return workspace, err
		}
	})}},
	{"I9", "an adapter sends a delete twice", sim.Mutant{Coder: lying(func(l *liar) {
		l.remove = func(workspace uuid.UUID) (core.Build, error) {
			_, _ = l.CodeRunner.DeleteWorkspace(context.Background(), workspace)
			return l.CodeRunner.DeleteWorkspace(context.Background(), workspace)
		}
	})}},
	{"I1", "a 404 counts as proof that the workspace is gone", sim.Mutant{Coder: lying(func(l *liar) {
		l.workspace = func(id uuid.UUID, workspace core.Workspace, err error) (core.Workspace, error) {
			if core.AsFailure(err) != nil && core.AsFailure(err).Class == core.FailureNotFound {
				return core.Workspace{ID: id, Deleted: true}, nil
			}
			return workspace, err
		}
	})}},
	{"I1", "absence is believed before the settle window is over", sim.Mutant{
		Options: &lifecycle.Options{SettleWindow: time.Second, RunningPoll: 5 * time.Second},
	}},
	{"I1", "absence is believed without the right to see what is there", sim.Mutant{Coder: lying(func(l *liar) {
		l.mayRead = func(bool, error) (bool, error) { return true, nil }
		l.owner = func(id uuid.UUID, owner core.User, _ error) (core.User, error) {
			owner.ID = id
			return owner, nil
		}
		l.owned = func(all []core.Workspace, _ error) ([]core.Workspace, error) { return all, nil }
	})}},
	{"I1", "a look-alike is not looked for", sim.Mutant{Coder: lying(func(l *liar) {
		l.owned = func([]core.Workspace, error) ([]core.Workspace, error) { return nil, nil }
	})}},
	{"I1", "another deployment passes for the pinned one", sim.Mutant{Coder: lying(func(l *liar) {
		l.deployment = func(d core.Deployment, err error) (core.Deployment, error) {
			d.ID = "always the same"
			return d, err
		}
	})}},
	{"I2", "provenance is not asked for", sim.Mutant{Coder: lying(func(l *liar) {
		l.builds = func(builds []core.Build, err error) ([]core.Build, error) {
			forged := append([]core.Build(nil), builds...)
			for i := range forged {
				forged[i].InitiatorID, forged[i].VersionID = l.operator, l.version
				forged[i].CreatedAt = forged[i].CreatedAt.Add(24 * time.Hour)
			}
			return forged, err
		}
	})}},
	{"I4", "a decision on a stale record is stored", sim.Mutant{Store: broken(func(s *brokenStore) {
		s.save = func(record core.Record) (core.Record, error) {
			stored, err := s.WorkspaceStore.Save(context.Background(), record)
			if !errors.Is(err, ports.ErrConflict) {
				return stored, err
			}
			now, err := s.WorkspaceStore.Load(context.Background(), record.ID, ports.Live)
			if err != nil {
				return record, err
			}
			record.Revision = now.Revision
			return s.WorkspaceStore.Save(context.Background(), record)
		}
	})}},
	{"I6", "a conflict drops the outcome of a create, and its marker", sim.Mutant{Store: broken(func(s *brokenStore) {
		s.save = func(record core.Record) (core.Record, error) {
			stored, err := s.WorkspaceStore.Save(context.Background(), record)
			if !errors.Is(err, ports.ErrConflict) || record.Status.WorkspaceID == uuid.Nil {
				return stored, err
			}
			now, err := s.WorkspaceStore.Load(context.Background(), record.ID, ports.Live)
			if err != nil || now.Status.WorkspaceID != uuid.Nil {
				return now, err
			}
			now.Status.CreateAttemptID, now.Status.CreateAttemptTime = uuid.Nil, time.Time{}
			return s.WorkspaceStore.Save(context.Background(), now)
		}
	})}},
	{"I5", "a delete build that runs counts as one that succeeded", sim.Mutant{Coder: lying(func(l *liar) {
		l.workspace = func(_ uuid.UUID, workspace core.Workspace, err error) (core.Workspace, error) {
			if workspace.Latest.Transition == core.TransitionDelete && workspace.Latest.Job.Status.Active() {
				workspace.Latest.Job.Status = core.JobSucceeded
			}
			return workspace, err
		}
	})}},
	{"I8", "an adapter repeats what a template printed", sim.Mutant{Coder: lying(func(l *liar) {
		l.workspace = func(_ uuid.UUID, workspace core.Workspace, err error) (core.Workspace, error) {
			var f *core.Failure
			if errors.As(err, &f) {
				return workspace, &core.Failure{Class: f.Class, Op: f.Op, Status: f.Status, Message: "c4nary: " + f.Message}
			}
			return workspace, err
		}
	})}},
}

// enough seeds for each of them.
const enough = 6000

func TestSabotageIsSeen(t *testing.T) {
	for _, sabotage := range sabotages {
		t.Run(sabotage.why, func(t *testing.T) {
			t.Parallel()
			for seed := uint64(1); seed <= enough; seed++ {
				plan := sim.NewPlan(seed)
				for _, v := range sim.Play(plan, false, &sabotage.mutant).Violations {
					if !strings.HasPrefix(v.Check, sabotage.check+" ") {
						continue
					}
					if testing.Verbose() {
						plan = sim.Shrink(plan, v.Check, 300, &sabotage.mutant)
						outcome := sim.Play(plan, true, &sabotage.mutant)
						t.Logf("seed %d shows it:\n%s%s\n%v", seed, plan, strings.Join(outcome.Trail, "\n"), outcome.Violations[0])
					}
					return
				}
			}
			t.Errorf("%s holds in %d runs although %s", sabotage.check, enough, sabotage.why)
		})
	}
}

// TestSabotageByRestart: I7 compares runs, so it has a test of its own: an engine that
// starts over gives up what is under way.
func TestSabotageByRestart(t *testing.T) {
	mutant := &sim.Mutant{Store: broken(func(s *brokenStore) {
		first := true
		s.load = func(record core.Record) core.Record {
			if st := &record.Status; first && st.Phase == core.PhaseRunning {
				st.Phase, st.Reason = core.PhaseFailed, core.ReasonCreateRejected
			}
			first = false
			return record
		}
	})}
	report, err := sim.CrashEverywhere(story(t, "010-pass.txt"), sim.CrashOptions{Ways: []sim.Way{sim.CrashAfter}, Every: 5, Mutant: mutant})
	if err != nil {
		t.Fatal(err)
	}
	for _, finding := range report.Findings {
		if strings.Contains(fmt.Sprint(finding.Violations), "I7") {
			return
		}
	}
	t.Error("I7 holds although a restart changes the verdict")
}

// brokenStore is a store with some of its methods replaced.
type brokenStore struct {
	ports.WorkspaceStore
	load     func(core.Record) core.Record
	save     func(core.Record) (core.Record, error)
	takeHold func(core.Record) (core.Record, error)
}

func broken(how func(*brokenStore)) func(ports.WorkspaceStore) ports.WorkspaceStore {
	return func(inner ports.WorkspaceStore) ports.WorkspaceStore {
		s := &brokenStore{WorkspaceStore: inner}
		how(s)
		return s
	}
}

func (s *brokenStore) Load(ctx context.Context, id uuid.UUID, fresh ports.Freshness) (core.Record, error) {
	record, err := s.WorkspaceStore.Load(ctx, id, fresh)
	if err == nil && s.load != nil {
		record = s.load(record)
	}
	return record, err
}

func (s *brokenStore) Save(ctx context.Context, record core.Record) (core.Record, error) {
	if s.save != nil {
		return s.save(record)
	}
	return s.WorkspaceStore.Save(ctx, record)
}

func (s *brokenStore) TakeHold(ctx context.Context, record core.Record) (core.Record, error) {
	if s.takeHold != nil {
		return s.takeHold(record)
	}
	return s.WorkspaceStore.TakeHold(ctx, record)
}

// liar is a CodeRunner with some of its answers replaced.
type liar struct {
	ports.CodeRunner
	// operator and version are what was read last.
	operator, version uuid.UUID
	create            func(core.CreateRequest) (core.Workspace, error)
	remove            func(uuid.UUID) (core.Build, error)
	workspace         func(uuid.UUID, core.Workspace, error) (core.Workspace, error)
	builds            func([]core.Build, error) ([]core.Build, error)
	owned             func([]core.Workspace, error) ([]core.Workspace, error)
	owner             func(uuid.UUID, core.User, error) (core.User, error)
	mayRead           func(bool, error) (bool, error)
	deployment        func(core.Deployment, error) (core.Deployment, error)
}

func lying(how func(*liar)) func(ports.CodeRunner) ports.CodeRunner {
	return func(inner ports.CodeRunner) ports.CodeRunner {
		l := &liar{CodeRunner: inner}
		how(l)
		return l
	}
}

func (l *liar) Operator(ctx context.Context) (core.User, error) {
	user, err := l.CodeRunner.Operator(ctx)
	l.operator = user.ID
	return user, err
}

func (l *liar) Version(ctx context.Context, id uuid.UUID) (core.TemplateVersion, error) {
	version, err := l.CodeRunner.Version(ctx, id)
	l.version = version.ID
	return version, err
}

func (l *liar) VersionByName(ctx context.Context, template uuid.UUID, name string) (core.TemplateVersion, error) {
	version, err := l.CodeRunner.VersionByName(ctx, template, name)
	l.version = version.ID
	return version, err
}

func (l *liar) CreateWorkspace(ctx context.Context, request core.CreateRequest) (core.Workspace, error) {
	if l.create != nil {
		return l.create(request)
	}
	return l.CodeRunner.CreateWorkspace(ctx, request)
}

func (l *liar) DeleteWorkspace(ctx context.Context, workspace uuid.UUID) (core.Build, error) {
	if l.remove != nil {
		return l.remove(workspace)
	}
	return l.CodeRunner.DeleteWorkspace(ctx, workspace)
}

func (l *liar) Workspace(ctx context.Context, id uuid.UUID) (core.Workspace, error) {
	workspace, err := l.CodeRunner.Workspace(ctx, id)
	if l.workspace != nil {
		return l.workspace(id, workspace, err)
	}
	return workspace, err
}

func (l *liar) Builds(ctx context.Context, workspace uuid.UUID) ([]core.Build, error) {
	builds, err := l.CodeRunner.Builds(ctx, workspace)
	if l.builds != nil {
		return l.builds(builds, err)
	}
	return builds, err
}

func (l *liar) OwnedWorkspaces(ctx context.Context, owner core.User) ([]core.Workspace, error) {
	all, err := l.CodeRunner.OwnedWorkspaces(ctx, owner)
	if l.owned != nil {
		return l.owned(all, err)
	}
	return all, err
}

func (l *liar) Owner(ctx context.Context, id uuid.UUID) (core.User, error) {
	owner, err := l.CodeRunner.Owner(ctx, id)
	if l.owner != nil {
		return l.owner(id, owner, err)
	}
	return owner, err
}

func (l *liar) MayReadWorkspaces(ctx context.Context, owner, organization uuid.UUID) (bool, error) {
	may, err := l.CodeRunner.MayReadWorkspaces(ctx, owner, organization)
	if l.mayRead != nil {
		return l.mayRead(may, err)
	}
	return may, err
}

func (l *liar) Deployment(ctx context.Context) (core.Deployment, error) {
	d, err := l.CodeRunner.Deployment(ctx)
	if l.deployment != nil {
		return l.deployment(d, err)
	}
	return d, err
}
