package coderd_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/coder/coder/v2/codersdk"
	"github.com/google/uuid"

	"github.com/assay-dev/assay/fakes/clock"
	"github.com/assay-dev/assay/fakes/coderd"
	"github.com/assay-dev/assay/fakes/world"
	"github.com/assay-dev/assay/fakes/world/worldtest"
)

// site is a new deployment behind a server, without any user.
type site struct {
	*world.World
	clock  *clock.Clock
	server *httptest.Server
	client *codersdk.Client
}

func newSite(t *testing.T, options ...coderd.Option) *site {
	t.Helper()
	s := &site{clock: clock.New(worldtest.Start)}
	s.World = world.New(s.clock)
	s.server = httptest.NewServer(coderd.New(s.World, s.clock, options...))
	t.Cleanup(s.server.Close)
	at, err := url.Parse(s.server.URL)
	if err != nil {
		t.Fatal(err)
	}
	s.client = codersdk.New(at)
	return s
}

// statusOf is the status code of an error of the SDK.
func statusOf(err error) int {
	var said *codersdk.Error
	if errors.As(err, &said) {
		return said.StatusCode()
	}
	return 0
}

func must[T any](t *testing.T) func(T, error) T {
	return func(value T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatalf("unexpected error: %v", err)
		}
		return value
	}
}

// TestFromNothingToAWorkspace tells the story of a new deployment with Coder's own SDK:
// the first user, a tester, a template, a version that is pushed and promoted, and a
// workspace.
func TestFromNothingToAWorkspace(t *testing.T) {
	ctx := t.Context()
	s := newSite(t)
	if has := must[bool](t)(s.client.HasFirstUser(ctx)); has {
		t.Fatal("a new deployment has a user")
	}
	first := must[codersdk.CreateFirstUserResponse](t)(s.client.CreateFirstUser(ctx, codersdk.CreateFirstUserRequest{
		Email: "admin@example.com", Username: "admin", Password: "correct horse",
	}))
	if _, err := s.client.CreateFirstUser(ctx, codersdk.CreateFirstUserRequest{Username: "second"}); statusOf(err) != http.StatusConflict {
		t.Errorf("a second first user: %v", err)
	}
	if _, err := s.client.LoginWithPassword(ctx, codersdk.LoginWithPasswordRequest{Email: "admin@example.com", Password: "wrong"}); statusOf(err) != http.StatusUnauthorized {
		t.Errorf("a wrong password: %v", err)
	}
	login := must[codersdk.LoginWithPasswordResponse](t)(s.client.LoginWithPassword(ctx, codersdk.LoginWithPasswordRequest{
		Email: "admin@example.com", Password: "correct horse",
	}))
	s.client.SetSessionToken(login.SessionToken)

	tester := must[codersdk.User](t)(s.client.CreateUserWithOrgs(ctx, codersdk.CreateUserRequestWithOrgs{
		Email: "tester@example.com", Username: "tester", UserLoginType: codersdk.LoginTypePassword, Password: "battery staple", OrganizationIDs: []uuid.UUID{first.OrganizationID},
	}))
	if tester.Status != codersdk.UserStatusDormant {
		t.Errorf("a new user is %s, want dormant", tester.Status)
	}
	tester = must[codersdk.User](t)(s.client.UpdateUserStatus(ctx, "tester", codersdk.UserStatusActive))
	if tester.Status != codersdk.UserStatusActive || len(tester.Roles) != 0 {
		t.Errorf("the tester is %s with the roles %v", tester.Status, tester.Roles)
	}
	organization := must[codersdk.Organization](t)(s.client.OrganizationByName(ctx, "CODER"))
	if !organization.IsDefault || len(organization.DefaultOrgMemberRoles) != 1 {
		t.Errorf("organization %+v", organization)
	}

	file := must[codersdk.UploadResponse](t)(s.client.Upload(ctx, codersdk.ContentTypeTar, strings.NewReader("main.tf")))
	push := func(template uuid.UUID, name string) codersdk.TemplateVersion {
		t.Helper()
		return must[codersdk.TemplateVersion](t)(s.client.CreateTemplateVersion(ctx, first.OrganizationID, codersdk.CreateTemplateVersionRequest{
			Name: name, TemplateID: template, StorageMethod: codersdk.ProvisionerStorageMethodFile, FileID: file.ID,
			Provisioner: codersdk.ProvisionerTypeTerraform,
		}))
	}
	v1 := push(uuid.Nil, "v1")
	if v1.Job.Status != codersdk.ProvisionerJobPending {
		t.Errorf("a new version's import is %s", v1.Job.Status)
	}
	template := must[codersdk.Template](t)(s.client.CreateTemplate(ctx, first.OrganizationID, codersdk.CreateTemplateRequest{Name: "docker", VersionID: v1.ID}))
	s.clock.Advance(2 * time.Second)
	v2 := push(template.ID, "v2")
	promote := func() error {
		return s.client.UpdateActiveTemplateVersion(ctx, template.ID, codersdk.UpdateActiveTemplateVersion{ID: v2.ID})
	}
	if err := promote(); statusOf(err) != http.StatusForbidden {
		t.Errorf("promote what is being imported: %v", err)
	}
	s.clock.Advance(2 * time.Second)
	if err := promote(); err != nil {
		t.Errorf("promote: %v", err)
	}
	template = must[codersdk.Template](t)(s.client.TemplateByName(ctx, first.OrganizationID, "Docker"))
	if template.ActiveVersionID != v2.ID {
		t.Error("the promoted version is not the active one")
	}

	ws := must[codersdk.Workspace](t)(s.client.CreateUserWorkspace(ctx, "tester", codersdk.CreateWorkspaceRequest{TemplateVersionID: v2.ID, Name: "w"}))
	if ws.LatestBuild.BuildNumber != 1 || ws.LatestBuild.Job.Status != codersdk.ProvisionerJobPending || ws.LatestBuild.InitiatorID != first.UserID {
		t.Errorf("build %d is %s", ws.LatestBuild.BuildNumber, ws.LatestBuild.Job.Status)
	}
	s.clock.Advance(5 * time.Second)
	ws = must[codersdk.Workspace](t)(s.client.Workspace(ctx, ws.ID))
	agent := ws.LatestBuild.Resources[0].Agents[0]
	if ws.LatestBuild.Status != codersdk.WorkspaceStatusRunning || agent.LifecycleState != codersdk.WorkspaceAgentLifecycleReady || !ws.Health.Healthy {
		t.Errorf("workspace is %s, agent %s", ws.LatestBuild.Status, agent.LifecycleState)
	}
	must[codersdk.WorkspaceBuild](t)(s.client.CreateWorkspaceBuild(ctx, ws.ID, codersdk.CreateWorkspaceBuildRequest{Transition: codersdk.WorkspaceTransitionDelete}))
	s.clock.Advance(5 * time.Second)
	if _, err := s.client.Workspace(ctx, ws.ID); statusOf(err) != http.StatusGone {
		t.Errorf("read what is deleted: %v", err)
	}
	if ws = must[codersdk.Workspace](t)(s.client.DeletedWorkspace(ctx, ws.ID)); ws.LatestBuild.Status != codersdk.WorkspaceStatusDeleted {
		t.Errorf("the deleted workspace is %s", ws.LatestBuild.Status)
	}
}

