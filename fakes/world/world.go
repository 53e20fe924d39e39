package world

import (
	"container/heap"
	"encoding/binary"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/ports"
)

// Version is what the deployment says it is.
const Version = "v2.36.1"

// DefaultOrganization is the name of the organization that every new deployment has.
const DefaultOrganization = "coder"

// MemberRole is the organization role that Coder grants to every member of a new
// organization by default (seen).
const MemberRole = "organization-workspace-access"

// World is one Coder deployment. It is safe for concurrent use.
type World struct {
	mu    sync.Mutex
	clock ports.Clock
	seed  uint16

	// epoch is what the deployment's wall clock says when clock.Monotonic is 0. The
	// deployment is another machine: a jump of the clock's wall is not its own.
	epoch time.Time
	// now is the monotonic time that the world is at. While events are applied it is
	// the time of each event, so that a late look finds the right stamps.
	now      time.Duration
	events   events
	sequence uint64

	deployment    string
	ids           map[idKind]uint64
	organizations []*organization
	users         map[uuid.UUID]*user
	tokens        map[string]*user
	// sessions says whose session token the Terraform of a workspace holds.
	sessions      map[uuid.UUID]uuid.UUID
	links         map[externalLink]bool
	templates     []*template
	versions      map[uuid.UUID]*version
	workspaces    []*workspace
	workspaceByID map[uuid.UUID]*workspace
	buildByID     map[uuid.UUID]*build
	agentByID     map[uuid.UUID]*agent
	planned       map[planKey][]BuildPlan
	files         map[uuid.UUID]file
	// provisioners are by organization; see SetProvisioners.
	provisioners map[uuid.UUID][]Provisioner
	quotas       map[quotaKey]Budget
	lasting      map[string]lasting
	// published plans the versions that front ends make.
	published func(name string, tar []byte) VersionSpec

	// licensed: service accounts can be made.
	licensed bool

	requests map[string]int
	changes  []Change
	limiter  limiter

	watchers map[uuid.UUID][]*watcher
	// touched are the workspaces that changed since the lock was taken.
	touched  []uuid.UUID
	alarm    ports.Timer
	somebody uuid.UUID
	// away is what SwapDeployment put away; nil before its first call.
	away *holdings
}

// Option changes what New makes.
type Option func(*World)

// Seed makes the IDs of this world differ from those of worlds with other seeds.
func Seed(seed uint16) Option { return func(w *World) { w.seed = seed } }

// New makes a deployment with one empty organization, DefaultOrganization, and nobody
// in it but Coder's prebuilds system user. Its wall clock agrees with the given clock.
func New(clock ports.Clock, options ...Option) *World {
	w := &World{
		clock: clock, epoch: clock.Now().Add(-clock.Monotonic()), now: clock.Monotonic(),
		ids: map[idKind]uint64{}, users: map[uuid.UUID]*user{}, tokens: map[string]*user{},
		sessions: map[uuid.UUID]uuid.UUID{}, links: map[externalLink]bool{}, versions: map[uuid.UUID]*version{},
		workspaceByID: map[uuid.UUID]*workspace{}, buildByID: map[uuid.UUID]*build{}, agentByID: map[uuid.UUID]*agent{},
		planned: map[planKey][]BuildPlan{}, files: map[uuid.UUID]file{},
		provisioners: map[uuid.UUID][]Provisioner{}, quotas: map[quotaKey]Budget{}, lasting: map[string]lasting{},
		requests: map[string]int{}, limiter: newLimiter(), watchers: map[uuid.UUID][]*watcher{},
	}
	for _, option := range options {
		option(w)
	}
	w.deployment = w.newID(idDeployment).String()
	w.organizations = append(w.organizations, &organization{
		id: w.newID(idOrganization), name: DefaultOrganization, defaultRoles: []string{MemberRole}, isDefault: true,
	})
	w.users[core.PrebuildsUserID] = &user{
		id: core.PrebuildsUserID, username: "prebuilds", email: "prebuilds@system", status: UserActive, loginType: "none",
		created: w.stamp(), system: true, memberships: map[uuid.UUID][]string{w.organizations[0].id: nil},
	}
	return w
}

// lock takes the lock and lets everything happen that is due by now.
func (w *World) lock() {
	w.mu.Lock()
	w.settle()
}

// unlock gives the lock back and then tells the watchers what changed under it.
func (w *World) unlock() {
	calls := w.takeCalls()
	w.rearm()
	w.mu.Unlock()
	for _, call := range calls {
		call()
	}
}

