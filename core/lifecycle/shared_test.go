package lifecycle

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/fakes/clock"
)

const sharedAge = 2 * time.Second

// asker asks for keys; each request that reaches Coder has the next number.
type asker struct {
	*testing.T
	clock  *clock.Clock
	shared *shared
	mu     sync.Mutex
	asked  int
}

func newAsker(t *testing.T) *asker {
	a := &asker{T: t, clock: clock.New(noon)}
	a.clock.Advance(time.Hour) // the process lives for a while already
	a.shared = newShared(a.clock, sharedAge)
	return a
}

// ask asks Coder, unless it need not. answer is what Coder does; nil answers at once.
func (a *asker) ask(ctx context.Context, key sharedKey, answer func() error) (int, error) {
	return share(ctx, a.shared, key, func() (int, error) {
		a.mu.Lock()
		a.asked++
		n := a.asked
		a.mu.Unlock()
		if answer == nil {
			return n, nil
		}
		return n, answer()
	})
}

// gets checks that the answer for the key is that of a request.
func (a *asker) gets(key sharedKey, want int, why string) {
	a.Helper()
	if got, err := a.ask(a.Context(), key, nil); got != want || err != nil {
		a.Errorf("the answer is that of request %d (%v), want %d: %s", got, err, want, why)
	}
}

var (
	anOwner = sharedKey{kind: ReadOwner, id: ownerID}
	another = sharedKey{kind: ReadOwner, id: operatorID}
	errGone = errors.New("gone")
)

// TestSharedReads plays who asks Coder, and who takes another one's answer.
func TestSharedReads(t *testing.T) {
	t.Run("an answer counts for a while", func(t *testing.T) {
		a := newAsker(t)
		a.gets(anOwner, 1, "nobody asked before")
		a.clock.Advance(sharedAge)
		a.gets(anOwner, 1, "it is as old as it may be")
		a.clock.Advance(1)
		a.gets(anOwner, 2, "it is too old")
		a.gets(another, 3, "it is another owner's")
	})
	t.Run("never, if that is asked for", func(t *testing.T) {
		a := newAsker(t)
		a.shared = newShared(a.clock, -1)
		a.gets(anOwner, 1, "nobody asked before")
		a.gets(anOwner, 2, "each asks for itself")
	})
	t.Run("a failure is not kept", func(t *testing.T) {
		a := newAsker(t)
		if _, err := a.ask(t.Context(), anOwner, func() error { return errGone }); !errors.Is(err, errGone) {
			t.Errorf("the failure is %v", err)
		}
		a.gets(anOwner, 2, "what was missing can be there now")
	})
	t.Run("old answers take no memory, and others stay", func(t *testing.T) {
		a := newAsker(t)
		for range 1000 {
			_, _ = a.ask(t.Context(), sharedKey{kind: ReadOwner, id: uuid.New()}, nil)
		}
		a.clock.Advance(1)
		a.gets(anOwner, 1001, "nobody asked before")
		a.clock.Advance(sharedAge)
		a.gets(another, 1002, "nobody asked before")
		if len(a.shared.flights) != 2 {
			t.Errorf("%d are kept", len(a.shared.flights))
		}
		a.gets(anOwner, 1001, "it is as old as it may be")
	})
	t.Run("a read that panics holds nobody up", func(t *testing.T) {
		a := newAsker(t)
		func() {
			defer func() { _ = recover() }()
			_, _ = a.ask(t.Context(), anOwner, func() error { panic("a bug") })
		}()
		a.gets(anOwner, 2, "nobody knows the answer")
	})
	t.Run("a late failure says nothing about a newer answer", func(t *testing.T) {
		a := newAsker(t)
		_, err := a.ask(t.Context(), anOwner, func() error {
			a.clock.Advance(sharedAge + 1)
			a.gets(anOwner, 2, "the one on its way would be too old")
			return errGone
		})
		if !errors.Is(err, errGone) {
			t.Errorf("the failure is %v", err)
		}
		a.gets(anOwner, 2, "that answer still counts")
	})
}

