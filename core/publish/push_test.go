package publish_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/core/publish"
	"github.com/assay-dev/assay/fakes/runner"
	"github.com/assay-dev/assay/fakes/world"
)

func TestPush(t *testing.T) {
	inWorld(t, func(t *testing.T, f *fixture) {
		pushed, err := f.push(asked(nil))
		if err != nil {
			t.Fatal(err)
		}
		if pushed.Version.Name != "3f2c1ab" || pushed.Version.Import != core.JobSucceeded || pushed.Version.Message != "Use another image" {
			t.Errorf("pushed %+v", pushed.Version)
		}
		if f.active() != "v1" || pushed.ActiveBefore.Name != "v1" {
			t.Errorf("%q is active, and was %q before", f.active(), pushed.ActiveBefore.Name)
		}
		if want := []string{"Initializing the backend...", "Reading the template..."}; !cmp.Equal(f.logged, want) {
			t.Errorf("the log is %q, want %q, each line once", f.logged, want)
		}
	})
}

func TestPushEndsBadly(t *testing.T) {
	tags := map[string]string{"pool": "gpu"}
	for _, row := range []struct {
		why   string
		stage func(f *fixture)
		asked func(*publish.Request)
		want  error
		says  string
		// made are the versions beside v1.
		made []string
	}{
		{
			why: "no such organization", asked: func(r *publish.Request) { r.Template.Organization = "acme" },
			want: publish.ErrNotFound, says: `no organization "acme"`,
		},
		{
			why: "no such template", asked: func(r *publish.Request) { r.Template.Template = "podman" },
			want: publish.ErrNotFound, says: `no template "podman"`,
		},
		{
			why: "a plain member may not push: nothing is uploaded",
			stage: func(f *fixture) {
				f.coder.Runner = runner.New(f.World, f.AddUser(world.UserSpec{Username: "tester"}).ID)
			},
			want: publish.ErrNoRight, says: `"tester" may not make versions of this template: it needs the role "template admin"`,
		},
		{
			why:   "a chosen name that is taken",
			stage: func(f *fixture) { f.add("v7") }, asked: func(r *publish.Request) { r.Name = publish.Name{Base: "v7", Fixed: true} },
			want: publish.ErrNameTaken, says: `"v7": choose another name`, made: []string{"v7"},
		},
		{
			why: "the import fails",
			stage: func(f *fixture) {
				f.PlanVersions(func(string, []byte) world.VersionSpec {
					return world.VersionSpec{Import: world.ImportPlan{Run: time.Second, Ends: core.JobFailed, Error: "terraform init: exit status 1\nmore"}}
				})
			},
			want: publish.ErrImportFailed, says: `version "3f2c1ab": terraform init: exit status 1`, made: []string{"3f2c1ab"},
		},
		{
			why: "a variable has no value",
			stage: func(f *fixture) {
				f.PlanVersions(func(string, []byte) world.VersionSpec {
					return world.VersionSpec{Variables: []string{"image"}, Import: world.ImportPlan{Run: time.Second}}
				})
			},
			want: publish.ErrImportFailed, says: "image", made: []string{"3f2c1ab"},
		},
		{
			why: "nobody takes the import", asked: func(r *publish.Request) { r.Tags, r.Timeout = tags, time.Minute },
			says: "took longer than 1m0s", made: []string{"3f2c1ab"},
		},
	} {
		t.Run(strings.ReplaceAll(row.why, " ", "-"), func(t *testing.T) {
			inWorld(t, func(t *testing.T, f *fixture) {
				if row.stage != nil {
					row.stage(f)
				}
				_, err := f.push(asked(row.asked))
				if err == nil || row.want != nil && !errors.Is(err, row.want) || !strings.Contains(err.Error(), row.says) {
					t.Errorf("error %v, want %v with %q", err, row.want, row.says)
				}
				if want := append([]string{"v1"}, row.made...); !cmp.Equal(f.versions(), want) {
					t.Errorf("versions %q, want %q", f.versions(), want)
				}
				if f.active() != "v1" {
					t.Errorf("%q is active", f.active())
				}
				if errors.Is(row.want, publish.ErrNoRight) && f.Requests()["upload file"] > 0 {
					t.Error("something was uploaded")
				}
			})
		})
	}
}