// get sends a bare request, without following redirects.
func (s *site) get(t *testing.T, path, token string) (*http.Response, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.server.URL+"/api/v2"+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set(codersdk.SessionTokenHeader, token)
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := client.Do(r)
	if err == nil {
		t.Cleanup(func() { _ = response.Body.Close() })
	}
	return response, err
}

func TestHeadersAndRefusals(t *testing.T) {
	s := newSite(t)
	token := s.MintToken(s.AddUser(world.UserSpec{Username: "admin", SiteRoles: []string{world.RoleOwner}}).ID)
	s.LimitRate(2)
	for _, c := range []struct {
		why, path, token string
		want             int
	}{
		{"a good token", "/users/me", token, http.StatusOK},
		{"a bad token", "/users/me", "bad", http.StatusUnauthorized},
		{"no token", "/users/me", "", http.StatusUnauthorized},
		{"no token is needed", "/buildinfo", "", http.StatusOK},
		{"no such route", "/nothing", token, http.StatusNotFound},
		{"no such workspace", "/workspaces/" + uuid.NewString(), token, http.StatusNotFound},
		{"no ID", "/workspaces/w", token, http.StatusBadRequest},
		{"no boolean", "/workspaces/" + uuid.NewString() + "?include_deleted=maybe", token, http.StatusBadRequest},
		{"a filter that Coder refuses", "/workspaces?q=deleted:true", token, http.StatusBadRequest},
		{"the second of two", "/users/me", token, http.StatusOK},
		{"one too many", "/users/me", token, http.StatusTooManyRequests},
	} {
		response, err := s.get(t, c.path, c.token)
		if err != nil {
			t.Fatalf("%s: %v", c.why, err)
		}
		if response.StatusCode != c.want || response.Header.Get("X-Coder-Build-Version") != world.Version {
			t.Errorf("%s: %d from %q, want %d", c.why, response.StatusCode, response.Header.Get("X-Coder-Build-Version"), c.want)
		}
		if date, err := http.ParseTime(response.Header.Get("Date")); err != nil || !date.Equal(worldtest.Start) {
			t.Errorf("%s: dated %v, want the deployment's time", c.why, date)
		}
		if c.want == http.StatusTooManyRequests && response.Header.Get("Retry-After") != "60" {
			t.Errorf("%s: retry after %q", c.why, response.Header.Get("Retry-After"))
		}
	}
}