// TestSharedReadsOnTheirWay shows ten who wait for the read of another one.
func TestSharedReadsOnTheirWay(t *testing.T) {
	for _, row := range []struct {
		name string
		// answer is what the first request comes to, given whether who sent it has left.
		answer func(left error) error
		leaves bool
		// want is what the others get: the answer of a request, or an error.
		want    int
		wantErr error
		why     string
	}{
		{"an answer", func(error) error { return nil }, false, 1, nil, "they asked for the same"},
		{"a failure", func(error) error { return errGone }, false, 1, errGone, "asking again at once would fail as well"},
		{"whoever asked leaves", func(left error) error { return left }, true, 2, nil, "it says nothing about Coder; one of the others asks, for all that are left"},
		{"whoever asked leaves, and has an answer", func(error) error { return nil }, true, 1, nil, "it is an answer all the same"},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := newAsker(t)
				landing := make(chan struct{})
				leading, leave := context.WithCancel(t.Context())
				defer leave()
				var all sync.WaitGroup
				all.Go(func() {
					_, _ = a.ask(leading, anOwner, func() error { <-landing; return row.answer(leading.Err()) })
				})
				synctest.Wait()
				for range 10 {
					all.Go(func() {
						if got, err := a.ask(t.Context(), anOwner, nil); got != row.want || !errors.Is(err, row.wantErr) {
							t.Errorf("answer of request %d, %v; want %d, %v: %s", got, err, row.want, row.wantErr, row.why)
						}
					})
				}
				gone, cancel := context.WithCancel(t.Context())
				all.Go(func() {
					var failure *core.Failure
					_, err := a.ask(gone, anOwner, nil)
					if !errors.As(err, &failure) || failure.Class != core.FailureUnavailable || failure.Message != "context canceled" {
						t.Errorf("one of those who wait leaves with %v", err)
					}
				})
				synctest.Wait()
				cancel()
				synctest.Wait()
				if row.leaves {
					leave()
				}
				close(landing)
				all.Wait()
				if a.asked != row.want {
					t.Errorf("Coder is asked %d times, want %d: %s", a.asked, row.want, row.why)
				}
			})
		})
	}
}

// TestStepsShareInputs shows that a test which waits for its inputs reads them again once
// they are too old, and who answers each time.
func TestStepsShareInputs(t *testing.T) {
	r := newRig(t, pending())
	r.coder.fail = map[string]error{"find": unavailable}
	identity := []string{"deployment"}
	inputs := append(slices.Clone(identity), "operator", "owner", "template", "version by ID", "parameters", "external auth")
	reads := func(want []string, why string) {
		t.Helper()
		r.trail = nil
		r.step()
		got := slices.DeleteFunc(r.trail, func(done string) bool { return !slices.Contains(inputs, done) })
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("reads (-want +got): %s\n%s", why, diff)
		}
	}
	reads(inputs, "nobody asked before")
	r.clock.Advance(sharedAge)
	reads(identity, "the inputs are as old as they may be")
	r.clock.Advance(1)
	reads(inputs, "they are too old")
}

func TestWhatIsTheSameQuestion(t *testing.T) {
	a, b := uuid.New(), uuid.New()
	template := core.Template{ID: a, ActiveVersionID: b}
	if (sharedKey{}).version(core.VersionSelector{Active: true}, template) != (sharedKey{id: b}).version(core.VersionSelector{Name: "v1"}, template) {
		t.Error("the active version is another one than itself by its ID")
	}
	if (sharedKey{}).version(core.VersionSelector{Active: true}, template) == (sharedKey{}).version(core.VersionSelector{Name: "active"}, template) {
		t.Error(`a version of the name "active" counts as the active one`)
	}
	for _, row := range []struct {
		why  string
		a, b core.VersionSelector
		in   core.Template
		same bool
	}{
		{"an ID is an ID", core.VersionSelector{ID: b.String()}, core.VersionSelector{Active: true}, template, true},
		{"another ID", core.VersionSelector{ID: a.String()}, core.VersionSelector{ID: b.String()}, template, false},
		{"an ID and a name", core.VersionSelector{ID: a.String()}, core.VersionSelector{Name: a.String()}, template, false},
		{"another name", core.VersionSelector{Name: "v1"}, core.VersionSelector{Name: "v2"}, template, false},
		{"the name in another template", core.VersionSelector{Name: "v1"}, core.VersionSelector{Name: "v1"}, core.Template{ID: b}, false},
	} {
		if got := (sharedKey{}).version(row.a, template) == (sharedKey{}).version(row.b, row.in); got != row.same {
			t.Errorf("%s: the same question: %t", row.why, got)
		}
	}
	query := func(change func(*core.ParameterQuery)) sharedKey {
		q := core.ParameterQuery{VersionID: a, OwnerID: b, Parameters: []core.Parameter{{Name: "a", Value: "b"}, {Name: "c", Value: "d"}}}
		change(&q)
		return (sharedKey{}).parameters(q)
	}
	base := query(func(*core.ParameterQuery) {})
	for why, change := range map[string]func(*core.ParameterQuery){
		"another version": func(q *core.ParameterQuery) { q.VersionID = b },
		"another owner":   func(q *core.ParameterQuery) { q.OwnerID = a },
		"another flow":    func(q *core.ParameterQuery) { q.Classic = true },
		"another preset":  func(q *core.ParameterQuery) { q.Preset = "small" },
		"another value": func(q *core.ParameterQuery) {
			q.Parameters = []core.Parameter{{Name: "a", Value: "b"}, {Name: "c", Value: "e"}}
		},
		"fewer parameters": func(q *core.ParameterQuery) { q.Parameters = q.Parameters[:1] },
		"a value that looks like two": func(q *core.ParameterQuery) {
			q.Parameters = []core.Parameter{{Name: "a", Value: `b""c""d`}}
		},
	} {
		if query(change) == base {
			t.Errorf("%s makes no difference", why)
		}
	}
}