func TestNobodyTakesTheImport(t *testing.T) {
	inWorld(t, func(t *testing.T, f *fixture) {
		_, _ = f.push(asked(func(r *publish.Request) { r.Tags, r.Timeout = map[string]string{"pool": "gpu"}, time.Minute }))
		if n := strings.Count(f.said.String(), "no provisioner daemon can take the import: it wants the tags owner=, pool=gpu, scope=organization"); n != 1 {
			t.Errorf("said %d times that nobody takes it:\n%s", n, f.said.String())
		}
		version, _ := f.VersionNamed(f.template.ID, "3f2c1ab")
		if version.Import.Status != core.JobCanceled || !strings.Contains(f.said.String(), "remains, inactive; its import is canceled") {
			t.Errorf("the import is %s; said:\n%s", version.Import.Status, f.said.String())
		}
	})
}

func TestNames(t *testing.T) {
	for _, row := range []struct {
		why   string
		taken []string
		base  string
		want  string
	}{
		{"a free name is used", nil, "3f2c1ab", "3f2c1ab"},
		{"the next free one follows", []string{"3f2c1ab", "3f2c1ab-2"}, "3f2c1ab", "3f2c1ab-3"},
		{"names are bounded", []string{strings.Repeat("a", 64)}, strings.Repeat("a", 64), strings.Repeat("a", 62) + "-2"},
	} {
		inWorld(t, func(t *testing.T, f *fixture) {
			for _, name := range row.taken {
				f.add(name)
			}
			pushed, err := f.push(asked(func(r *publish.Request) { r.Name.Base = row.base }))
			if err != nil || pushed.Version.Name != row.want {
				t.Errorf("%s: %q, error %v; want %q", row.why, pushed.Version.Name, err, row.want)
			}
		})
	}
}

func TestNameRule(t *testing.T) {
	for name, good := range map[string]bool{
		"3f2c1ab": true, "v1.2.3_rc-1": true, "": false, "a b": false, "-a": false, "a..b": false,
		strings.Repeat("a", 64): true, strings.Repeat("a", 65): false,
	} {
		if rule := publish.NameRule(name); (rule == "") != good {
			t.Errorf("%q: rule %q", name, rule)
		}
	}
}

// lostCreate is a create request whose answer does not come: sent says whether Coder
// got it.
func lostCreate(sent bool) func(func() (core.PublishedVersion, error)) (core.PublishedVersion, error) {
	return func(send func() (core.PublishedVersion, error)) (core.PublishedVersion, error) {
		if sent {
			if _, err := send(); err != nil {
				return core.PublishedVersion{}, err
			}
		}
		return core.PublishedVersion{}, errLost
	}
}

type createFunc = func(func() (core.PublishedVersion, error)) (core.PublishedVersion, error)

