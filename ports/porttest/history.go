package porttest

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/ports"
)

// HistoryStore is a store that a server shares with others.
type HistoryStore interface {
	ports.TestRegistry
	ports.TestFinder
	ports.TestHistory
	ports.TestMaker
	ports.EvidenceKeeper
	ports.Outbox
}

// HistoryFixture is an empty store with its clock. Its receivers hear of each change as
// NoticesOf says.
type HistoryFixture struct {
	Store HistoryStore
	// Now reads the store's clock, and Advance moves it.
	Now     func() time.Time
	Advance func(d time.Duration)
}

// NoticesOf has a receiver hear of each verdict: what the store of a HistoryFixture must be
// made with.
func NoticesOf(before, after *core.Record) []core.Notice {
	if before == nil || after == nil || before.Status.Phase == after.Status.Phase || !after.Status.Phase.Final() {
		return nil
	}
	return []core.Notice{{ID: uuid.New(), Receiver: "bot", Test: after.ID, Event: "finished", Body: fmt.Appendf(nil, `{"reason":%q}`, after.Status.Reason)}}
}

// History shows that the store which open makes keeps the contracts of ports.TestFinder,
// TestHistory, TestMaker, EvidenceKeeper and Outbox. Each row gets an empty one.
func History(t *testing.T, open func(t *testing.T) HistoryFixture) {
	t.Helper()
	for _, row := range historyRows {
		t.Run(row.name, func(t *testing.T) {
			t.Logf("contract: %s", row.contract)
			row.run(historyStage{T: t, HistoryFixture: open(t)})
		})
	}
}

type historyRow struct {
	name     string
	contract string
	run      func(s historyStage)
}

type historyStage struct {
	*testing.T
	HistoryFixture
}

// made stores a record that was made so many minutes after noon, as change makes it.
func (s historyStage) made(minutes int, change func(*core.Record)) core.Record {
	s.Helper()
	record := NewRecord()
	record.CreatedAt = record.CreatedAt.Add(time.Duration(minutes) * time.Minute)
	status := record.Status
	if change != nil {
		change(&record)
	}
	status, record.Status = record.Status, status
	stored := must(s.Store.Create(s.Context(), record))(s.T)
	if !cmp.Equal(status, core.Status{}) {
		stored.Status = status
		stored = must(s.Store.Save(s.Context(), stored))(s.T)
	}
	return stored
}

// found are the IDs that a query finds on its first page.
func (s historyStage) found(query core.TestQuery) []uuid.UUID {
	s.Helper()
	return idsOf(must(s.Store.FindTests(s.Context(), query))(s.T).Records)
}

func idsOf(records []core.Record) []uuid.UUID {
	ids := []uuid.UUID{}
	for i := range records {
		ids = append(ids, records[i].ID)
	}
	return ids
}

func (s historyStage) transitions(test uuid.UUID) []core.TestTransition {
	s.Helper()
	return must(s.Store.Transitions(s.Context(), test, 0, 100))(s.T)
}

func (s historyStage) save(record core.Record, phase core.Phase, reason core.Reason) core.Record {
	s.Helper()
	record.Status.Phase, record.Status.Reason = phase, reason
	return must(s.Store.Save(s.Context(), record))(s.T)
}

