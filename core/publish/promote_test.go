package publish_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/core/publish"
	"github.com/assay-dev/assay/fakes/runner"
	"github.com/assay-dev/assay/fakes/world"
)

// byOthers has somebody else promote a version.
func (f *fixture) byOthers(version uuid.UUID) {
	f.t.Helper()
	if err := f.People(uuid.Nil).Promote(f.template.ID, version); err != nil {
		f.t.Fatal(err)
	}
}

func TestPromote(t *testing.T) {
	refusedOnce := func(func() error) error { return &core.Failure{Class: core.FailureNoEffect, Op: "promote"} }
	lost := func(sent bool) func(func() error) error {
		return func(send func() error) error {
			if sent {
				if err := send(); err != nil {
					return err
				}
			}
			return errLost
		}
	}
	for _, row := range []struct {
		why string
		// stage gets v2, the version to promote, and v3, another one.
		stage    func(f *fixture, v2, v3 uuid.UUID)
		expected func(f *fixture) uuid.UUID
		promote  []func(func() error) error
		active   string
		done     bool
		changed  bool
		reason   string
		wrong    error
		sent     int
	}{
		{why: "it becomes active", active: "v2", done: true, changed: true, sent: 1},
		{
			why: "the expected one is active", expected: func(f *fixture) uuid.UUID { return f.v1.ID },
			active: "v2", done: true, changed: true, sent: 1,
		},
		{
			why: "somebody promoted another one: nothing is sent", expected: func(f *fixture) uuid.UUID { return f.v1.ID },
			stage:  func(f *fixture, _, v3 uuid.UUID) { f.byOthers(v3) },
			active: "v3", reason: `version "v3" is active and not "v1" as expected: somebody else promoted it`,
		},
		{
			why: "it is active already", stage: func(f *fixture, v2, _ uuid.UUID) { f.byOthers(v2) },
			active: "v2", done: true,
		},
		{
			why: "it is active already, which is as good as expected", expected: func(f *fixture) uuid.UUID { return f.v1.ID },
			stage: func(f *fixture, v2, _ uuid.UUID) { f.byOthers(v2) }, active: "v2", done: true,
		},
		{
			why: "somebody promotes another one right after",
			stage: func(f *fixture, _, v3 uuid.UUID) {
				f.coder.promote = []func(func() error) error{func(send func() error) error {
					defer f.byOthers(v3)
					return send()
				}}
			},
			active: "v3", reason: `version "v3" is active: somebody else promoted it right after this promotion`, sent: 1,
		},
		{why: "the answer is lost, it had effect", promote: []func(func() error) error{lost(true)}, active: "v2", done: true, changed: true, sent: 1},
		{why: "the answer is lost, it had none", promote: []func(func() error) error{lost(false)}, active: "v2", done: true, changed: true, sent: 2},
		{why: "the connection is refused at first", promote: []func(func() error) error{refusedOnce}, active: "v2", done: true, changed: true, sent: 2},
		{
			why: "no answer ever comes", promote: []func(func() error) error{lost(false), lost(false), lost(false)},
			active: "v1", wrong: errLost, sent: 3,
		},
		{
			why:      "somebody promotes while the answer is lost",
			expected: func(f *fixture) uuid.UUID { return f.v1.ID },
			stage: func(f *fixture, _, v3 uuid.UUID) {
				f.coder.promote = []func(func() error) error{func(func() error) error { f.byOthers(v3); return errLost }}
			},
			active: "v3", reason: "somebody else promoted it", sent: 1,
		},
		{
			why: "a plain member may not: nothing is sent",
			stage: func(f *fixture, _, _ uuid.UUID) {
				f.coder.Runner = runner.New(f.World, f.AddUser(world.UserSpec{Username: "tester"}).ID)
			},
			active: "v1", wrong: publish.ErrNoRight,
		},
		{
			why: "Coder refuses what looked well", wrong: publish.ErrRefused, active: "v1", sent: 1,
			stage: func(f *fixture, v2, _ uuid.UUID) {
				f.coder.beforePromote = func() {
					if err := f.SetArchived(f.admin.ID, v2, true); err != nil {
						f.t.Error(err)
					}
				}
			},
		},
	} {
		t.Run(strings.ReplaceAll(row.why, " ", "-"), func(t *testing.T) {
			inWorld(t, func(t *testing.T, f *fixture) {
				v2, v3 := f.add("v2"), f.add("v3")
				f.coder.promote = row.promote
				if row.stage != nil {
					row.stage(f, v2.ID, v3.ID)
				}
				expected := uuid.Nil
				if row.expected != nil {
					expected = row.expected(f)
				}
				promotion, err := f.promote(v2.ID, expected)
				if !errors.Is(err, row.wrong) || promotion.Active != row.done || promotion.Changed != row.changed || !strings.Contains(promotion.Reason, row.reason) || (promotion.Reason == "") != (row.reason == "") {
					t.Errorf("promotion %+v, error %v", promotion, err)
				}
				if f.active() != row.active || f.coder.promotes != row.sent {
					t.Errorf("%q is active after %d requests, want %q after %d", f.active(), f.coder.promotes, row.active, row.sent)
				}
				if row.changed && (promotion.Was.Name != "v1" || promotion.Now.Name != "v2") {
					t.Errorf("was %q, now %q", promotion.Was.Name, promotion.Now.Name)
				}
			})
		})
	}
}

func TestUnfitVersions(t *testing.T) {
	for _, row := range []struct {
		why  string
		make func(f *fixture) uuid.UUID
		want error
		says string
	}{
		{"it was never made", func(*fixture) uuid.UUID { return uuid.New() }, publish.ErrNotFound, "no version"},
		{"it is archived", func(f *fixture) uuid.UUID {
			v2 := f.add("v2")
			if err := f.SetArchived(f.admin.ID, v2.ID, true); err != nil {
				f.t.Fatal(err)
			}
			return v2.ID
		}, publish.ErrRefused, `version "v2" is archived: unarchive it first`},
		{"its import failed", func(f *fixture) uuid.UUID {
			return f.add("v2", func(spec *world.VersionSpec) { spec.Import.Ends = core.JobFailed }).ID
		}, publish.ErrRefused, "was not imported (failed)"},
		{"it is being imported", func(f *fixture) uuid.UUID {
			return f.add("v2", func(spec *world.VersionSpec) { spec.Import.Run = time.Hour }).ID
		}, publish.ErrRefused, "is still being imported"},
		{"it is another template's", func(f *fixture) uuid.UUID {
			other := f.AddTemplate(world.TemplateSpec{Organization: f.template.Organization.ID, Name: "podman"})
			return f.AddVersion(world.VersionSpec{Template: other.ID, Name: "v1"}).ID
		}, publish.ErrRefused, "is of another template"},
	} {
		inWorld(t, func(t *testing.T, f *fixture) {
			_, err := f.promote(row.make(f), uuid.Nil)
			if !errors.Is(err, row.want) || !strings.Contains(err.Error(), row.says) {
				t.Errorf("%s: error %v, want %q", row.why, err, row.says)
			}
			if f.active() != "v1" || f.coder.promotes != 0 {
				t.Errorf("%s: %q is active after %d requests", row.why, f.active(), f.coder.promotes)
			}
		})
	}
}
