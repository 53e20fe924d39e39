package world

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
)

// CreateBuild asks for a further build of a workspace.
type CreateBuild struct {
	Transition core.Transition
	// Version is uuid.Nil for that of the latest build.
	Version    uuid.UUID
	Parameters []ParameterValue
}

// Build is a build of a workspace.
type Build struct {
	ID        uuid.UUID
	Workspace uuid.UUID
	// WorkspaceName, Owner and Organization are the workspace's.
	WorkspaceName string
	Owner         User
	Organization  uuid.UUID
	Number        int
	Transition    core.Transition
	Initiator     User
	// Automatic: Coder started it by itself; Initiator is the owner then.
	Automatic bool
	Version   uuid.UUID
	// VersionName is the version's name.
	VersionName string
	Preset      uuid.UUID
	CreatedAt   time.Time
	UpdatedAt   time.Time
	Job         Job
	// Agents are filled in for the latest build of a workspace.
	Agents []Agent
	// Resource is the ID of the one resource that a start build makes.
	Resource uuid.UUID
}

// Job is a provisioner job, of a build or of a version's import.
type Job struct {
	ID     uuid.UUID
	Status core.JobStatus
	// Error can hold what the template printed.
	Error       string
	ErrorCode   string
	CreatedAt   time.Time
	StartedAt   time.Time
	CanceledAt  time.Time
	CompletedAt time.Time
	// Provisioners is how many daemons match the job's tags.
	Provisioners int
	// Available is, of a pending import, how many of them are there.
	Available int
	// Tags are shared and never change; TagList is the same as "key=value", sorted.
	Tags    map[string]string
	TagList []string
}

type build struct {
	id         uuid.UUID
	workspace  *workspace
	number     int
	transition core.Transition
	initiator  uuid.UUID
	automatic  bool
	version    *version
	preset     uuid.UUID
	parameters []ParameterValue
	plan       BuildPlan
	created    time.Time
	job        *job
	// next is what the job will do by itself, unless it is canceled first.
	next     *event
	agents   []*agent
	resource uuid.UUID
	logs     []LogLine
}

type job struct {
	id           uuid.UUID
	errorText    string
	errorCode    string
	created      time.Time
	started      time.Time
	canceled     time.Time
	completed    time.Time
	updated      time.Time
	provisioners int
	tags         map[string]string
	tagList      []string
}

// status is derived as Coder's database does it: a job that was canceled and then
// failed is "failed".
func (j *job) status() core.JobStatus {
	ended := !j.completed.IsZero()
	switch {
	case j.errorText != "":
		return core.JobFailed
	case ended && !j.canceled.IsZero():
		return core.JobCanceled
	case ended:
		return core.JobSucceeded
	case !j.canceled.IsZero():
		return core.JobCanceling
	case j.started.IsZero():
		return core.JobPending
	default:
		return core.JobRunning
	}
}

func (j *job) view() Job {
	return Job{
		ID: j.id, Status: j.status(), Error: j.errorText, ErrorCode: j.errorCode, CreatedAt: j.created, StartedAt: j.started,
		CanceledAt: j.canceled, CompletedAt: j.completed, Provisioners: j.provisioners, Tags: j.tags, TagList: j.tagList,
	}
}

// coderTags are the tags that Coder itself puts on a job, with the template's own.
func coderTags(owner uuid.UUID, tags map[string]string) map[string]string {
	all := map[string]string{"scope": "organization", "owner": ""}
	maps.Copy(all, tags)
	if all["scope"] == "user" {
		all["owner"] = owner.String()
	}
	return all
}

// CreateBuild makes a build: Conflict while another one is active, and for a start or
// stop of a deleted workspace. A delete of a deleted workspace is accepted (seen).
func (w *World) CreateBuild(actor, workspaceID uuid.UUID, request CreateBuild) (Build, error) {
	w.lock()
	defer w.unlock()
	return w.createBuild(actor, workspaceID, request, false)
}

func (w *World) createBuild(actor, workspaceID uuid.UUID, request CreateBuild, byPeople bool) (Build, error) {
	change := Change{
		Actor: actor, ByPeople: byPeople, Op: string(request.Transition), Workspace: workspaceID, Version: request.Version,
	}
	b, refused := w.tryBuild(actor, workspaceID, request, &change)
	w.record(change, refused)
	if refused != nil {
		return Build{}, refused
	}
	return w.buildView(b), nil
}

func (w *World) tryBuild(actor, workspaceID uuid.UUID, request CreateBuild, change *Change) (*build, *Error) {
	ws := w.readableWorkspace(actor, workspaceID)
	if ws == nil {
		return nil, notFound()
	}
	change.Owner = ws.owner
	if ws.deleted && request.Transition != core.TransitionDelete {
		return nil, refuse(Conflict, "Cannot %s a deleted workspace!", request.Transition)
	}
	if !w.mayChangeWorkspaces(actor, ws.owner, ws.organization) {
		return nil, refuse(Forbidden, "You do not have permission to %s this workspace.", request.Transition)
	}
	v, t := ws.latest().version, w.template(ws.template)
	if request.Version != uuid.Nil {
		if v = w.readableVersion(actor, request.Version); v == nil {
			return nil, refuse(Invalid, "template version does not exist")
		}
	}
	if refused := v.buildable(t); refused != nil {
		return nil, refused
	}
	if ws.latest().job.status().Active() {
		return nil, refuse(Conflict, "A workspace build is already active.")
	}
	parameters := ws.latest().parameters
	if len(request.Parameters) > 0 {
		var refused *Error
		if parameters, refused = v.resolve(t.classic, append(slices.Clone(parameters), request.Parameters...), nil); refused != nil {
			return nil, refused
		}
	}
	b := w.addBuild(ws, v, request.Transition, actor, parameters)
	change.Build, change.Version = b.id, v.id
	return b, nil
}