// TestAnswersToOtherQuestions has two tests ask at the same time. Only the same question of
// the same deployment has one answer.
func TestAnswersToOtherQuestions(t *testing.T) {
	other := uuid.New()
	spec := func(template string) edit { return func(in *Input) { in.Record.Spec.Template = template } }
	for _, row := range []struct {
		why      string
		a, b     Read
		differ   edit
		together bool
	}{
		{"the same owner", Read{ReadOwner, ownerID}, Read{ReadOwner, ownerID}, nil, true},
		{"another owner", Read{ReadOwner, ownerID}, Read{ReadOwner, other}, nil, false},
		{"an owner of another deployment", Read{ReadOwner, ownerID}, Read{ReadOwner, ownerID}, func(in *Input) { in.Seen.Deployment.Value.ID = "another" }, false},
		{"something else of the same ID", Read{ReadVersion, other}, Read{ReadOwner, other}, nil, false},
		{"an organization", Read{Kind: ReadOrganization}, Read{Kind: ReadOrganization}, nil, true},
		{"which Coder takes in any case", Read{Kind: ReadOrganization}, Read{Kind: ReadOrganization}, spec("ACME.docker"), true},
		{"another organization", Read{Kind: ReadOrganization}, Read{Kind: ReadOrganization}, spec("other.docker"), false},
		{"a template, in any case too", Read{ReadTemplate, orgID}, Read{ReadTemplate, orgID}, spec("acme.Docker"), true},
		{"another template", Read{ReadTemplate, orgID}, Read{ReadTemplate, orgID}, spec("acme.other"), false},
		{"one of the same name elsewhere", Read{ReadTemplate, orgID}, Read{ReadTemplate, other}, nil, false},
		{"what an owner has linked", Read{ReadExternalAuth, versionID}, Read{ReadExternalAuth, versionID}, nil, true},
		{"and another one", Read{ReadExternalAuth, versionID}, Read{ReadExternalAuth, versionID}, func(in *Input) { in.Seen.Owner.Value.ID = other }, false},
		{"parameters", Read{ReadParameters, versionID}, Read{ReadParameters, versionID}, nil, true},
		{"with another preset", Read{ReadParameters, versionID}, Read{ReadParameters, versionID}, func(in *Input) { in.Record.Spec.Preset = "small" }, false},
		{"who answers is never shared", Read{Kind: ReadDeployment}, Read{Kind: ReadDeployment}, nil, false},
		{"as whom the same one is asked", Read{Kind: ReadOperator}, Read{Kind: ReadOperator}, nil, true},
		{"as whom another one is asked", Read{Kind: ReadOperator}, Read{Kind: ReadOperator}, func(in *Input) { in.Seen.Deployment.Value.ID = "another" }, false},
		{"nor the name", Read{ReadName, ownerID}, Read{ReadName, ownerID}, nil, false},
	} {
		t.Run(row.why, func(t *testing.T) {
			r := newRig(t, pending())
			ask := func(want Read, change edit) {
				in := resolved()
				if change != nil {
					change(&in)
				}
				run := &stepRun{Engine: r.engine, in: in}
				if err := run.observe(t.Context(), want); err != nil {
					t.Fatal(err)
				}
			}
			r.trail = nil
			ask(row.a, nil)
			ask(row.b, row.differ)
			if together := len(r.trail) == 1; together != row.together {
				t.Errorf("they ask %q", r.trail)
			}
		})
	}
}

// TestOnlyInputsAreShared shows that a test reads for itself once it has announced a
// create.
func TestOnlyInputsAreShared(t *testing.T) {
	s := newShared(clock.New(noon), time.Second)
	for _, row := range []struct {
		name   string
		in     Input
		shares bool
	}{
		{"pending", pending(), true},
		{"with a workspace", awaiting(), false},
		{"with a workspace alone", edited(pending(), func(in *Input) { in.Record.Status.WorkspaceID = uuid.New() }), false},
		{"with a marker", edited(pending(), func(in *Input) { in.Record.Status.CreateAttemptID = uuid.New() }), false},
		{"final", edited(pending(), func(in *Input) { in.Record.Status.Phase = core.PhaseFailed }), false},
		{"asked to go", edited(pending(), func(in *Input) { in.Record.DeletionRequestedAt = noon }), false},
	} {
		run := &stepRun{in: row.in}
		if got := run.shares(s) != nil; got != row.shares {
			t.Errorf("%s: shares %t", row.name, got)
		}
	}
}

func edited(in Input, edit func(*Input)) Input {
	edit(&in)
	return in
}
