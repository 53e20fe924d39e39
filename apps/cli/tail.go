package cli

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/adapters/terminal"
	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/ports"
)

// tailEvery is how often the log of a build is read while a person watches.
const tailEvery = 2 * time.Second

// maxTails bounds how many logs are read side by side: a terminal shows few lines, and
// each costs Coder a request.
const maxTails = 8

// tails is a StatusSink that has the progress show the last line of the log of each build
// that runs. It asks only while a person watches, and nothing depends on an answer.
type tails struct {
	clock    ports.Clock
	dial     ports.Dialer
	planes   controlPlanes
	mask     core.Mask
	progress *terminal.Progress

	ctx  context.Context
	stop context.CancelFunc

	mu       sync.Mutex
	followed map[uuid.UUID]*tail
}

// tail is a build whose log is followed.
type tail struct {
	follower ports.BuildLogFollower
	build    uuid.UUID
	// after is the last line that was read.
	after int64
	timer ports.Timer
}

func newTails(env Env, config runConfig, progress *terminal.Progress) *tails {
	t := &tails{
		clock: env.Clock, dial: env.Dial, planes: config.planes, mask: core.NewMask(config.secrets...), progress: progress,
		followed: map[uuid.UUID]*tail{},
	}
	t.ctx, t.stop = context.WithCancel(context.Background())
	return t
}

// Transition implements ports.StatusSink.
func (t *tails) Transition(transition core.StoredTransition) {
	record := &transition.After
	building := record.Stage() == core.StageBuild && record.Status.StartBuildID != uuid.Nil
	t.mu.Lock()
	defer t.mu.Unlock()
	followed := t.followed[record.ID]
	switch {
	case building && followed == nil && len(t.followed) < maxTails:
		t.follow(record)
	case !building && followed != nil:
		followed.timer.Stop()
		delete(t.followed, record.ID)
	}
}

func (t *tails) follow(record *core.Record) {
	runner, err := t.dial(t.planes[record.Spec.ControlPlaneRef].Connection)
	follower, ok := runner.(ports.BuildLogFollower)
	if err != nil || !ok {
		return
	}
	followed := &tail{follower: follower, build: record.Status.StartBuildID}
	t.followed[record.ID] = followed
	t.plan(record.ID, followed)
}

func (t *tails) plan(test uuid.UUID, followed *tail) {
	followed.timer = t.clock.AfterFunc(tailEvery, func() { t.read(test, followed) })
}

// read shows the last line that is new. A failure is tried again.
func (t *tails) read(test uuid.UUID, followed *tail) {
	lines, _ := followed.follower.BuildLogAfter(t.ctx, followed.build, followed.after)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.followed[test] != followed || t.ctx.Err() != nil {
		return
	}
	last := ""
	for _, line := range lines {
		followed.after = max(followed.after, line.ID)
		// A progress bar prints carriage returns: what it shows is behind the last one.
		for text := range strings.Lines(core.Printable(line.Text)) {
			if text = strings.TrimSpace(text); text != "" {
				last = text
			}
		}
	}
	if last != "" {
		t.progress.Note(test, t.mask.Apply(last))
	}
	t.plan(test, followed)
}

// close ends what is under way.
func (t *tails) close() {
	t.stop()
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, followed := range t.followed {
		followed.timer.Stop()
	}
	clear(t.followed)
}