func TestProxies(t *testing.T) {
	for _, c := range []struct {
		why      string
		fault    coderd.Fault
		status   int
		coders   bool
		reaches  int
		unusable bool
	}{
		{why: "nothing", status: http.StatusCreated, coders: true, reaches: 1},
		{why: "a page instead", fault: coderd.Fault{Kind: coderd.Page}, status: http.StatusBadGateway},
		{why: "a page after the effect", fault: coderd.Fault{Kind: coderd.Page, Status: http.StatusGatewayTimeout, Effect: true}, status: http.StatusGatewayTimeout, reaches: 1},
		{why: "a 404 that is not Coder's", fault: coderd.Fault{Kind: coderd.Plain}, status: http.StatusNotFound},
		{why: "a login page", fault: coderd.Fault{Kind: coderd.Redirect}, status: http.StatusFound},
		{why: "a dropped connection", fault: coderd.Fault{Kind: coderd.Drop}, unusable: true},
		{why: "a dropped connection after the effect", fault: coderd.Fault{Kind: coderd.Drop, Effect: true}, unusable: true, reaches: 1},
		{why: "half an answer", fault: coderd.Fault{Kind: coderd.Cut}, unusable: true, reaches: 1},
	} {
		s := newSite(t, coderd.WithHook(func(r *http.Request) coderd.Fault {
			if r.Method == http.MethodPost {
				return c.fault
			}
			return coderd.Fault{}
		}))
		admin := s.AddUser(world.UserSpec{Username: "admin", SiteRoles: []string{world.RoleOwner}})
		s.client.SetSessionToken(s.MintToken(admin.ID))
		s.client.HTTPClient.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		response, err := s.client.Request(t.Context(), http.MethodPost, "/api/v2/users/me/keys/tokens", nil)
		if err == nil {
			var read codersdk.GenerateAPIKeyResponse
			if c.fault.Kind == coderd.Cut {
				err = decodeJSON(response, &read)
			}
			_ = response.Body.Close()
		}
		switch {
		case c.unusable && err == nil:
			t.Errorf("%s: an answer came", c.why)
		case !c.unusable && err != nil:
			t.Errorf("%s: %v", c.why, err)
		case !c.unusable && (response.StatusCode != c.status || (response.Header.Get("X-Coder-Build-Version") != "") != c.coders):
			t.Errorf("%s: %d, Coder's header %q", c.why, response.StatusCode, response.Header.Get("X-Coder-Build-Version"))
		}
		if got := s.Requests()["create token"]; got != c.reaches {
			t.Errorf("%s: Coder got %d requests, want %d", c.why, got, c.reaches)
		}
	}
}

func TestASlowAnswerComesByTheClock(t *testing.T) {
	s := newSite(t, coderd.WithHook(func(*http.Request) coderd.Fault {
		return coderd.Fault{Kind: coderd.Slow, Delay: time.Minute}
	}))
	answered := make(chan error, 1)
	go func() {
		_, err := s.client.BuildInfo(context.WithoutCancel(t.Context()))
		answered <- err
	}()
	s.awaitTimer()
	s.clock.Advance(59 * time.Second)
	select {
	case err := <-answered:
		t.Errorf("the answer came too early, with the error %v", err)
	default:
	}
	s.clock.Advance(time.Second)
	if err := <-answered; err != nil {
		t.Errorf("slow answer: %v", err)
	}
}

// awaitTimer returns once the server waits for the clock.
func (s *site) awaitTimer() {
	for {
		if _, armed := s.clock.NextTimer(); armed {
			return
		}
		runtime.Gosched()
	}
}

func TestAStreamIsPinged(t *testing.T) {
	s := newSite(t)
	admin := s.AddUser(world.UserSpec{Username: "admin", SiteRoles: []string{world.RoleOwner}})
	template := s.AddTemplate(world.TemplateSpec{Organization: admin.Memberships[0].Organization.ID, Name: "docker"})
	version := s.AddVersion(world.VersionSpec{Template: template.ID, Name: "v1"})
	ws, err := s.CreateWorkspace(admin.ID, world.CreateWorkspace{Owner: admin.ID, Version: version.ID, Name: "w"})
	if err != nil {
		t.Fatal(err)
	}
	response, err := s.get(t, "/workspaces/"+ws.ID.String()+"/watch", s.MintToken(admin.ID))
	if err != nil {
		t.Fatal(err)
	}
	kinds := make(chan string)
	go readKinds(response, kinds)
	var first []string
	for range 2 {
		first = append(first, <-kinds)
	}
	if first[0] != "ping" || first[1] != "data" {
		t.Errorf("the stream begins with %v", first)
	}
	for range 3 {
		s.awaitTimer()
		s.clock.Advance(15 * time.Second)
		if kind := <-kinds; kind != "ping" {
			t.Errorf("after the heartbeat's time comes %q", kind)
		}
	}
}
