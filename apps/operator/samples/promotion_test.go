package samples_test

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/assay-dev/assay/adapters/kubernetes/v1alpha1"
	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/fakes/clock"
	"github.com/assay-dev/assay/fakes/coderd"
	"github.com/assay-dev/assay/fakes/world"
	"github.com/assay-dev/assay/fakes/world/worldtest"
)

// kubectl stands in for the real one: it reads the test and keeps the note in files.
const kubectl = `#!/bin/sh
case "$1 $2" in
  "get codertemplatetest") cat "$STUB/test.json" ;;
  "get configmap") cat "$STUB/note.json" ;;
  "create configmap")
    [ ! -e "$STUB/note.json" ] || exit 1
    printf '{"data":{"templateID":"%s","activeVersionID":"%s"}}' \
      "${4#--from-literal=templateID=}" "${5#--from-literal=activeVersionID=}" >"$STUB/note.json"
    ;;
  *) exit 64 ;;
esac
`

// site is a Coder with the template acme.docker, whose version v2 is active and whose
// version v3 passed its test.
type site struct {
	t        *testing.T
	world    *world.World
	url      string
	template world.Template
	v2, v3   world.TemplateVersion
	admin    uuid.UUID
	token    string
	test     *v1alpha1.CoderTemplateTest
	folder   string
}

func newSite(t *testing.T) *site {
	t.Helper()
	for _, program := range []string{"sh", "curl", "jq"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("the script needs %s", program)
		}
	}
	now := clock.New(worldtest.Start)
	s := &site{t: t, world: world.New(now), folder: t.TempDir()}
	server := httptest.NewServer(coderd.New(s.world, now))
	t.Cleanup(server.Close)
	s.url = server.URL
	s.admin = s.world.AddUser(world.UserSpec{Username: "admin", Status: "active", SiteRoles: []string{world.RoleOwner}}).ID
	s.token = s.world.MintToken(s.admin)
	organization := s.world.AddOrganization("acme")
	s.template = s.world.AddTemplate(world.TemplateSpec{Name: "docker", Organization: organization.ID})
	s.v2 = s.version("v2", s.template.ID)
	s.v3 = s.version("v3", s.template.ID)
	s.test = &v1alpha1.CoderTemplateTest{
		ObjectMeta: metav1.ObjectMeta{Name: "docker-v3", Generation: 1},
		Spec:       v1alpha1.CoderTemplateTestSpec{Template: "acme.docker"},
		Status: v1alpha1.CoderTemplateTestStatus{
			ObservedGeneration: 1, Phase: "Succeeded", TemplateID: s.template.ID.String(), TemplateVersionID: s.v3.ID.String(),
			DeploymentID: s.world.Deployment().ID,
			Conditions:   []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue}},
		},
	}
	if err := os.WriteFile(filepath.Join(s.folder, "kubectl"), []byte(kubectl), 0o700); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *site) version(name string, template uuid.UUID) world.TemplateVersion {
	return s.world.AddVersion(world.VersionSpec{Name: name, Template: template})
}

// run runs the script in one of its modes.
func (s *site) run(mode string) (string, error) {
	s.t.Helper()
	test, err := json.Marshal(s.test)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.folder, "test.json"), test, 0o600); err != nil {
		s.t.Fatal(err)
	}
	command := exec.CommandContext(s.t.Context(), "sh", filepath.Join("promotion", "promote.sh"), mode)
	command.Env = []string{
		"PATH=" + s.folder + ":" + os.Getenv("PATH"), "STUB=" + s.folder, "HOME=" + s.folder,
		"TEST=docker-v3", "TEMPLATE=acme.docker", "CODER_URL=" + s.url, "CODER_SESSION_TOKEN=" + s.token,
	}
	output, err := command.CombinedOutput()
	if strings.Contains(string(output), s.token) {
		s.t.Errorf("the script tells the token: %s", output)
	}
	return string(output), err
}

func (s *site) note() {
	s.t.Helper()
	if output, err := s.run("note"); err != nil {
		s.t.Fatalf("note: %v: %s", err, output)
	}
}

func (s *site) active() uuid.UUID {
	s.t.Helper()
	template, err := s.world.Template(s.admin, s.template.ID)
	if err != nil {
		s.t.Fatal(err)
	}
	return template.ActiveVersion
}

func TestPromotion(t *testing.T) {
	s := newSite(t)
	s.note()
	for _, want := range []string{"is active now", "is active already"} {
		if output, err := s.run("promote"); err != nil || !strings.Contains(output, s.v3.ID.String()+" "+want) {
			t.Errorf("%v: %s, want %q", err, output, want)
		}
		if s.active() != s.v3.ID {
			t.Errorf("active is %s, want %s", s.active(), s.v3.ID)
		}
	}
}