func TestLostAnswers(t *testing.T) {
	for _, row := range []struct {
		why    string
		stage  func(f *fixture) []createFunc
		fixed  bool
		want   string
		wrong  error
		made   []string
		create int
	}{
		{
			why: "the version was made: it is gone on with", want: "3f2c1ab", made: []string{"3f2c1ab"}, create: 1,
			stage: func(*fixture) []createFunc { return []createFunc{lostCreate(true)} },
		},
		{
			why: "it was not made: it is sent again", want: "3f2c1ab", made: []string{"3f2c1ab"}, create: 2,
			stage: func(*fixture) []createFunc { return []createFunc{lostCreate(false)} },
		},
		{
			why: "it is made late, after all looks: the second one is refused, and the first is ours", want: "3f2c1ab", made: []string{"3f2c1ab"}, create: 2,
			stage: func(*fixture) []createFunc {
				var late func() (core.PublishedVersion, error)
				return []createFunc{
					func(send func() (core.PublishedVersion, error)) (core.PublishedVersion, error) {
						late = send
						return core.PublishedVersion{}, errLost
					},
					func(send func() (core.PublishedVersion, error)) (core.PublishedVersion, error) {
						if _, err := late(); err != nil {
							return core.PublishedVersion{}, err
						}
						return send()
					},
				}
			},
		},
		{
			why: "somebody else took the name meanwhile: the next one is used", want: "3f2c1ab-2", made: []string{"3f2c1ab", "3f2c1ab-2"}, create: 2,
			stage: func(f *fixture) []createFunc {
				return []createFunc{func(func() (core.PublishedVersion, error)) (core.PublishedVersion, error) {
					f.add("3f2c1ab")
					return core.PublishedVersion{}, errLost
				}}
			},
		},
		{
			why: "somebody else took the chosen name", fixed: true, wrong: publish.ErrNameTaken, made: []string{"3f2c1ab"}, create: 1,
			stage: func(f *fixture) []createFunc {
				return []createFunc{func(send func() (core.PublishedVersion, error)) (core.PublishedVersion, error) {
					f.add("3f2c1ab")
					return send()
				}}
			},
		},
		{
			why: "nothing ever comes through", wrong: errLost, create: 3,
			stage: func(*fixture) []createFunc {
				return []createFunc{lostCreate(false), lostCreate(false), lostCreate(false)}
			},
		},
		{
			why: "Coder forbids the change itself", wrong: publish.ErrNoRight, create: 1,
			stage: func(*fixture) []createFunc {
				return []createFunc{func(func() (core.PublishedVersion, error)) (core.PublishedVersion, error) {
					return core.PublishedVersion{}, &core.Failure{Class: core.FailureForbidden, Op: "create", Status: 403}
				}}
			},
		},
		{
			why: "the connection is refused at first", want: "3f2c1ab", made: []string{"3f2c1ab"}, create: 2,
			stage: func(*fixture) []createFunc {
				return []createFunc{func(func() (core.PublishedVersion, error)) (core.PublishedVersion, error) {
					return core.PublishedVersion{}, &core.Failure{Class: core.FailureNoEffect, Op: "create"}
				}}
			},
		},
	} {
		t.Run(strings.ReplaceAll(row.why, " ", "-"), func(t *testing.T) {
			inWorld(t, func(t *testing.T, f *fixture) {
				f.coder.create = row.stage(f)
				pushed, err := f.push(asked(func(r *publish.Request) { r.Name.Fixed = row.fixed }))
				if pushed.Version.Name != row.want || !errors.Is(err, row.wrong) {
					t.Errorf("version %q, error %v; want %q, %v", pushed.Version.Name, err, row.want, row.wrong)
				}
				if want := append([]string{"v1"}, row.made...); !cmp.Equal(f.versions(), want) {
					t.Errorf("versions %q, want %q", f.versions(), want)
				}
				if f.coder.creates != row.create {
					t.Errorf("%d create requests, want %d", f.coder.creates, row.create)
				}
			})
		})
	}
}

func TestASignalCancelsTheImport(t *testing.T) {
	for _, row := range []struct {
		why   string
		stage func(f *fixture)
	}{
		{"while it is imported", func(f *fixture) { f.After(1200*time.Millisecond, f.cancel) }},
		{"while the answer is under way", func(f *fixture) {
			f.coder.create = []createFunc{func(send func() (core.PublishedVersion, error)) (core.PublishedVersion, error) {
				_, err := send()
				f.cancel()
				return core.PublishedVersion{}, errors.Join(err, errLost)
			}}
		}},
	} {
		inWorld(t, func(t *testing.T, f *fixture) {
			f.PlanVersions(func(string, []byte) world.VersionSpec {
				return world.VersionSpec{Import: world.ImportPlan{Run: time.Hour}}
			})
			row.stage(f)
			pushed, err := f.push(asked(nil))
			if !errors.Is(err, context.Canceled) || pushed.Version.ID == uuid.Nil {
				t.Errorf("%s: version %s, error %v", row.why, pushed.Version.ID, err)
			}
			version, _ := f.VersionNamed(f.template.ID, "3f2c1ab")
			if version.Import.Status != core.JobCanceled {
				t.Errorf("%s: the import is %s", row.why, version.Import.Status)
			}
			if !strings.Contains(f.said.String(), `version "3f2c1ab" (`+version.ID.String()+`) remains, inactive; its import is canceled`) {
				t.Errorf("%s: it does not say what remains:\n%s", row.why, f.said.String())
			}
		})
	}
}

func TestASignalBeforeAnythingWasMade(t *testing.T) {
	inWorld(t, func(t *testing.T, f *fixture) {
		f.coder.create = []createFunc{func(func() (core.PublishedVersion, error)) (core.PublishedVersion, error) {
			f.cancel()
			return core.PublishedVersion{}, errLost
		}}
		pushed, err := f.push(asked(nil))
		if !errors.Is(err, context.Canceled) || pushed.Version.ID != uuid.Nil || f.coder.creates != 1 {
			t.Errorf("version %s, error %v, %d creates", pushed.Version.ID, err, f.coder.creates)
		}
		if !slices.Equal(f.versions(), []string{"v1"}) {
			t.Errorf("versions %q", f.versions())
		}
	})
}
