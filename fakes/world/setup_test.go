package world_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/fakes/clock"
	"github.com/assay-dev/assay/fakes/world"
)

func TestProvisionersTakeJobsByTheirTags(t *testing.T) {
	w := world.New(clock.New(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)))
	admin := w.AddUser(world.UserSpec{Username: "admin", SiteRoles: []string{world.RoleOwner}})
	organization := admin.Memberships[0].Organization.ID
	w.SetProvisioners(organization,
		world.Provisioner{Name: "plain"},
		world.Provisioner{Name: "gpu", Tags: map[string]string{"pool": "gpu", "os": "linux"}},
		world.Provisioner{Name: "gone", Tags: map[string]string{"pool": "cpu"}, Status: "offline"},
	)
	base := map[string]string{"scope": "organization", "owner": ""}
	for _, row := range []struct {
		more map[string]string
		want string
		why  string
	}{
		{nil, "plain", "a job without tags goes to untagged daemons alone"},
		{map[string]string{"pool": "gpu"}, "gpu", "a daemon may have more tags than the job wants"},
		{map[string]string{"pool": "cpu"}, "gone", "an offline one takes jobs, too, once it is back"},
		{map[string]string{"pool": "tpu"}, "", "nobody has this tag"},
		{map[string]string{"scope": "user", "owner": uuid.NewString()}, "", "nobody works for this user"},
	} {
		tags := map[string]string{}
		for _, one := range []map[string]string{base, row.more} {
			for key, value := range one {
				tags[key] = value
			}
		}
		found, err := w.Provisioners(admin.ID, organization, tags)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, daemon := range found {
			got += daemon.Name
		}
		if got != row.want {
			t.Errorf("tags %v go to %q, want %q: %s", tags, got, row.want, row.why)
		}
	}
}

func TestVersionThatNobodyTakesStaysPending(t *testing.T) {
	virtual := clock.New(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	w := world.New(virtual)
	admin := w.AddUser(world.UserSpec{Username: "admin", SiteRoles: []string{world.RoleOwner}})
	template := w.AddTemplate(world.TemplateSpec{Organization: admin.Memberships[0].Organization.ID, Name: "docker"})
	version := w.AddVersion(world.VersionSpec{Template: template.ID, Name: "v1", Tags: map[string]string{"pool": "gpu"}})
	virtual.Advance(time.Hour)
	found, err := w.TemplateVersion(admin.ID, version.ID)
	if err != nil || found.Import.Status != core.JobPending || found.Import.Provisioners != 0 {
		t.Errorf("the import is %+v, error %v; want it pending without provisioners", found.Import, err)
	}
}

func TestTokenThatWasMadeToLastEnds(t *testing.T) {
	virtual := clock.New(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	w := world.New(virtual)
	user := w.AddUser(world.UserSpec{Username: "tester"})
	session, token := w.MintToken(user.ID), w.MintTokenFor(user.ID, 48*time.Hour)
	virtual.Advance(48*time.Hour - time.Second)
	if _, err := w.Authenticate(token); err != nil {
		t.Errorf("before its end the token is refused: %v", err)
	}
	virtual.Advance(time.Second)
	if _, err := w.Authenticate(token); err == nil {
		t.Error("at its end the token is still good")
	}
	if _, err := w.Authenticate(session); err != nil {
		t.Errorf("a session, whose end moves, is refused: %v", err)
	}
}