var historyRows = []historyRow{
	{"pages", "FindTests goes through all tests in pages, newest first, whatever is made meanwhile", func(s historyStage) {
		var want []uuid.UUID
		for i := range 7 {
			want = append([]uuid.UUID{s.made(i/2, nil).ID}, want...)
		}
		var got []uuid.UUID
		query := core.TestQuery{Limit: 3}
		for pages := 1; ; pages++ {
			page := must(s.Store.FindTests(s.Context(), query))(s.T)
			got = append(got, idsOf(page.Records)...)
			if page.Next == "" {
				if pages != 3 {
					s.Errorf("%d pages, want 3", pages)
				}
				break
			}
			query.After = page.Next
			s.made(100, nil)
		}
		slices.SortFunc(want, func(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) })
		slices.SortFunc(got, func(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) })
		if diff := cmp.Diff(want, got); diff != "" {
			s.Errorf("found (-want +got):\n%s", diff)
		}
	}},
	{"order", "FindTests: newest first", func(s historyStage) {
		old, recent := s.made(1, nil), s.made(2, nil)
		if diff := cmp.Diff([]uuid.UUID{recent.ID, old.ID}, s.found(core.TestQuery{})); diff != "" {
			s.Errorf("found (-want +got):\n%s", diff)
		}
	}},
	{"bad page", "ErrBadPage: the query's After is none that this store gave out", func(s historyStage) {
		for _, page := range []string{"x", "MQ", "MSB4", "!!!", "MSAwMDAwMDAwMC0wMDAwLTAwMDAtMDAwMC0wMDAwMDAwMDAwMDA7"} {
			_, err := s.Store.FindTests(s.Context(), core.TestQuery{After: page})
			wantError(s.T, err, ports.ErrBadPage)
		}
	}},
	{"filters", "FindTests: a test must have one of the values of each filter", func(s historyStage) {
		passed := s.made(1, func(r *core.Record) {
			r.Spec.Template, r.Spec.Version = "acme.vm", core.VersionSelector{Name: "v1"}
			r.Status = core.Status{Phase: core.PhaseSucceeded, OutcomeClass: core.OutcomePassed}
			r.Status.TemplateVersionName, r.Status.TemplateVersionID = "v1", uuid.MustParse("7e57ab1e-0000-4000-8000-000000000001")
		})
		pending := s.made(2, nil)
		failed := s.made(3, func(r *core.Record) {
			r.Spec.ControlPlaneRef = "other"
			r.Status = core.Status{Phase: core.PhaseFailed, OutcomeClass: core.OutcomeTemplateFailed}
			r.Status.TemplateVersionName = "v2"
		})
		at := func(minutes int) time.Time { return NewRecord().CreatedAt.Add(time.Duration(minutes) * time.Minute) }
		for _, row := range []struct {
			query core.TestQuery
			want  []uuid.UUID
			why   string
		}{
			{core.TestQuery{}, []uuid.UUID{failed.ID, pending.ID, passed.ID}, "nothing is asked for"},
			{core.TestQuery{Phases: []core.Phase{core.PhasePending}}, []uuid.UUID{pending.ID}, "one that was never looked at is pending"},
			{core.TestQuery{Phases: []core.Phase{core.PhaseSucceeded, core.PhaseFailed}}, []uuid.UUID{failed.ID, passed.ID}, "two phases"},
			{core.TestQuery{Classes: []core.OutcomeClass{core.OutcomePassed}}, []uuid.UUID{passed.ID}, "a class"},
			{core.TestQuery{ControlPlanes: []string{"other", "none"}}, []uuid.UUID{failed.ID}, "control planes"},
			{core.TestQuery{Template: "acme.vm"}, []uuid.UUID{passed.ID}, "a template"},
			{core.TestQuery{Template: "acme.VM"}, []uuid.UUID{}, "a template, as written"},
			{core.TestQuery{Version: "v1"}, []uuid.UUID{passed.ID}, "the name that was asked for"},
			{core.TestQuery{Version: "v2"}, []uuid.UUID{failed.ID}, "the name that was found"},
			{core.TestQuery{Version: "active"}, []uuid.UUID{failed.ID, pending.ID}, "what was asked for"},
			{core.TestQuery{Version: "7e57ab1e-0000-4000-8000-000000000001"}, []uuid.UUID{passed.ID}, "the ID that was found"},
			{core.TestQuery{CreatedFrom: at(2)}, []uuid.UUID{failed.ID, pending.ID}, "from a time on, that time included"},
			{core.TestQuery{CreatedBefore: at(2)}, []uuid.UUID{passed.ID}, "before a time"},
			{core.TestQuery{Unfinished: true}, []uuid.UUID{pending.ID}, "the two others are final, not held, and stay for good"},
			{core.TestQuery{Phases: []core.Phase{core.PhaseFailed}, Template: "acme.vm"}, []uuid.UUID{}, "both filters must fit"},
		} {
			if diff := cmp.Diff(row.want, s.found(row.query)); diff != "" {
				s.Errorf("%s (-want +got):\n%s", row.why, diff)
			}
		}
	}},
	{"injection", "FindTests: a value finds what equals it, whatever it holds", func(s historyStage) {
		s.made(1, nil)
		for _, text := range []string{"' OR '1'='1", "%", "acme.docker' --", "acme.docker\x00", "\xff", "$1", "acme_docker", "\n"} {
			for _, query := range []core.TestQuery{
				{Template: text},
				{Version: text},
				{ControlPlanes: []string{text}},
				{Phases: []core.Phase{core.Phase("x" + text[:0] + "'")}},
				{Classes: []core.OutcomeClass{"'"}},
			} {
				if found := s.found(query); len(found) != 0 {
					s.Errorf("%+v finds %v, want nothing", query, found)
				}
			}
		}
	}},
	{"unfinished", "Unfinished: not final, held, or with a time after which the record goes", func(s historyStage) {
		final := core.Status{Phase: core.PhaseFailed}
		s.made(1, func(r *core.Record) { r.Status = final })
		seconds := 60
		ttl := s.made(2, func(r *core.Record) { r.Status, r.Spec.TTLSecondsAfterFinished = final, &seconds })
		held := must(s.Store.TakeHold(s.Context(), s.made(3, nil)))(s.T)
		held.Status = final
		held = must(s.Store.Save(s.Context(), held))(s.T)
		if diff := cmp.Diff([]uuid.UUID{held.ID, ttl.ID}, s.found(core.TestQuery{Unfinished: true})); diff != "" {
			s.Errorf("found (-want +got):\n%s", diff)
		}
		must(s.Store.ReleaseHold(s.Context(), held))(s.T)
		if diff := cmp.Diff([]uuid.UUID{ttl.ID}, s.found(core.TestQuery{Unfinished: true})); diff != "" {
			s.Errorf("once the hold is released (-want +got):\n%s", diff)
		}
	}},
	{"counts", "CountTests counts by phase", func(s historyStage) {
		s.made(1, nil)
		s.made(2, func(r *core.Record) { r.Status.Phase = core.PhasePending })
		s.made(3, func(r *core.Record) { r.Status.Phase = core.PhaseFailed })
		want := map[core.Phase]int{core.PhasePending: 2, core.PhaseFailed: 1}
		if diff := cmp.Diff(want, must(s.Store.CountTests(s.Context()))(s.T)); diff != "" {
			s.Errorf("counts (-want +got):\n%s", diff)
		}
	}},
	{"transitions", "a change and its transition are stored together, and only what tells something new", func(s historyStage) {
		record := s.made(0, nil)
		record = s.save(record, core.PhasePending, core.ReasonInitializing)
		record.Status.DeleteAttempts = 7
		record = must(s.Store.Save(s.Context(), record))(s.T)
		record = must(s.Store.TakeHold(s.Context(), record))(s.T)
		record = s.save(record, core.PhaseRunning, core.ReasonWaitingForBuild)
		if err := s.Store.SetDeletionPolicy(s.Context(), record.ID, "retain"); err != nil {
			s.Fatal(err)
		}
		if err := s.Store.RequestDeletion(s.Context(), record.ID); err != nil {
			s.Fatal(err)
		}
		must(s.Store.ReleaseHold(s.Context(), must(s.Store.Load(s.Context(), record.ID, ports.Live))(s.T)))(s.T)
		var got []string
		last := int64(0)
		for _, t := range s.transitions(record.ID) {
			if t.Seq <= last || t.Test != record.ID || t.ControlPlaneRef != "main" || !t.At.Equal(s.Now().UTC().Truncate(time.Microsecond)) {
				s.Errorf("transition %+v after %d", t, last)
			}
			last = t.Seq
			got = append(got, fmt.Sprint(t.Phase, " ", t.Reason, " ", t.DeletionPolicy, " asked to go: ", t.DeletionRequested, " gone: ", t.Gone))
		}
		want := []string{
			"Pending  delete asked to go: false gone: false",
			"Pending Initializing delete asked to go: false gone: false",
			"Running WaitingForBuild delete asked to go: false gone: false",
			"Running WaitingForBuild retain asked to go: false gone: false",
			"Running WaitingForBuild retain asked to go: true gone: false",
			"Running WaitingForBuild retain asked to go: true gone: true",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			s.Errorf("transitions (-want +got):\n%s", diff)
		}
		if newest := must(s.Store.LastTransition(s.Context()))(s.T); newest < last {
			s.Errorf("the last one is %d, want %d or more", newest, last)
		}
	}},
	{"refused changes", "a change that is refused leaves no transition", func(s historyStage) {
		record := s.made(0, nil)
		stale := record
		s.save(record, core.PhasePending, core.ReasonInitializing)
		stale.Status.Phase = core.PhaseFailed
		_, err := s.Store.Save(s.Context(), stale)
		wantError(s.T, err, ports.ErrConflict)
		if got := s.transitions(record.ID); len(got) != 2 {
			s.Errorf("%d transitions, want 2", len(got))
		}
	}},
	{"none missed", "TransitionsAfter: whoever asks again with the last Seq misses none while many write", func(s historyStage) {
		const writers, changes = 8, 10
		var writing sync.WaitGroup
		for range writers {
			writing.Go(func() {
				record := s.made(0, nil)
				for i := range changes - 1 {
					record = s.save(record, core.PhaseRunning, core.Reason(fmt.Sprint("Wait", i)))
				}
			})
		}
		over := make(chan struct{})
		go func() { writing.Wait(); close(over) }()
		seen, after, ended := 0, int64(0), false
		for {
			next := must(s.Store.TransitionsAfter(s.Context(), after, 7))(s.T)
			for _, t := range next {
				if t.Seq <= after {
					s.Fatalf("after %d comes %d", after, t.Seq)
				}
				after, seen = t.Seq, seen+1
			}
			if len(next) == 0 && ended {
				break
			}
			select {
			case <-over:
				ended = true
			default:
			}
		}
		if seen != writers*changes {
			s.Errorf("%d transitions seen, want %d", seen, writers*changes)
		}
	}},
	{"history time", "transitions of a record that disappeared are kept for a time", func(s historyStage) {
		old := s.made(0, nil)
		if err := s.Store.RequestDeletion(s.Context(), old.ID); err != nil {
			s.Fatal(err)
		}
		s.Advance(time.Hour)
		if got := s.transitions(old.ID); len(got) != 2 || !got[1].Gone {
			s.Errorf("transitions %+v, want two, the last one gone", got)
		}
		s.Advance(31 * 24 * time.Hour)
		if err := s.Store.RequestDeletion(s.Context(), s.made(0, nil).ID); err != nil {
			s.Fatal(err)
		}
		if got := s.transitions(old.ID); len(got) != 0 {
			s.Errorf("%d transitions are left after a month", len(got))
		}
	}},
	{"once", "CreateOnce: the key and the fingerprint make one test", func(s historyStage) {
		key := ports.IdempotencyKey{Caller: "bot", Key: "nightly-1", Fingerprint: "a"}
		record := NewRecord()
		first, created, err := s.Store.CreateOnce(s.Context(), record, key, time.Hour)
		if err != nil || !created || first.ID != record.ID || first.Revision == "" {
			s.Fatalf("first: %v %v %v", first.ID, created, err)
		}
		again, created, err := s.Store.CreateOnce(s.Context(), NewRecord(), key, time.Hour)
		if err != nil || created || again.ID != record.ID {
			s.Errorf("again: %v %v %v, want the first test", again.ID, created, err)
		}
		other := key
		other.Caller = "portal"
		if _, created, err := s.Store.CreateOnce(s.Context(), NewRecord(), other, time.Hour); err != nil || !created {
			s.Errorf("another caller's key: %v %v, want a test of its own", created, err)
		}
		reused := key
		reused.Fingerprint = "b"
		_, _, err = s.Store.CreateOnce(s.Context(), NewRecord(), reused, time.Hour)
		wantError(s.T, err, ports.ErrKeyReused)
		if err := s.Store.RequestDeletion(s.Context(), record.ID); err != nil {
			s.Fatal(err)
		}
		if gone, created, err := s.Store.CreateOnce(s.Context(), NewRecord(), key, time.Hour); err != nil || created || gone.ID != record.ID {
			s.Errorf("after the record went: %v %v %v, want its ID", gone.ID, created, err)
		}
		s.Advance(time.Hour)
		if _, created, err := s.Store.CreateOnce(s.Context(), NewRecord(), reused, time.Hour); err != nil || !created {
			s.Errorf("after its time: %v %v, want a new test", created, err)
		}
	}},
	{"once at once", "CreateOnce from many goroutines makes one test", func(s historyStage) {
		key := ports.IdempotencyKey{Caller: "bot", Key: "k", Fingerprint: "a"}
		var (
			mu      sync.Mutex
			ids     = map[uuid.UUID]bool{}
			made    int
			calling sync.WaitGroup
		)
		for range 8 {
			calling.Go(func() {
				record, created, err := s.Store.CreateOnce(s.Context(), NewRecord(), key, time.Hour)
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					s.Errorf("create: %v", err)
				}
				if ids[record.ID] = true; created {
					made++
				}
			})
		}
		calling.Wait()
		if len(ids) != 1 || made != 1 {
			s.Errorf("%d tests, created %d times; want one", len(ids), made)
		}
	}},
	{"evidence", "KeepEvidence stores it until it expires, also without its record", func(s historyStage) {
		evidence := core.StoredEvidence{
			Test: uuid.New(), At: s.Now().UTC(), ExpiresAt: s.Now().UTC().Add(time.Hour), CoderVersion: "v2.36.1",
			Logs:   []core.EvidenceLog{{Source: "build", Text: "first\x00"}},
			Agents: []core.AgentState{{ID: uuid.New(), Name: "main", Status: "connected", Lifecycle: "ready"}},
		}
		if err := s.Store.KeepEvidence(s.Context(), evidence); err != nil {
			s.Fatal(err)
		}
		evidence.Logs[0].Text = "second\n\"quoted\" é"
		if err := s.Store.KeepEvidence(s.Context(), evidence); err != nil {
			s.Fatal(err)
		}
		if diff := cmp.Diff(evidence, must(s.Store.KeptEvidence(s.Context(), evidence.Test))(s.T)); diff != "" {
			s.Errorf("kept (-want +got):\n%s", diff)
		}
		_, err := s.Store.KeptEvidence(s.Context(), uuid.New())
		wantError(s.T, err, ports.ErrNotFound)
		s.Advance(time.Hour)
		_, err = s.Store.KeptEvidence(s.Context(), evidence.Test)
		wantError(s.T, err, ports.ErrNotFound)
	}},
	{"outbox", "a notice is handed out until it is delivered or given up", func(s historyStage) {
		first := s.save(s.made(0, nil), core.PhaseFailed, core.ReasonBuildFailed)
		s.Advance(time.Second)
		second := s.save(s.made(0, nil), core.PhaseFailed, core.ReasonNoAgents)
		s.save(s.made(0, nil), core.PhaseRunning, core.ReasonWaitingForBuild)
		claim := func(limit int) []core.Notice {
			return must(s.Store.ClaimNotices(s.Context(), s.Now().Add(time.Minute), limit))(s.T)
		}
		claimed := claim(10)
		if len(claimed) != 2 || claimed[0].Test != first.ID || claimed[1].Test != second.ID ||
			claimed[0].Receiver != "bot" || claimed[0].Event != "finished" || string(claimed[0].Body) != `{"reason":"BuildFailed"}` {
			s.Fatalf("claimed %+v, want the two verdicts, the older first", claimed)
		}
		if again := claim(10); len(again) != 0 {
			s.Errorf("%d are handed out twice", len(again))
		}
		s.Advance(time.Minute)
		if again := claim(1); len(again) != 1 || again[0].ID != claimed[0].ID || again[0].Attempts != 0 {
			s.Errorf("after the claim's end %+v, want the first one again", again)
		}
		if err := s.Store.NoticeFailed(s.Context(), claimed[0].ID, "no answer", s.Now().Add(time.Hour)); err != nil {
			s.Fatal(err)
		}
		if err := s.Store.NoticeDelivered(s.Context(), claimed[1].ID); err != nil {
			s.Fatal(err)
		}
		if counts := must(s.Store.CountNotices(s.Context()))(s.T); len(counts) != 1 || counts["bot"] != 1 {
			s.Errorf("counts %v, want one for bot", counts)
		}
		s.Advance(59 * time.Minute)
		if early := claim(10); len(early) != 0 {
			s.Errorf("%d are handed out before they are due", len(early))
		}
		s.Advance(time.Minute)
		late := claim(10)
		if len(late) != 1 || late[0].Attempts != 1 || late[0].LastError != "no answer" {
			s.Fatalf("when it is due %+v", late)
		}
		if err := s.Store.NoticeFailed(s.Context(), late[0].ID, "given up", time.Time{}); err != nil {
			s.Fatal(err)
		}
		if err := s.Store.NoticeDelivered(s.Context(), late[0].ID); err != nil {
			s.Errorf("one that is gone: %v, want no error", err)
		}
		if counts := must(s.Store.CountNotices(s.Context()))(s.T); len(counts) != 0 {
			s.Errorf("counts %v, want none", counts)
		}
	}},
	{"outbox refused", "what is refused has no notice", func(s historyStage) {
		record := s.made(0, nil)
		stale := record
		s.save(record, core.PhasePending, core.ReasonInitializing)
		stale.Status.Phase = core.PhaseFailed
		_, err := s.Store.Save(s.Context(), stale)
		wantError(s.T, err, ports.ErrConflict)
		if counts := must(s.Store.CountNotices(s.Context()))(s.T); len(counts) != 0 {
			s.Errorf("counts %v, want none", counts)
		}
	}},
	{"outbox at once", "ClaimNotices: nobody else gets a notice that is claimed", func(s historyStage) {
		for range 20 {
			s.save(s.made(0, nil), core.PhaseFailed, core.ReasonNoAgents)
		}
		var (
			mu       sync.Mutex
			times    = map[uuid.UUID]int{}
			claiming sync.WaitGroup
		)
		for range 4 {
			claiming.Go(func() {
				for {
					claimed, err := s.Store.ClaimNotices(s.Context(), s.Now().Add(time.Hour), 3)
					if err != nil {
						s.Errorf("claim: %v", err)
					}
					if len(claimed) == 0 {
						return
					}
					mu.Lock()
					for _, notice := range claimed {
						times[notice.ID]++
					}
					mu.Unlock()
				}
			})
		}
		claiming.Wait()
		for id, count := range times {
			if count != 1 {
				s.Errorf("notice %s is handed out %d times", id, count)
			}
		}
	}},
}
