package webhook

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/fakes/clock"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

const secret = "a-secret-of-the-receiver"

func TestWhatIsTold(t *testing.T) {
	running := core.Record{ID: uuid.MustParse("7e57ab1e-0000-4000-8000-000000000001"), Spec: core.Spec{
		Template: "acme.docker", Version: core.VersionSelector{Active: true}, ControlPlaneRef: "main",
		Parameters: []core.Parameter{{Name: "region", Value: "hidden-region"}},
	}}
	running.Status.Phase, running.Status.WorkspaceID = core.PhaseRunning, uuid.New()
	failed := running
	failed.Status.Phase, failed.Status.Reason, failed.Status.OutcomeClass = core.PhaseFailed, core.ReasonNoAgents, core.OutcomeTemplateFailed
	failed.Status.SetCondition(noon, core.Condition{Type: core.ConditionWorkspaceDeleted, Status: core.ConditionFalse, Reason: core.ReasonDeleting})
	clean := failed
	clean.Status.SetCondition(noon, core.Condition{Type: core.ConditionWorkspaceDeleted, Status: core.ConditionTrue, Reason: core.ReasonDeleted})
	receivers := []Receiver{
		{Name: "all"}, {Name: "verdicts", Events: []string{EventFinished}}, {Name: "other", ControlPlanes: []string{"other"}},
	}
	decide := Notices(receivers, func() time.Time { return noon }, rand.Reader)
	for _, row := range []struct {
		before, after *core.Record
		want          []string
		why           string
	}{
		{nil, &running, nil, "it begins"},
		{&running, &running, nil, "it goes on"},
		{&running, &failed, []string{"all test.finished", "verdicts test.finished"}, "it has its verdict"},
		{&failed, &failed, nil, "it has it already"},
		{&failed, &clean, []string{"all test.cleaned-up"}, "nothing is left"},
		{&running, &clean, []string{"all test.finished", "verdicts test.finished", "all test.cleaned-up"}, "both at once"},
		{&clean, nil, nil, "its record goes"},
	} {
		var got []string
		for _, notice := range decide(row.before, row.after) {
			got = append(got, notice.Receiver+" "+notice.Event)
			var message Message
			if err := json.Unmarshal(notice.Body, &message); err != nil || message.ID != notice.ID || message.Test.ID != running.ID || message.Test.Reason != core.ReasonNoAgents {
				t.Errorf("message %s, error %v", notice.Body, err)
			}
			if strings.Contains(string(notice.Body), "hidden-region") {
				t.Errorf("the message holds a value: %s", notice.Body)
			}
		}
		if diff := cmp.Diff(row.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.why, diff)
		}
	}
}

func TestSignatures(t *testing.T) {
	key, body := core.NewSecret(secret), []byte(`{"a":1}`)
	header := Sign(key, body, noon)
	if !strings.HasPrefix(header, "t=1772366400,v1=") {
		t.Errorf("the signature is %q", header)
	}
	for _, row := range []struct {
		name, header, body string
		key                core.Secret
		now                time.Time
		good               bool
	}{
		{"as sent", header, string(body), key, noon.Add(time.Minute), true},
		{"another body", header, `{"a":2}`, key, noon, false},
		{"another secret", header, string(body), core.NewSecret("another-secret-here"), noon, false},
		{"sent again later", header, string(body), key, noon.Add(time.Hour), false},
		{"another time", strings.Replace(header, "t=1", "t=2", 1), string(body), key, noon, false},
		{"none", "", string(body), key, noon, false},
		{"no hex", "t=1,v1=zz", string(body), key, noon, false},
	} {
		if err := Verify(row.key, row.header, []byte(row.body), row.now, 5*time.Minute); (err == nil) != row.good {
			t.Errorf("%s: %v", row.name, err)
		}
	}
}

func TestPublicAddresses(t *testing.T) {
	for address, want := range map[string]bool{
		"93.184.216.34": true, "2606:2800:220:1::1": true, "64:ff9b::5db8:d822": true,
		"127.0.0.1": false, "::1": false, "0.0.0.0": false, "::": false, "10.1.2.3": false, "172.16.0.1": false, "192.168.1.1": false, "100.64.0.1": false,
		"169.254.169.254": false, "fe80::1": false, "fe80::1%eth0": false, "fd00::1": false, "224.0.0.1": false, "ff02::1": false, "255.255.255.255": false,
		"::ffff:127.0.0.1": false, "::ffff:10.0.0.1": false, "64:ff9b::7f00:1": false, "2002:7f00:1::": false, "2002:a00:1::": false, "2001:db8::1": false,
		"198.18.0.1": false, "203.0.113.5": false, "::7f00:1": false,
	} {
		if got := public(netip.MustParseAddr(address)); got != want {
			t.Errorf("%s is public: %v, want %v", address, got, want)
		}
	}
}