func TestNoteIsTakenOnce(t *testing.T) {
	s := newSite(t)
	s.note()
	other := s.version("v4", s.template.ID)
	if err := s.world.Promote(s.admin, s.template.ID, other.ID); err != nil {
		t.Fatal(err)
	}
	// A job that runs again must not forget what was active before the test.
	s.note()
	if output, err := s.run("promote"); err == nil || !strings.Contains(output, "since the test began") || s.active() != other.ID {
		t.Errorf("%v: %s; active is %s", err, output, s.active())
	}
}

func TestPromotionIsRefused(t *testing.T) {
	for _, row := range []struct {
		why    string
		change func(s *site)
		want   string
	}{
		{"the test failed", func(s *site) { s.test.Status.Phase = string(core.PhaseFailed) }, "Failed, not Succeeded"},
		{"the test still runs", func(s *site) { s.test.Status.Phase = string(core.PhaseRunning) }, "Running, not Succeeded"},
		{"the test has no status", func(s *site) { s.test.Status = v1alpha1.CoderTemplateTestStatus{} }, "not about this test"},
		{"the test is new", func(s *site) { s.test.Status = v1alpha1.CoderTemplateTestStatus{ObservedGeneration: -1} }, "not about this test"},
		{"the status is of an older generation", func(s *site) { s.test.Generation = 2 }, "not about this test"},
		{"the test is being deleted", func(s *site) { s.test.DeletionTimestamp = &metav1.Time{Time: worldtest.Start} }, "being deleted"},
		{"the test is not ready", func(s *site) { s.test.Status.Conditions[0].Status = metav1.ConditionFalse }, "not Ready"},
		{"the test is of another template", func(s *site) { s.test.Spec.Template = "acme.vm" }, "not of acme.docker"},
		{"no version was tested", func(s *site) { s.test.Status.TemplateVersionID = "" }, "names no version"},
		{"the name meant another template when the note was taken", func(s *site) {
			s.test.Status.TemplateID = uuid.NewString()
		}, "meant another one"},
		{"another deployment answers", func(s *site) { s.test.Status.DeploymentID = uuid.NewString() }, "not the Coder"},
		{"the version is of another template", func(s *site) {
			other := s.world.AddTemplate(world.TemplateSpec{Name: "vm", Organization: s.template.Organization.ID})
			s.test.Status.TemplateVersionID = s.version("v3", other.ID).ID.String()
		}, "not of this template"},
		{"the version does not exist", func(s *site) { s.test.Status.TemplateVersionID = uuid.NewString() }, "404"},
		{"the version was archived", func(s *site) {
			if err := s.world.SetArchived(s.admin, s.v3.ID, true); err != nil {
				s.t.Fatal(err)
			}
		}, "archived"},
		{"the version's import failed", func(s *site) {
			failed := s.world.AddVersion(world.VersionSpec{
				Name: "v4", Template: s.template.ID, Import: world.ImportPlan{Ends: core.JobFailed},
			})
			s.test.Status.TemplateVersionID = failed.ID.String()
		}, "not imported"},
		{"somebody promoted another version meanwhile", func(s *site) {
			if err := s.world.Promote(s.admin, s.template.ID, s.version("v4", s.template.ID).ID); err != nil {
				s.t.Fatal(err)
			}
		}, "since the test began"},
		{"the note is missing", func(s *site) {
			if err := os.Remove(filepath.Join(s.folder, "note.json")); err != nil {
				s.t.Fatal(err)
			}
		}, "note.json"},
		{"the token is not let in", func(s *site) { s.world.RevokeTokens(s.admin) }, "401"},
	} {
		t.Run(row.why, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			note := fmt.Sprintf(`{"data":{"templateID":%q,"activeVersionID":%q}}`, s.template.ID, s.v2.ID)
			if err := os.WriteFile(filepath.Join(s.folder, "note.json"), []byte(note), 0o600); err != nil {
				t.Fatal(err)
			}
			row.change(s)
			before := s.active()
			output, err := s.run("promote")
			if err == nil || !strings.Contains(output, row.want) {
				t.Errorf("%v: %s, want %q", err, output, row.want)
			}
			if s.active() != before {
				t.Errorf("%s is active now, want %s still", s.active(), before)
			}
		})
	}
}

func TestScriptWantsAMode(t *testing.T) {
	s := newSite(t)
	if output, err := s.run("demote"); err == nil || !strings.Contains(output, "usage") {
		t.Errorf("%v: %s", err, output)
	}
}