// Settle lets everything happen that is due by now. Every other method does so first.
func (w *World) Settle() {
	w.lock()
	defer w.unlock()
}

func (w *World) settle() {
	now := w.clock.Monotonic()
	for {
		next := w.nextEvent()
		if next == nil || next.due > now {
			break
		}
		heap.Pop(&w.events)
		w.now = max(w.now, next.due)
		next.apply()
	}
	w.now = max(w.now, now)
}

// NextEvent is when, by the clock's wall clock of now, the world changes next by
// itself, and whether it ever does.
func (w *World) NextEvent() (time.Time, bool) {
	w.lock()
	defer w.unlock()
	next := w.nextEvent()
	if next == nil {
		return time.Time{}, false
	}
	return w.clock.Now().Add(next.due - w.clock.Monotonic()), true
}

// ServerTime is the deployment's wall clock, as precise as its database.
func (w *World) ServerTime() time.Time {
	w.lock()
	defer w.unlock()
	return w.stamp()
}

// JumpServerTime sets the deployment's wall clock forward, or back for a negative d.
// Nothing comes due by it.
func (w *World) JumpServerTime(d time.Duration) {
	w.lock()
	defer w.unlock()
	w.epoch = w.epoch.Add(d)
}

// Deployment is the deployment's identity, as GET /buildinfo tells it to anybody.
func (w *World) Deployment() core.Deployment {
	w.lock()
	defer w.unlock()
	w.count("read deployment")
	return core.Deployment{ID: w.deployment, Version: Version, ServerTime: w.stamp().Truncate(time.Second)}
}

// After calls f under no lock once d has passed, in order with everything else that
// happens in the world. A test uses it to have other people act at a certain time.
func (w *World) After(d time.Duration, f func()) {
	w.clock.AfterFunc(d, f)
}

// stamp is the deployment's wall clock in microseconds, which is what its database
// keeps.
func (w *World) stamp() time.Time { return w.epoch.Add(w.now).UTC().Truncate(time.Microsecond) }

// event is something that will happen by itself.
type event struct {
	due      time.Duration
	sequence uint64
	apply    func()
	// off tells that something else happened first.
	off bool
}

// in plans a call of apply, under the lock, once d has passed.
func (w *World) in(d time.Duration, apply func()) *event {
	e := &event{due: w.now + max(d, 0), sequence: w.sequence, apply: apply}
	w.sequence++
	heap.Push(&w.events, e)
	return e
}

// nextEvent drops events that are off and returns the first of the others, or nil.
func (w *World) nextEvent() *event {
	for len(w.events) > 0 && w.events[0].off {
		heap.Pop(&w.events)
	}
	if len(w.events) == 0 {
		return nil
	}
	return w.events[0]
}

// events is a heap: the one due first is first.
type events []*event

func (h events) Len() int { return len(h) }

func (h events) Less(i, j int) bool {
	if h[i].due != h[j].due {
		return h[i].due < h[j].due
	}
	return h[i].sequence < h[j].sequence
}

func (h events) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *events) Push(x any)   { *h = append(*h, x.(*event)) }

func (h *events) Pop() any {
	last := len(*h) - 1
	e := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return e
}

// idKind is the first group of an ID: a trail shows at a glance what an ID is of.
type idKind uint32

const (
	idDeployment   idKind = 0xde910001
	idOrganization idKind = 0x00900001
	idUser         idKind = 0x05e00001
	idTemplate     idKind = 0x7e300001
	idVersion      idKind = 0x7e300002
	idPreset       idKind = 0x7e300003
	idWorkspace    idKind = 0x30000001
	idBuild        idKind = 0xb0000001
	idJob          idKind = 0xb0000002
	idResource     idKind = 0xb0000003
	idAgent        idKind = 0xa0000001
	idScript       idKind = 0xa0000002
	idFile         idKind = 0xf0000001
	idToken        idKind = 0x70000001
	idProvisioner  idKind = 0x90000001
)

// newID counts: the same scenario gives the same IDs.
func (w *World) newID(kind idKind) uuid.UUID {
	w.ids[kind]++
	var id uuid.UUID
	binary.BigEndian.PutUint64(id[8:], w.ids[kind])
	binary.BigEndian.PutUint32(id[0:], uint32(kind))
	binary.BigEndian.PutUint16(id[4:], w.seed)
	id[6], id[8] = 0x40, 0x80
	return id
}