func TestFilesThatAreRefused(t *testing.T) {
	env := func(name string) (string, bool) {
		value, ok := map[string]string{"S": secret, "SHORT": "short"}[name]
		return value, ok
	}
	for _, row := range []struct{ text, want, why string }{
		{"", "list receivers", "an empty file would deliver nothing"},
		{"receivers:\n  - {name: a, url: https://x, secretEnv: S, colr: 1}", "field colr not found", "a typing error"},
		{"receivers:\n  - {name: A b, url: https://x, secretEnv: S}", "name:", "it stands in metrics"},
		{"receivers:\n  - {name: a, url: http://x, secretEnv: S}", "https://", "anybody on the way could read it"},
		{"receivers:\n  - {name: a, url: ftp://x, secretEnv: S, allowPrivate: true}", "https://", "another protocol"},
		{"receivers:\n  - {name: a, url: 'https://u:p@x', secretEnv: S}", "without a password", "it would be logged elsewhere"},
		{"receivers:\n  - {name: a, url: https://x}", "exactly one of secretFile and secretEnv", "nobody could tell who sends it"},
		{"receivers:\n  - {name: a, url: https://x, secretEnv: SHORT}", "16 characters", "it could be guessed"},
		{"receivers:\n  - {name: a, url: https://x, secretEnv: S, events: [test.done]}", "events:", "it would never come"},
		{"receivers:\n  - {name: a, url: https://x, secretEnv: S}\n  - {name: a, url: https://y, secretEnv: S}", "used twice", "which one?"},
	} {
		path := filepath.Join(t.TempDir(), "receivers.yaml")
		if err := os.WriteFile(path, []byte(row.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(path, env); err == nil || !strings.Contains(err.Error(), row.want) || strings.Contains(err.Error(), secret) {
			t.Errorf("%q: error is %v, want %q: %s", row.text, err, row.want, row.why)
		}
	}
	path := filepath.Join(t.TempDir(), "receivers.yaml")
	if err := os.WriteFile(path, []byte("receivers:\n  - {name: a, url: https://x, secretEnv: S}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(path, env); err != nil {
		t.Errorf("a good file: %v", err)
	}
	if err := os.Chmod(path, 0o620); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(path, env); err == nil || !strings.Contains(err.Error(), "chmod go-w") {
		t.Errorf("a file that others write: error is %v", err)
	}
}

// delivery is an outbox with a message, and somebody who sends it to a receiver.
type delivery struct {
	*testing.T
	clock  *clock.Clock
	outbox *outbox
	sender *Sender
	log    bytes.Buffer
}

func deliverTo(t *testing.T, url string, allowPrivate bool) *delivery {
	t.Helper()
	d := &delivery{T: t, clock: clock.New(noon), outbox: &outbox{}}
	d.outbox.now = d.clock.Now
	d.outbox.put(core.Notice{ID: uuid.New(), Receiver: "bot", Event: EventFinished, Body: []byte(`{"event":"test.finished"}`), CreatedAt: noon})
	receivers := []Receiver{{Name: "bot", URL: url, AllowPrivate: allowPrivate, secret: core.NewSecret(secret)}}
	d.sender = NewSender(d.outbox, receivers, d.clock, rand.Reader, slog.New(slog.NewTextHandler(&d.log, nil)))
	return d
}

func TestAReceiverThatFailsAtFirst(t *testing.T) {
	var got []string
	answers := []int{http.StatusInternalServerError, http.StatusFound, http.StatusNoContent}
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if err := Verify(core.NewSecret(secret), r.Header.Get(SignatureHeader), body, noon, 24*time.Hour); err != nil {
			t.Errorf("message %d: %v", len(got), err)
		}
		got = append(got, r.Header.Get("Assay-Delivery")+" "+r.Header.Get("Assay-Event"))
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(answers[len(got)-1])
	}))
	defer receiver.Close()
	d := deliverTo(t, receiver.URL+"/hook", true)
	for range 3 {
		d.sender.deliver(t.Context())
		if again := d.sender.deliver(t.Context()); again {
			t.Error("it is sent again at once")
		}
		d.clock.Advance(time.Minute)
	}
	if len(got) != 3 || got[0] != got[1] || got[1] != got[2] || len(d.outbox.list()) != 0 {
		t.Errorf("messages %q, %d are left; want the same three times, the redirect not followed, and none left", got, len(d.outbox.list()))
	}
	if strings.Contains(d.log.String(), secret) || strings.Contains(d.log.String(), "/hook") {
		t.Errorf("the log holds the secret or the path:\n%s", d.log.String())
	}
}

