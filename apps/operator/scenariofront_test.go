package operator

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"go.uber.org/fx"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/assay-dev/assay/adapters/kubernetes"
	"github.com/assay-dev/assay/adapters/kubernetes/v1alpha1"
	"github.com/assay-dev/assay/adapters/systemclock"
	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/core/lifecycle"
	"github.com/assay-dev/assay/fakes/scenario"
)

// startup is longer than a process needs to fill its caches.
const startup = 10 * time.Second

// front tells a story through the operator: its controller with the work queue that it
// has in production, its reconciler, streams and watches. It lives in a synctest bubble,
// whose time is the queue's, and passes as the story's does.
type front struct {
	t       *testing.T
	objects *memory
	// store and planes read from the caches of the process that runs.
	store   *records
	planes  *planesOf
	process *process
	// first is the step that a process wants as it starts.
	first *scenario.Asked
}

var _ scenario.Front = (*front)(nil)

// process is a run of the operator.
type process struct {
	stop    context.CancelFunc
	ended   chan struct{}
	streams *testStreams
	woken   woken
	asks    chan *scenario.Asked
}

func newFront(t *testing.T) *front {
	t.Helper()
	objects := newMemory(t)
	f := &front{
		t: t, objects: objects,
		store:  &records{objects: objects, test: types.NamespacedName{Namespace: storyNamespace, Name: "test"}},
		planes: &planesOf{objects: objects},
	}
	return f
}

// Records implements scenario.Front.
func (f *front) Records() scenario.Records { return f.store }

// Planes implements scenario.Front.
func (f *front) Planes() scenario.Planes { return f.planes }

// Start implements scenario.Front. No time of the story passes meanwhile.
func (f *front) Start(engine *lifecycle.Engine) error {
	f.kill()
	m, err := f.objects.manager()
	if err != nil {
		return err
	}
	f.store.Store = kubernetes.NewStore(m.GetClient(), f.objects)
	f.planes.ControlPlanes = kubernetes.NewControlPlanes(m.GetClient(), f.objects, systemclock.New())
	ctx, stop := context.WithCancel(f.t.Context())
	p := &process{stop: stop, ended: make(chan struct{}), asks: make(chan *scenario.Asked)}
	p.streams, p.woken = followWorkspaces(noHooks{}, Env{Clock: systemclock.New()}, engine, slog.New(slog.DiscardHandler))
	if err := addTestController(m, Options{Workers: 8}, &asking{Engine: engine, asks: p.asks}, p.streams, p.woken, newTurns(8)); err != nil {
		return err
	}
	f.process = p
	go func() {
		defer close(p.ended)
		if err := m.Start(ctx); err != nil {
			f.t.Errorf("the manager ended: %v", err)
		}
	}()
	_, f.first = f.Wait(startup)
	return nil
}

// kill ends the process, as far as it has an end of its own: what it was told and asked
// for is lost.
func (f *front) kill() {
	if f.process == nil {
		return
	}
	f.process.stop()
	<-f.process.ended
	f.process.streams.Close()
	f.process, f.first = nil, nil
}

// Wait implements scenario.Front.
func (f *front) Wait(d time.Duration) (passed time.Duration, asked *scenario.Asked) {
	if f.first != nil {
		asked, f.first = f.first, nil
		return 0, asked
	}
	began := time.Now()
	timer := time.NewTimer(d)
	defer timer.Stop()
	// What is under way ends before time passes; only then nothing is left to chance.
	synctest.Wait()
	select {
	case asked = <-f.process.asks:
	case <-timer.C:
		synctest.Wait()
		select {
		case asked = <-f.process.asks:
		default:
		}
	}
	return time.Since(began), asked
}

// Wake implements scenario.Front.
func (f *front) Wake() {
	f.process.woken <- event.GenericEvent{Object: &v1alpha1.CoderTemplateTest{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.store.test.Namespace, Name: f.store.test.Name},
	}}
}

// asking is an engine whose steps the story does.
type asking struct {
	*lifecycle.Engine
	asks chan<- *scenario.Asked
}

type answer struct {
	next lifecycle.Next
	err  error
}

// Step implements engine.
func (a *asking) Step(ctx context.Context, _ uuid.UUID, seen *core.Workspace) (lifecycle.Next, error) {
	answers := make(chan answer)
	asked := &scenario.Asked{Seen: seen, Answer: func(took time.Duration, next lifecycle.Next, err error) {
		<-time.After(took)
		select {
		case answers <- answer{next, err}:
		case <-ctx.Done():
		}
		synctest.Wait()
	}}
	select {
	case a.asks <- asked:
	case <-ctx.Done():
		return lifecycle.Next{}, ctx.Err()
	}
	select {
	case got := <-answers:
		return got.next, got.err
	case <-ctx.Done():
		return lifecycle.Next{}, ctx.Err()
	}
}

// noHooks is a life without an end: the front ends what it started.
type noHooks struct{}

func (noHooks) Append(fx.Hook) {}
