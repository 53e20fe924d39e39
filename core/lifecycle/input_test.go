package lifecycle

import (
	"reflect"
	"testing"
	"time"

	"github.com/assay-dev/assay/core"
)

// TestARequestMakesWhatWasReadOld: after a request everything that speaks about workspaces
// is read again, and nothing else.
func TestARequestMakesWhatWasReadOld(t *testing.T) {
	in := resolved()
	seeName(ours())(&in)
	seeOwned(renamed())(&in)
	seen := &in.Seen
	seen.DeploymentAfter, seen.MayReadAfter = done(core.Deployment{ID: deploymentID}), done(true)
	seen.MayRead, seen.Organization, seen.DialFailure, seen.DeploymentAge = done(true), done(core.Organization{}), "none", time.Second
	seen.OwnMarker, seen.Answer = &OwnMarker{}, &Answer{}
	seen.forgetWorkspaces()

	forgotten := map[string]bool{
		"Name": true, "Workspaces": true, "Builds": true, "Claimed": true, "Owned": true, "DeploymentAfter": true, "MayReadAfter": true,
	}
	value := reflect.ValueOf(*seen)
	for i := range value.NumField() {
		if name := value.Type().Field(i).Name; value.Field(i).IsZero() != forgotten[name] {
			t.Errorf("%s: forgotten: %t", name, value.Field(i).IsZero())
		}
	}
}