// CancelBuild marks a build's job as canceled. Expected is "pending", "running" or
// empty for either.
func (w *World) CancelBuild(actor, buildID uuid.UUID, expected core.JobStatus) error {
	w.lock()
	defer w.unlock()
	return w.cancelBuild(actor, buildID, expected, false)
}

func (w *World) cancelBuild(actor, buildID uuid.UUID, expected core.JobStatus, byPeople bool) error {
	change := Change{Actor: actor, ByPeople: byPeople, Op: "cancel", Build: buildID}
	refused := w.tryCancel(actor, buildID, expected, &change)
	w.record(change, refused)
	if refused != nil {
		return refused
	}
	return nil
}

// tryCancel checks in Coder's own order (source).
func (w *World) tryCancel(actor, buildID uuid.UUID, expected core.JobStatus, change *Change) *Error {
	if expected != "" && expected != core.JobPending && expected != core.JobRunning {
		return refuse(Invalid, "Invalid expect_status %q. Only 'running' or 'pending' are allowed.", expected)
	}
	b := w.buildByID[buildID]
	if b == nil || w.readableWorkspace(actor, b.workspace.id) == nil {
		return notFound()
	}
	change.Workspace, change.Owner = b.workspace.id, b.workspace.owner
	if expected != core.JobPending && w.template(b.workspace.template).forbidCancel && !w.hasSiteRole(actor, RoleOwner) {
		return refuse(Forbidden, "User is not allowed to cancel workspace builds. Owner role is required.")
	}
	if !w.mayChangeWorkspaces(actor, b.workspace.owner, b.workspace.organization) {
		return refuse(Internal, "Internal error updating provisioner job.")
	}
	switch {
	case !b.job.completed.IsZero():
		return refuse(Invalid, "Job has already completed!")
	case !b.job.canceled.IsZero():
		return refuse(Invalid, "Job has already been marked as canceled!")
	case expected != "" && b.job.status() != expected:
		return refuse(Precondition, "Job is not in the expected state.")
	}
	w.cancelJob(b)
	return nil
}

// Build reads a build, without agents.
func (w *World) Build(actor, id uuid.UUID) (Build, error) {
	w.lock()
	defer w.unlock()
	w.count("read build")
	b := w.buildByID[id]
	if b == nil || w.readableWorkspace(actor, b.workspace.id) == nil {
		return Build{}, notFound()
	}
	view := w.buildView(b)
	view.Agents = w.agentViews(b)
	return view, nil
}

// Builds lists a workspace's builds, the newest first as Coder does, deleted workspaces
// included (seen).
func (w *World) Builds(actor, workspaceID uuid.UUID) ([]Build, error) {
	w.lock()
	defer w.unlock()
	w.count("list builds")
	ws := w.readableWorkspace(actor, workspaceID)
	if ws == nil {
		return nil, notFound()
	}
	views := make([]Build, 0, len(ws.builds))
	for _, b := range slices.Backward(ws.builds) {
		views = append(views, w.buildView(b))
	}
	return views, nil
}

// BuildByNumber finds a build of an owner's workspace by its number: NotFound once the
// workspace is deleted (seen).
func (w *World) BuildByNumber(actor, owner uuid.UUID, name, number string) (Build, error) {
	w.lock()
	defer w.unlock()
	w.count("read build by number")
	u := w.user(owner)
	if u == nil || !w.mayReadMember(actor, u) {
		return Build{}, notFound()
	}
	ws := w.liveNamed(u.id, name)
	if ws == nil || !w.mayReadWorkspaces(actor, ws.owner, ws.organization) {
		return Build{}, notFound()
	}
	n, err := strconv.Atoi(number)
	if err != nil {
		return Build{}, refuse(Invalid, "Failed to parse build number as integer.")
	}
	if n < 1 || n > len(ws.builds) {
		return Build{}, refuse(NotFound, "Workspace %q Build %d does not exist.", name, n)
	}
	view := w.buildView(ws.builds[n-1])
	view.Agents = w.agentViews(ws.builds[n-1])
	return view, nil
}

func (w *World) buildView(b *build) Build {
	return Build{
		ID: b.id, Workspace: b.workspace.id, WorkspaceName: b.workspace.name, Owner: w.users[b.workspace.owner].view(),
		Organization: b.workspace.organization, Number: b.number, Transition: b.transition,
		Initiator: w.users[b.initiator].view(), Automatic: b.automatic, Version: b.version.id, VersionName: b.version.name, Preset: b.preset,
		CreatedAt: b.created, UpdatedAt: b.job.updated, Job: b.job.view(), Resource: b.resource,
	}
}

// tagList is tags as "key=value", sorted.
func tagList(tags map[string]string) []string {
	list := make([]string, 0, len(tags))
	for key, value := range tags {
		list = append(list, key+"="+value)
	}
	slices.SortFunc(list, strings.Compare)
	return list
}