func TestAReceiverThatNeverTakesIt(t *testing.T) {
	d := deliverTo(t, "http://127.0.0.1:1/", true)
	var pauses []time.Duration
	for range 200 {
		d.sender.deliver(t.Context())
		left := d.outbox.list()
		if len(left) == 0 {
			break
		}
		pause := left[0].due.Sub(d.clock.Now())
		pauses = append(pauses, pause)
		d.clock.Advance(pause)
	}
	if len(d.outbox.list()) != 0 || d.clock.Now().Sub(noon) < GiveUpAfter || d.clock.Now().Sub(noon) > GiveUpAfter+2*time.Hour {
		t.Errorf("after %v %d are left; want it given up after three days", d.clock.Now().Sub(noon), len(d.outbox.list()))
	}
	if pauses[0] < 8*time.Second || pauses[0] > 12*time.Second || slices.Max(pauses) > 72*time.Minute || slices.Max(pauses) < 48*time.Minute {
		t.Errorf("pauses from %v to %v; want 10 s to 1 h, a fifth more or less", pauses[0], slices.Max(pauses))
	}
}

// TestNoPrivateAddress shows that a name that leads to this machine is no way around.
func TestNoPrivateAddress(t *testing.T) {
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("it was reached") }))
	defer receiver.Close()
	for _, url := range []string{receiver.URL, strings.Replace(receiver.URL, "127.0.0.1", "localhost", 1)} {
		d := deliverTo(t, url, false)
		d.sender.deliver(t.Context())
		if left := d.outbox.list(); len(left) != 1 || !strings.Contains(left[0].problem, "no public address") {
			t.Errorf("%s: %+v", url, left)
		}
	}
}

func TestAnEndlessAnswer(t *testing.T) {
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			if _, err := w.Write(make([]byte, 64<<10)); err != nil {
				return
			}
		}
	}))
	defer receiver.Close()
	d := deliverTo(t, receiver.URL, true)
	d.sender.deliver(t.Context())
	if left := d.outbox.list(); len(left) != 0 {
		t.Errorf("%d are left; want it delivered, and the answer left", len(left))
	}
}

func TestAReceiverThatHangsWhileTheServerEnds(t *testing.T) {
	reached, over := make(chan struct{}), make(chan struct{})
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { close(reached); <-over }))
	defer receiver.Close()
	defer close(over)
	d := deliverTo(t, receiver.URL, true)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { d.sender.Run(ctx); close(ended) }()
	<-reached
	cancel()
	<-ended
	if left := d.outbox.list(); len(left) != 1 || left[0].Attempts != 0 {
		t.Errorf("%+v is left; want the message, to be sent again", left)
	}
}

func TestAReceiverThatIsConfiguredNoMore(t *testing.T) {
	d := deliverTo(t, "https://hooks.example.com", false)
	clear(d.sender.receivers)
	d.sender.deliver(t.Context())
	if left := d.outbox.list(); len(left) != 0 {
		t.Errorf("%d are left", len(left))
	}
}

// outbox is a ports.Outbox in memory.
type outbox struct {
	now func() time.Time
	mu  sync.Mutex
	all []kept
}

type kept struct {
	core.Notice
	due     time.Time
	problem string
}

func (o *outbox) put(notice core.Notice) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.all = append(o.all, kept{Notice: notice})
}

func (o *outbox) list() []kept {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.all)
}

// ClaimNotices implements ports.Outbox.
func (o *outbox) ClaimNotices(ctx context.Context, until time.Time, limit int) (claimed []core.Notice, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if ctx.Err() != nil {
		return nil, errors.New("it ends")
	}
	for i := range o.all {
		if !o.all[i].due.After(o.now()) && len(claimed) < limit {
			o.all[i].due = until
			claimed = append(claimed, o.all[i].Notice)
		}
	}
	return claimed, nil
}

// NoticeDelivered implements ports.Outbox.
func (o *outbox) NoticeDelivered(_ context.Context, id uuid.UUID) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.all = slices.DeleteFunc(o.all, func(one kept) bool { return one.ID == id })
	return nil
}

// NoticeFailed implements ports.Outbox.
func (o *outbox) NoticeFailed(ctx context.Context, id uuid.UUID, problem string, next time.Time) error {
	if next.IsZero() {
		return o.NoticeDelivered(ctx, id)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for i := range o.all {
		if o.all[i].ID == id {
			o.all[i].due, o.all[i].problem = next, problem
			o.all[i].Attempts++
		}
	}
	return nil
}

// CountNotices implements ports.Outbox.
func (o *outbox) CountNotices(context.Context) (map[string]int, error) { return nil, nil }
